"""Models with known numbers and known motions: see README.md."""

from merganser.multibody.benchmarks.acrobot import AcrobotParameters, MakeAcrobotPlant
from merganser.multibody.benchmarks.mass_damper_spring import MassDamperSpringAnalyticalSolution

__all__ = ["AcrobotParameters", "MakeAcrobotPlant", "MassDamperSpringAnalyticalSolution"]
