"""Deformable geometries in images: where their vertices are, in their label and color."""

from __future__ import annotations

import numpy as np
import pytest
from rendered_scenes import need_renderer
from soft_bodies import config

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    GeometryInstance,
    MakeRenderEngineVtk,
    PerceptionProperties,
    RenderCameraCore,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
)
from merganser.geometry.sensors import CameraInfo
from merganser.multibody.plant import AddMultibodyPlantSceneGraph


def test_cameras_see_a_block_where_its_vertices_are() -> None:
    need_renderer()
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    scene_graph.AddRenderer("vtk", MakeRenderEngineVtk(RenderEngineVtkParams()))
    geometry, looks = (
        GeometryInstance(RigidTransform([0.0, 0.0, 0.5]), Box(0.4, 0.4, 0.2), "block"),
        PerceptionProperties(),
    )
    looks.AddProperty("label", "id", RenderLabel(7))
    looks.AddProperty("phong", "diffuse", Rgba(1.0, 0.0, 0.0, 1.0))
    geometry.set_perception_properties(looks)
    model = plant.mutable_deformable_model()
    id = model.RegisterDeformableBody(geometry, config(), 0.1)
    plant.Finalize()
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    context = plant.GetMyMutableContextFromRoot(root)
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(root))
    core = RenderCameraCore(
        "vtk", CameraInfo(width=60, height=60, fov_y=0.8), ClippingRange(0.1, 10.0), RigidTransform()
    )
    X_WC = RigidTransform(RollPitchYaw(np.pi, 0.0, 0.0), [0.0, 0.0, 2.0])  # from above
    world = scene_graph.world_frame_id()

    def images() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        depth = query.RenderDepthImage(DepthRenderCamera(core, DepthRange(0.1, 10.0)), world, X_WC).data[:, :, 0]
        color = ColorRenderCamera(core)
        labels = query.RenderLabelImage(color, world, X_WC).data[:, :, 0]
        return depth, labels, query.RenderColorImage(color, world, X_WC).data

    depth, labels, color = images()
    assert depth[30, 30] == pytest.approx(1.4, abs=1e-3) and labels[30, 30] == 7
    assert color[30, 30, 0] > 100 > color[30, 30, 1]
    count = (labels == 7).sum()
    q = model.GetPositions(context, id)
    model.SetPositions(context, id, [[0.5], [1.0], [1.0]] * q + [[0.0], [0.0], [0.3]])
    depth, labels, _ = images()
    assert depth[30, 30] == pytest.approx(1.1, abs=1e-3)
    assert 0.4 < (labels == 7).sum() / count < 1.1  # half as wide, and nearer
    assert np.ptp(np.flatnonzero((labels == 7).any(axis=0))) < 0.6 * np.ptp(np.flatnonzero((labels == 7).any(axis=1)))
