"""Sensors on the bodies of a plant, and cameras from records that YAML files can hold: see README.md."""

from merganser.framework.primitives import BeamModel, BeamModelParams, RotaryEncoders, RotaryEncoders_
from merganser.multibody.parsing.instrument_description import SensorSampling
from merganser.multibody.sensors.camera_config import ApplyCameraConfig, CameraConfig
from merganser.multibody.sensors.inertial import Accelerometer, Accelerometer_, Gyroscope, Gyroscope_
from merganser.multibody.sensors.mjcf_cameras import AddMjcfCameras, GetMjcfCameraConfigs
from merganser.multibody.sensors.mjcf_sensors import AddMjcfSensors, MjcfSensors
from merganser.multibody.sensors.plant_sensors import AddSensor, PlantSensors, SensorKind

__all__ = [
    "Accelerometer",
    "Accelerometer_",
    "AddMjcfCameras",
    "AddMjcfSensors",
    "AddSensor",
    "ApplyCameraConfig",
    "BeamModel",
    "BeamModelParams",
    "CameraConfig",
    "GetMjcfCameraConfigs",
    "Gyroscope",
    "Gyroscope_",
    "MjcfSensors",
    "PlantSensors",
    "RotaryEncoders",
    "RotaryEncoders_",
    "SensorKind",
    "SensorSampling",
]
