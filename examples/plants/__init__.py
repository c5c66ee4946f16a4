"""Plants of textbooks, as blocks: see README.md."""

from merganser.examples.geometry import (
    AcrobotGeometry,
    CompassGaitGeometry,
    PendulumGeometry,
    QuadrotorGeometry,
    RimlessWheelGeometry,
)
from merganser.examples.pendulums import (
    AcrobotInput,
    AcrobotParams,
    AcrobotPlant,
    AcrobotSpongController,
    AcrobotState,
    AcrobotWEncoder,
    PendulumInput,
    PendulumParams,
    PendulumPlant,
    PendulumState,
    SpongControllerParams,
)
from merganser.examples.quadrotor import QuadrotorPlant, StabilizingLQRController
from merganser.examples.van_der_pol import VanDerPolOscillator
from merganser.examples.walkers import (
    CompassGait,
    CompassGaitContinuousState,
    CompassGaitParams,
    RimlessWheel,
    RimlessWheelContinuousState,
    RimlessWheelParams,
)

__all__ = [
    "AcrobotGeometry",
    "AcrobotInput",
    "AcrobotParams",
    "AcrobotPlant",
    "AcrobotSpongController",
    "AcrobotState",
    "AcrobotWEncoder",
    "CompassGait",
    "CompassGaitContinuousState",
    "CompassGaitGeometry",
    "CompassGaitParams",
    "PendulumGeometry",
    "PendulumInput",
    "PendulumParams",
    "PendulumPlant",
    "PendulumState",
    "QuadrotorGeometry",
    "QuadrotorPlant",
    "RimlessWheel",
    "RimlessWheelContinuousState",
    "RimlessWheelGeometry",
    "RimlessWheelParams",
    "SpongControllerParams",
    "StabilizingLQRController",
    "VanDerPolOscillator",
]
