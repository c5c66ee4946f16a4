"""Parameters of render engines, and an engine without a SceneGraph."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from rendered_scenes import (
    AHEAD,
    INFO,
    WORLD,
    RenderedScene,
    color_camera,
    middle,
    moving_scene,
    need_renderer,
    properties,
)

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    EnvironmentMap,
    EquirectangularMap,
    GeometryId,
    LightParameter,
    MakeRenderEngineGl,
    MakeRenderEngineVtk,
    RenderEngineGlParams,
    RenderEngineVtkParams,
    Rgba,
    Sphere,
    SsaoParameter,
)

need_renderer()

Array = np.ndarray[Any, Any]


def test_parameters_are_printed_as_by_pydrake() -> None:
    scene = RenderedScene(RenderEngineVtkParams(lights=[LightParameter(color=Rgba(1.0, 0.5, 0.0, 1.0))], exposure=0.5))
    scene.graph.AddRenderer("gl", MakeRenderEngineGl())
    assert scene.graph.GetRendererTypeName("r") == "drake::geometry::render_vtk::internal::RenderEngineVtk"
    assert scene.graph.GetRendererTypeName("gl") == "drake::geometry::render_gl::internal::RenderEngineGl"
    assert scene.graph.GetRendererTypeName("x") == scene.graph.GetRendererParameterYaml("x") == ""
    yaml = scene.graph.GetRendererParameterYaml("r")
    assert yaml.startswith("RenderEngineVtkParams:\n  default_clear_color: [0.8, 0.8980392156862745, 1.0]\n  lights:\n")
    assert "      rgba: [1.0, 0.5, 0.0, 1.0]\n" in yaml and "  exposure: 0.5\n" in yaml and "ssao" not in yaml
    assert scene.graph.GetRendererParameterYaml(scene.context, "gl").startswith("RenderEngineGlParams:\n")


BAD_PARAMS: dict[str, tuple[dict[str, Any], str]] = {
    "backend": ({"backend": "X11"}, "backend must be one of '', 'EGL', 'GLX', 'Cocoa'; given 'X11'"),
    "color": ({"default_clear_color": [0.0, 2.0, 0.0]}, "default_clear_color must be numbers from 0 to 1"),
    "size of color": ({"default_diffuse": [0.0, 1.0, 0.0]}, "default_diffuse must be 4 numbers"),
    "exposure": ({"exposure": 0.0}, "exposure must be positive and finite; given 0.0"),
    "light": ({"lights": [LightParameter(type="sun")]}, r"lights\[0\]\.type must be one of point, spot, directional"),
    "direction": ({"lights": [LightParameter(direction=[0, 0, 0])]}, r"lights\[0\]\.direction is zero"),
    "surroundings": (
        {"environment_map": EnvironmentMap(texture=EquirectangularMap(path="none.hdr"))},
        "the picture 'none.hdr' does not exist",
    ),
    "no surroundings": ({"environment_map": EnvironmentMap()}, "must be an EquirectangularMap, got"),
    "ssao": ({"ssao": SsaoParameter(radius=0.0)}, "ssao needs a positive radius"),
}


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_bad_parameters_are_refused_by_name(name: str) -> None:
    values, message = BAD_PARAMS[name]
    with pytest.raises((RuntimeError, ValueError), match=message):
        MakeRenderEngineVtk(RenderEngineVtkParams(**values))


def test_gl_engine_takes_five_lights_and_has_its_own_defaults() -> None:
    with pytest.raises(RuntimeError, match="5 at most; given 6"):
        MakeRenderEngineGl(RenderEngineGlParams(lights=[LightParameter()] * 6))
    scene = RenderedScene()
    scene.add(Box(1.0, 1.0, 1.0), AHEAD)
    scene.graph.AddRenderer("gl", MakeRenderEngineGl())
    scene._context = None
    assert middle(scene.colors(INFO, renderer="gl")) == [230, 178, 51, 255]


def test_window_without_a_display_is_refused_with_a_word(caplog: pytest.LogCaptureFixture) -> None:
    from merganser.geometry import ColorRenderCamera
    from merganser.geometry.rendering.vtk_engine import window as preview

    preview._warned.clear()
    camera = ColorRenderCamera(color_camera(INFO).core(), show_window=True)
    scene = moving_scene()
    with caplog.at_level(logging.WARNING):
        shown = [scene.query().RenderColorImage(camera, WORLD, RigidTransform()).data for _ in range(2)]
    assert len(caplog.records) == 1 and "backend 'EGL' does not do" in caplog.text
    np.testing.assert_array_equal(shown[0], scene.colors(INFO))


def test_an_engine_can_be_used_without_a_scene_graph() -> None:
    engine = MakeRenderEngineVtk(RenderEngineVtkParams())
    id = GeometryId.get_new_id()
    assert engine.RegisterVisual(id, Sphere(0.5), properties(6), AHEAD) and engine.has_geometry(id)
    with pytest.raises(RuntimeError, match=r"has geometry .* already"):
        engine.RegisterVisual(id, Sphere(0.5), properties(6), AHEAD)
    from merganser.geometry.sensors import ImageLabel16I

    image, clone = ImageLabel16I(65, 49), engine.Clone()
    assert engine.RemoveGeometry(id) and not engine.RemoveGeometry(id)
    clone.UpdateViewpoint(RigidTransform([0.0, 0.0, 1.0]))
    clone.RenderLabelImage(color_camera(INFO), image)
    assert middle(image.data) == [6]
    with pytest.raises(RuntimeError, match="label image has 3 x 3 pixels; its camera makes 65 x 49"):
        clone.RenderLabelImage(color_camera(INFO), ImageLabel16I(3, 3))
