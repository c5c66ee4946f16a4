"""The geometries of a plant, where its Context is."""

from __future__ import annotations

from merganser.framework import Context
from merganser.geometry import QueryObject
from merganser.multibody.plant import MultibodyPlant


def query_of(plant: MultibodyPlant, plant_context: Context, where: str) -> QueryObject:
    """Queries on the geometries of a plant.

    Args:
        plant: the plant.
        plant_context: of the plant, in that of the diagram with the SceneGraph.
        where: what asks, for messages.

    Raises:
        RuntimeError: the plant is not registered with a SceneGraph, or plant_context is not in that of a diagram.
    """
    if not plant.geometry_source_is_registered():
        raise RuntimeError(
            f"{where}: plant '{plant.GetSystemPathname()}' is not registered with a SceneGraph. Build it with "
            "AddMultibodyPlantSceneGraph()."
        )
    port = plant.get_geometry_query_input_port()
    if not port.HasValue(plant_context):
        raise RuntimeError(
            f"{where}: input port '{port.get_name()}' of plant '{plant.GetSystemPathname()}' has no value in "
            "plant_context. Take the Context of the plant from that of the diagram with the SceneGraph."
        )
    query: QueryObject = port.Eval(plant_context)
    return query
