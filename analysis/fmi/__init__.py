"""FMI, the Functional Mock-up Interface of the Modelica Association: diagrams out, units of other tools in."""

from merganser.analysis.fmi.export import ExportFmu as ExportFmu
from merganser.analysis.fmi.fmu_system import FmuSystem as FmuSystem
