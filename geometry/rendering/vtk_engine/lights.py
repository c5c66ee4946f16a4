"""The lights of a scene.

VTK places a light that belongs to the camera in a frame D with the camera at [0, 0, 1], looking at the origin with y
upwards. A point at [x, y, z] in the camera frame C, whose y axis points down, is at [x, -y, 1 - z] there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from vtkmodules.vtkRenderingCore import vtkLight

from merganser.geometry.rendering.parameters import LightParameter

__all__ = ["add_lights", "require_lights"]

_TYPES = ("point", "spot", "directional")
_FRAMES = ("camera", "world")


def require_lights(lights: Sequence[LightParameter]) -> None:
    """Does nothing if all lights are well described.

    Raises:
        TypeError, ValueError: a light is none, or has vectors of the wrong size.
        RuntimeError: a value is out of its range.
    """
    for i, light in enumerate(lights):
        if not isinstance(light, LightParameter):
            raise TypeError(f"lights[{i}] must be a LightParameter; given {light!r}.")
        vectors = {
            name: np.asarray(getattr(light, name), dtype=np.float64)
            for name in ("attenuation_values", "position", "direction")
        }
        for name, vector in vectors.items():
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ValueError(f"lights[{i}].{name} must be three finite numbers; given {getattr(light, name)!r}.")
        if light.type not in _TYPES:
            raise RuntimeError(f"lights[{i}].type must be one of {', '.join(_TYPES)}; given '{light.type}'.")
        if light.frame not in _FRAMES:
            raise RuntimeError(f"lights[{i}].frame must be one of {', '.join(_FRAMES)}; given '{light.frame}'.")
        if light.type != "point" and not vectors["direction"].any():
            raise RuntimeError(f"lights[{i}].direction is zero, and must point where the light shines.")
        if not 0.0 <= light.intensity < math.inf:
            raise RuntimeError(f"lights[{i}].intensity must be finite and not negative; given {light.intensity}.")
        if not (math.isfinite(light.cone_angle) and 0.0 <= light.cone_angle <= 90.0):
            raise RuntimeError(f"lights[{i}].cone_angle must be from 0 to 90 degrees; given {light.cone_angle}.")


def add_lights(renderer: Any, lights: Sequence[LightParameter]) -> list[Any]:
    """Adds lights to a renderer and returns them."""
    renderer.AutomaticLightCreationOff()
    made = []
    for parameter in lights:
        light = vtkLight()
        color = parameter.color
        light.SetColor(color.r(), color.g(), color.b())
        light.SetIntensity(parameter.intensity)
        position = np.asarray(parameter.position, np.float64)
        direction = np.asarray(parameter.direction, np.float64)
        length = float(np.linalg.norm(direction))
        direction = direction / length if length else np.array([0.0, 0.0, 1.0])
        focus = position + direction
        if parameter.frame == "camera":
            light.SetLightTypeToCameraLight()
            position, focus = _in_camera_light_frame(position), _in_camera_light_frame(focus)
        else:
            light.SetLightTypeToSceneLight()
        light.SetPosition(position)
        light.SetFocalPoint(focus)
        if parameter.type == "directional":
            light.PositionalOff()
        else:
            light.PositionalOn()
            light.SetAttenuationValues(np.asarray(parameter.attenuation_values, np.float64))
            light.SetConeAngle(parameter.cone_angle if parameter.type == "spot" else 90.0)
        renderer.AddLight(light)
        made.append(light)
    return made


def _in_camera_light_frame(p_C: np.ndarray) -> np.ndarray:
    return np.array([p_C[0], -p_C[1], 1.0 - p_C[2]])
