"""A plant and a SceneGraph, wired to each other."""

from __future__ import annotations

from typing import NamedTuple

from merganser.framework import DiagramBuilder
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.templates import instantiate
from merganser.geometry import SceneGraph
from merganser.multibody.plant.multibody_plant import MultibodyPlant

__all__ = ["AddMultibodyPlantSceneGraph", "AddMultibodyPlantSceneGraphResult"]


class AddMultibodyPlantSceneGraphResult(NamedTuple):
    """The two systems that AddMultibodyPlantSceneGraph() added."""

    plant: MultibodyPlant
    scene_graph: SceneGraph


def AddMultibodyPlantSceneGraph(
    builder: DiagramBuilder,
    time_step: float | MultibodyPlant | None = None,
    scene_graph: SceneGraph | None = None,
    *,
    plant: MultibodyPlant | None = None,
) -> AddMultibodyPlantSceneGraphResult:
    """Adds a plant and a SceneGraph to a diagram, and connects poses one way and queries the other.

    Args:
        builder: of the diagram.
        time_step: of a new plant [s], 0 for a continuous one; or
        plant: a plant that is not finalized yet; new ones are of the scalar type of the builder.
        scene_graph: by default a new one.

    Returns:
        (plant, scene_graph), named "plant" and "scene_graph" in the diagram unless they have names.

    Raises:
        TypeError: neither a time step nor a plant is given, or both; or the scene graph is none.
        RuntimeError: the plant belongs to another SceneGraph, or is finalized without having one.
        ValueError: the time step is wrong; a system of the diagram has the name, or one of the two is in a
            diagram already.
    """
    if isinstance(time_step, MultibodyPlant):
        if plant is not None:
            raise TypeError("AddMultibodyPlantSceneGraph() was given two plants.")
        time_step, plant = None, time_step
    if (time_step is None) == (plant is None):
        raise TypeError("AddMultibodyPlantSceneGraph() takes either a time step or a plant.")
    if plant is None:
        assert time_step is not None
        plant = instantiate(MultibodyPlant, scalar_of(builder))(time_step)
    scene_graph = instantiate(SceneGraph, scalar_of(builder))() if scene_graph is None else scene_graph
    _check(plant, scene_graph)
    for system, name in ((plant, "plant"), (scene_graph, "scene_graph")):
        if system.get_name():
            builder.AddSystem(system)
        else:
            builder.AddNamedSystem(name, system)
    source_id = plant.get_source_id()
    if source_id is None:
        source_id = plant.RegisterAsSourceForSceneGraph(scene_graph)
    builder.Connect(plant.get_geometry_pose_output_port(), scene_graph.get_source_pose_port(source_id))
    builder.Connect(
        plant.get_deformable_body_configuration_output_port(), scene_graph.get_source_configuration_port(source_id)
    )
    builder.Connect(scene_graph.get_query_output_port(), plant.get_geometry_query_input_port())
    return AddMultibodyPlantSceneGraphResult(plant, scene_graph)


def _check(plant: MultibodyPlant, scene_graph: SceneGraph) -> None:
    """Refuses what cannot be wired, before anything is changed."""
    if not isinstance(plant, MultibodyPlant) or not isinstance(scene_graph, SceneGraph):
        raise TypeError(
            "AddMultibodyPlantSceneGraph() takes a MultibodyPlant and a SceneGraph, got "
            f"{type(plant).__name__} and {type(scene_graph).__name__}."
        )
    source_id = plant.get_source_id()
    if source_id is not None and not scene_graph.SourceIsRegistered(source_id):
        raise RuntimeError(
            f"AddMultibodyPlantSceneGraph(): plant '{plant.get_name()}' is registered with another "
            "SceneGraph; pass that one."
        )
    if source_id is None and plant.is_finalized():
        raise RuntimeError(
            f"AddMultibodyPlantSceneGraph(): plant '{plant.get_name()}' is finalized, so its bodies can no "
            "longer get frames in the SceneGraph. Call this function before Finalize()."
        )
