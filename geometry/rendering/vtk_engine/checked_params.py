"""Checks parameters of RenderEngineVtk."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from merganser.geometry.rendering.parameters import (
    EnvironmentMap,
    EquirectangularMap,
    RenderEngineVtkParams,
    SsaoParameter,
)
from merganser.geometry.rendering.vtk_engine.lights import require_lights

__all__ = ["require_params"]

_PICTURES = (".hdr", ".png", ".jpg", ".jpeg")


def require_params(params: RenderEngineVtkParams) -> None:
    """Does nothing if all parameters are in their ranges.

    Raises:
        TypeError, ValueError: one has the wrong type or size.
        RuntimeError: one is out of its range; the picture of an environment map does not exist.
    """
    _require_color("default_clear_color", params.default_clear_color, 3)
    if params.default_diffuse is not None:
        _require_color("default_diffuse", params.default_diffuse, 4)
    require_lights(params.lights)
    if params.exposure is not None and not 0.0 < params.exposure < math.inf:
        raise RuntimeError(f"RenderEngineVtkParams.exposure must be positive and finite; given {params.exposure}.")
    if params.cast_shadows and not params.shadow_map_size > 0:
        raise RuntimeError(f"RenderEngineVtkParams.shadow_map_size must be positive; given {params.shadow_map_size}.")
    if params.environment_map is not None:
        _require_environment(params.environment_map)
    if params.ssao is not None:
        _require_ssao(params.ssao)


def _require_color(name: str, value: Any, size: int) -> None:
    color = np.asarray(value, dtype=np.float64)
    if color.shape != (size,):
        raise ValueError(f"RenderEngineVtkParams.{name} must be {size} numbers; given {value!r}.")
    if not ((color >= 0.0) & (color <= 1.0)).all():
        raise RuntimeError(f"RenderEngineVtkParams.{name} must be numbers from 0 to 1; given {color.tolist()}.")


def _require_environment(environment: EnvironmentMap) -> None:
    if not isinstance(environment, EnvironmentMap):
        raise TypeError(f"RenderEngineVtkParams.environment_map must be an EnvironmentMap; given {environment!r}.")
    texture = environment.texture
    if not isinstance(texture, EquirectangularMap):
        raise RuntimeError("RenderEngineVtkParams.environment_map.texture must be an EquirectangularMap; it is none.")
    path = Path(texture.path)
    if path.suffix.lower() not in _PICTURES or not path.is_file():
        problem = "does not exist" if path.suffix.lower() in _PICTURES else f"must be one of {', '.join(_PICTURES)}"
        raise RuntimeError(f"RenderEngineVtkParams.environment_map: the picture '{texture.path}' {problem}.")


def _require_ssao(ssao: SsaoParameter) -> None:
    if not isinstance(ssao, SsaoParameter):
        raise TypeError(f"RenderEngineVtkParams.ssao must be SsaoParameter; given {ssao!r}.")
    if not (ssao.radius > 0.0 and ssao.sample_count > 0 and ssao.bias >= 0.0):
        raise RuntimeError(
            "RenderEngineVtkParams.ssao needs a positive radius and sample_count, and a bias that is not negative; "
            f"given {ssao!r}."
        )
