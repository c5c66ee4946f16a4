"""Poses for a SceneGraph of positions that come from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource
from merganser.geometry import Rgba, SceneGraph, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant, MultibodyPositionToGeometryPose
from merganser.multibody.tree import RevoluteJoint, SpatialInertia


def pendulum(plant: MultibodyPlant) -> None:
    arm = plant.AddRigidBody("arm", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), arm.body_frame(), [0.0, 1.0, 0.0]))
    if plant.geometry_source_is_registered():
        plant.RegisterVisualGeometry(arm, RigidTransform([0.0, 0.0, -1.0]), Sphere(0.1), "tip", Rgba(1, 0, 0).rgba)


def test_a_scene_follows_positions_without_a_plant_in_the_diagram() -> None:
    plant, builder = MultibodyPlant(0.0), DiagramBuilder()
    scene_graph = builder.AddSystem(SceneGraph())
    plant.RegisterAsSourceForSceneGraph(scene_graph)
    pendulum(plant)
    plant.Finalize()
    source = builder.AddSystem(ConstantVectorSource([0.5 * np.pi, 7.0]))
    block = builder.AddSystem(MultibodyPositionToGeometryPose(plant, input_multibody_state=True))
    builder.Connect(source.get_output_port(), block.get_input_port())
    builder.Connect(block.get_output_port(), scene_graph.get_source_pose_port(plant.get_source_id()))
    context = builder.Build().CreateDefaultContext()
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    (tip,) = query.inspector().GetAllGeometryIds()
    assert query.GetPoseInWorld(tip).translation() == pytest.approx([-1.0, 0.0, 0.0], abs=1e-12)
    numbers = source.get_mutable_source_value(source.GetMyMutableContextFromRoot(context))
    numbers.SetFromVector([0.0, 7.0])
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    assert query.GetPoseInWorld(tip).translation() == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)


def test_contexts_do_not_share_what_they_compute_in() -> None:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    pendulum(plant)
    plant.Finalize()
    block = MultibodyPositionToGeometryPose(plant)
    arm = plant.GetBodyFrameIdOrThrow(plant.GetBodyByName("arm").index())
    contexts = [block.CreateDefaultContext() for _ in range(2)]
    values = []
    for context, q in zip(contexts, (0.3, 0.8)):
        block.get_input_port().FixValue(context, [q])
        values.append(block.get_output_port().Eval(context))
    for value, q in zip(values, (0.3, 0.8)):
        assert value.value(arm).rotation().matrix()[0, 0] == pytest.approx(np.cos(q))


def test_plants_without_geometry_are_refused() -> None:
    plant = MultibodyPlant(0.0)
    pendulum(plant)
    with pytest.raises(RuntimeError, match="not finalized"):
        MultibodyPositionToGeometryPose(plant)
    plant.Finalize()
    with pytest.raises(RuntimeError, match="not registered with a SceneGraph"):
        MultibodyPositionToGeometryPose(plant)
