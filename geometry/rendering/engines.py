"""The engines that there are, and functions that make them."""

from __future__ import annotations

import importlib

from merganser.geometry.rendering.parameters import (
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
)
from merganser.geometry.rendering.render_engine import RenderEngine

kHasRenderEngineVtk = True
kHasRenderEngineGl = True
kHasRenderEngineGltfClient = False


def MakeRenderEngineVtk(params: RenderEngineVtkParams) -> RenderEngine:
    """Returns an engine that makes images with VTK, off the screen; a display or a graphics card is not needed.

    It takes all geometries, and reads these of their perception properties:

    | group | name | type | |
    |---|---|---|---|
    | `phong` | `diffuse` | Rgba | color; orange by default |
    | `phong` | `diffuse_map` | name of a file | texture |
    | `label` | `id` | RenderLabel | kDontCare by default |

    Meshes look as their own materials say, if they have some. Depths and labels of spheres, ellipsoids, cylinders,
    capsules and cones are exact.

    Args:
        params: copied.

    Raises:
        ImportError: VTK is missing.
        RuntimeError: a parameter is out of its range.
    """
    if not isinstance(params, RenderEngineVtkParams):
        raise TypeError(f"MakeRenderEngineVtk() takes RenderEngineVtkParams; given {params!r}.")
    _require_vtk()
    from merganser.geometry.rendering.vtk_engine.engine import RenderEngineVtk

    return RenderEngineVtk(params)


def MakeRenderEngineGl(params: RenderEngineGlParams | None = None) -> RenderEngine:
    """Returns an engine with the parameters of pydrake's OpenGL engine; it makes images as `MakeRenderEngineVtk` does.

    Args:
        params: copied; the defaults if None.

    Raises:
        ImportError: VTK is missing.
        RuntimeError: a parameter is out of its range; there are more than five lights.
    """
    params = RenderEngineGlParams() if params is None else params
    if not isinstance(params, RenderEngineGlParams):
        raise TypeError(f"MakeRenderEngineGl() takes RenderEngineGlParams; given {params!r}.")
    _require_vtk()
    from merganser.geometry.rendering.vtk_engine.engine import RenderEngineGl

    return RenderEngineGl(params)


def MakeRenderEngineGltfClient(params: RenderEngineGltfClientParams | None = None) -> RenderEngine:
    """Raises a RuntimeError: there is no engine that has its images made by a server."""
    raise RuntimeError(
        "MakeRenderEngineGltfClient(): merganser has no engine that sends its scene to a server "
        "(kHasRenderEngineGltfClient is False). Use MakeRenderEngineVtk()."
    )


def _require_vtk() -> None:
    try:
        importlib.import_module("vtkmodules")  # what is in it comes later
    except ModuleNotFoundError as error:
        raise ImportError(
            'Rendering needs VTK, which is not installed. Install the extra: pip install "merganser[render]".'
        ) from error
