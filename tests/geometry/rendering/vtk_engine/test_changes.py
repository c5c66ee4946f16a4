"""Changes of geometries and renderers, in the model and in Contexts."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from rendered_scenes import (
    AHEAD,
    EMPTY,
    INFO,
    SKY,
    WORLD,
    RenderedScene,
    middle,
    need_renderer,
    properties,
)

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    GeometryInstance,
    MakeRenderEngineGl,
    MakeRenderEngineVtk,
    Mesh,
    PerceptionProperties,
    RenderEngineVtkParams,
    RenderLabel,
    Role,
    RoleAssign,
    Sphere,
)

need_renderer()

Array = np.ndarray[Any, Any]


def test_changes_in_a_context_are_seen_there_alone() -> None:
    scene = RenderedScene()
    ball = scene.add(Sphere(0.5), AHEAD, properties(1, (1.0, 0.0, 0.0)))
    graph, contexts = scene.graph, [scene.new_context() for _ in range(6)]

    def seen(context: Any) -> tuple[Any, ...]:
        return tuple(middle(f(INFO, context=context)) for f in (scene.labels, scene.depths, scene.colors))

    usual = seen(contexts[0])
    graph.ChangeShape(contexts[1], scene.source, ball, Box(1.0, 1.0, 1.0), RigidTransform([0.0, 0.0, 3.0]))
    graph.RemoveGeometry(contexts[2], scene.source, ball)
    instance = GeometryInstance(RigidTransform([0.0, 0.0, 1.0]), Sphere(0.1), "new")
    instance.set_perception_properties(properties(5))
    graph.RegisterGeometry(contexts[3], scene.source, WORLD, instance)
    graph.AssignRole(contexts[4], scene.source, ball, properties(8, (0.0, 0.0, 1.0)), RoleAssign.kReplace)
    assert graph.RemoveRole(contexts[5], scene.source, ball, Role.kPerception) == 1
    for _ in range(2):  # in turn, as the contexts share what VTK has
        assert seen(contexts[0]) == usual
        assert seen(contexts[1])[:2] == (1, pytest.approx(2.5))
        assert seen(contexts[2]) == seen(contexts[5]) == (EMPTY, np.inf, SKY)
        assert seen(contexts[3])[:2] == (5, pytest.approx(0.9, rel=1e-4))
        assert seen(contexts[4])[0] == 8 and seen(contexts[4])[2] == [0, 0, 255, 255]
    assert seen(scene.new_context()) == usual


def test_shape_that_a_renderer_refuses_leaves_the_old_one(tmp_path: Any) -> None:
    scene = RenderedScene()
    ball = scene.add(Sphere(0.5), AHEAD, properties(1))
    (tmp_path / "bad.obj").write_text("v 0 0 0\n")
    with pytest.raises(RuntimeError, match=r"Renderer 'r' cannot take geometry 'g.*bad\.obj' has no faces"):
        scene.graph.ChangeShape(scene.source, ball, Mesh(str(tmp_path / "bad.obj")))
    with pytest.raises(RuntimeError, match=r"none\.obj' does not exist"):
        scene.add(Mesh(str(tmp_path / "none.obj")))
    with pytest.raises(TypeError, match=r"Renderer 'r' cannot take.*must be a RenderLabel; given 3"):
        wrong = PerceptionProperties()
        wrong.AddProperty("label", "id", 3)
        scene.add(Sphere(0.1), AHEAD, wrong)
    assert middle(scene.labels(INFO)) == 1
    assert isinstance(scene.graph.model_inspector().GetShape(ball), Sphere)


def test_renderers_show_the_geometries_that_accept_them_whichever_came_first() -> None:
    scene = RenderedScene()
    for label, names in ((1, ()), (2, "s"), (3, {"r"}), (4, ["r", "s"])):
        look = properties(label)
        if names:
            look.AddProperty("renderer", "accepting", names)
        scene.add(Sphere(0.1), RigidTransform([0.25 * label - 0.6, 0.0, 2.0]), look)
    before = copy.copy(scene.graph.model_inspector().geometry_version())
    scene.graph.AddRenderer("s", MakeRenderEngineGl())
    assert not before.IsSameAs(scene.graph.model_inspector().geometry_version(), Role.kPerception)
    assert set(np.unique(scene.labels(INFO))) == {1, 3, 4, EMPTY}
    scene._context = None
    assert set(np.unique(scene.labels(INFO, renderer="s"))) == {1, 2, 4, EMPTY}
    graph, context = scene.graph, scene.context
    assert graph.RendererCount() == graph.RendererCount(context) == 2
    graph.RemoveRenderer(context, "s")
    assert graph.RendererCount(context) == 1 and graph.HasRenderer("s") and not graph.HasRenderer(context, "s")
    with pytest.raises(RuntimeError, match=r"no renderer named 's' in this SceneGraph; its renderers: 'r'\. Add one"):
        scene.labels(INFO, renderer="s")
    graph.AddRenderer(context, "t", MakeRenderEngineVtk(RenderEngineVtkParams()))
    assert set(np.unique(scene.labels(INFO, renderer="t"))) == {1, EMPTY}
    assert not graph.HasRenderer("t")
    with pytest.raises(RuntimeError, match="a renderer named 'r' already"):
        graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    with pytest.raises(RuntimeError, match="no renderer named 'x'"):
        graph.RemoveRenderer("x")


def test_renderer_that_cannot_take_what_is_there_is_not_added() -> None:
    scene = RenderedScene()
    scene.graph.RemoveRenderer("r")
    scene.add(Sphere(0.1), AHEAD, properties(RenderLabel.kUnspecified))
    with pytest.raises(RuntimeError, match="Renderer 'r' cannot take"):
        scene.graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    assert scene.graph.RendererCount() == 0
