"""Deformable geometries in a Meshcat: drawn where their vertices are, in recordings too."""

from __future__ import annotations

import numpy as np
import pytest
from soft_bodies import config

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance, IllustrationProperties, Meshcat, MeshcatVisualizer, Rgba
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
