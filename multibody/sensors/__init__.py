"""Sensors on the bodies of a plant: see README.md."""

from merganser.framework.primitives import BeamModel, BeamModelParams, RotaryEncoders, RotaryEncoders_
from merganser.multibody.sensors.inertial import Accelerometer, Accelerometer_, Gyroscope, Gyroscope_

__all__ = [
    "Accelerometer",
    "Accelerometer_",
    "BeamModel",
    "BeamModelParams",
    "Gyroscope",
    "Gyroscope_",
    "RotaryEncoders",
    "RotaryEncoders_",
]
