"""Plants of textbooks, as blocks: see README.md."""

from merganser.examples.acrobot import (
    AcrobotInput,
    AcrobotParams,
    AcrobotPlant,
    AcrobotSpongController,
    AcrobotState,
    AcrobotWEncoder,
    SpongControllerParams,
)
from merganser.examples.geometry import AcrobotGeometry, PendulumGeometry, QuadrotorGeometry
from merganser.examples.pendulum import PendulumInput, PendulumParams, PendulumPlant, PendulumState
from merganser.examples.quadrotor import QuadrotorPlant
from merganser.examples.van_der_pol import VanDerPolOscillator

__all__ = [
    "AcrobotGeometry",
    "AcrobotInput",
    "AcrobotParams",
    "AcrobotPlant",
    "AcrobotSpongController",
    "AcrobotState",
    "AcrobotWEncoder",
    "PendulumGeometry",
    "PendulumInput",
    "PendulumParams",
    "PendulumPlant",
    "PendulumState",
    "QuadrotorGeometry",
    "QuadrotorPlant",
    "SpongControllerParams",
    "VanDerPolOscillator",
]
