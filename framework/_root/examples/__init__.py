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
from merganser.examples.compass_gait import CompassGait, CompassGaitContinuousState, CompassGaitParams
from merganser.examples.geometry import (
    AcrobotGeometry,
    CompassGaitGeometry,
    PendulumGeometry,
    QuadrotorGeometry,
    RimlessWheelGeometry,
)
from merganser.examples.pendulum import PendulumInput, PendulumParams, PendulumPlant, PendulumState
from merganser.examples.quadrotor import QuadrotorPlant, StabilizingLQRController
from merganser.examples.rimless_wheel import RimlessWheel, RimlessWheelContinuousState, RimlessWheelParams
from merganser.examples.van_der_pol import VanDerPolOscillator

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
