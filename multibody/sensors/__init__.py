"""Sensors on the bodies of a plant, and cameras from records that YAML files can hold: see README.md."""

from merganser.framework.primitives import BeamModel, BeamModelParams, RotaryEncoders, RotaryEncoders_
from merganser.multibody.sensors.apply_camera_config import ApplyCameraConfig
from merganser.multibody.sensors.camera_config import CameraConfig
from merganser.multibody.sensors.inertial import Accelerometer, Accelerometer_, Gyroscope, Gyroscope_

__all__ = [
    "Accelerometer",
    "Accelerometer_",
    "ApplyCameraConfig",
    "BeamModel",
    "BeamModelParams",
    "CameraConfig",
    "Gyroscope",
    "Gyroscope_",
    "RotaryEncoders",
    "RotaryEncoders_",
]
