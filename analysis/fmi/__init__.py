"""FMI, the Functional Mock-up Interface of the Modelica Association: units of other tools as blocks."""

from merganser.analysis.fmi.fmu_system import FmuSystem as FmuSystem
