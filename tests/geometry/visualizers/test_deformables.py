"""Deformable geometries in a Meshcat and in messages: where their vertices are, in recordings too."""

from __future__ import annotations

import numpy as np
import pytest
from soft_bodies import config

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm
from merganser.framework.lcm.messages.viewers import lcmt_viewer_geometry_data, lcmt_viewer_link_data
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    DrakeVisualizer,
    GeometryInstance,
    IllustrationProperties,
    Meshcat,
    MeshcatVisualizer,
    Rgba,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph


def test_a_surface_is_drawn_where_its_vertices_are_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    model, properties = plant.mutable_deformable_model(), IllustrationProperties()
    properties.AddProperty("phong", "diffuse", Rgba(1.0, 0.0, 0.0, 1.0))
    for name in ("seen", "unseen"):
        geometry = GeometryInstance(RigidTransform([0.0, 0.0, 1.0]), Box(0.1, 0.1, 0.1), name)
        if name == "seen":
            geometry.set_illustration_properties(properties)
        id = model.RegisterDeformableBody(geometry, config(), 0.05)
    plant.Finalize()
    meshcat, drawn = Meshcat(), []
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    draw = meshcat.SetTriangleMesh

    def watch(path: str, vertices: np.ndarray, triangles: np.ndarray, *args: object, **kwargs: object) -> None:
        drawn.append((path, vertices, triangles))
        draw(path, vertices, triangles, *args, **kwargs)

    monkeypatch.setattr(meshcat, "SetTriangleMesh", watch)
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    before = len(meshcat.StaticHtml())
    visualizer.StartRecording()
    simulator.AdvanceTo(0.2)
    visualizer.ForcedPublish(visualizer.GetMyContextFromRoot(simulator.get_context()))
    visualizer.PublishRecording()
    _, vertices, triangles = drawn[-1]
    assert {path for path, *_ in drawn} == {"visualizer/DefaultModelInstance/seen"}
    assert vertices.shape == (3, 26) and triangles.shape == (3, 48)
    q = model.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()), id)
    assert abs(vertices.min(axis=1) - q.min(axis=1)).max() < 1e-9
    assert meshcat.HasPath("/drake/visualizer/DefaultModelInstance/seen")
    assert len(meshcat.StaticHtml()) > before + 10 * vertices.size


def test_messages_to_viewers_have_the_surfaces_where_they_are() -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    model, red = plant.mutable_deformable_model(), IllustrationProperties()
    red.AddProperty("phong", "diffuse", Rgba(1.0, 0.0, 0.0, 0.5))
    for name in ("red", "plain"):
        geometry = GeometryInstance(RigidTransform([0.0, 0.0, 1.0]), Box(0.1, 0.1, 0.1), name)
        if name == "red":
            geometry.set_illustration_properties(red)
        id = model.RegisterDeformableBody(geometry, config(), 0.05)
    plant.Finalize()
    lcm, got = DrakeLcm("memq://"), []
    DrakeVisualizer.AddToBuilder(builder, scene_graph, lcm)
    lcm.Subscribe("DRAKE_VIEWER_DEFORMABLE", got.append)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.1)
    while lcm.HandleSubscriptions(0):
        pass
    message = lcmt_viewer_link_data.decode(got[-1])
    assert (message.name, message.num_geom) == ("deformable_geometries", 2)
    first, second = message.geom
    assert first.string_data.endswith("red") and tuple(first.color) == (1.0, 0.0, 0.0, 0.5) != tuple(second.color)
    assert second.type == lcmt_viewer_geometry_data.MESH and tuple(second.float_data[:2]) == (26.0, 48.0)
    q = model.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()), id)
    p_WV = np.reshape(second.float_data[2 : 2 + 78], (26, 3))
    assert p_WV == pytest.approx(np.delete(q.T, 13, axis=0), abs=1e-6)  # without the one in the middle
    triangles = np.reshape(second.float_data[80:], (-1, 3)).astype(int)
    corners = p_WV[triangles] - [0.0, 0.0, q[2].mean()]
    volume = np.linalg.det(corners).sum() / 6.0
    assert volume == pytest.approx(1e-3, rel=1e-3)  # seen from outside, corners are counterclockwise
