"""Cameras of a plant, from records that YAML files can hold."""

from merganser.multibody.sensors.apply_camera_config import ApplyCameraConfig
from merganser.multibody.sensors.camera_config import CameraConfig

__all__ = ["ApplyCameraConfig", "CameraConfig"]
