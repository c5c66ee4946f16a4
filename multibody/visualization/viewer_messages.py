"""Messages to viewers: what ApplyVisualizationConfig adds to send them."""

from __future__ import annotations

from typing import Any

from merganser.framework import DiagramBuilder
from merganser.geometry import DrakeVisualizer, DrakeVisualizerParams, Role, SceneGraph
from merganser.multibody.plant import ConnectContactResultsToDrakeVisualizer, MultibodyPlant
from merganser.multibody.visualization.params import VisualizationConfig


def send_to_viewers(
    config: VisualizationConfig, builder: DiagramBuilder, bus: Any, plant: MultibodyPlant, scene_graph: SceneGraph
) -> None:
    """Adds to a diagram what sends messages about illustrations, proximity geometries and contacts.

    Args:
        config: what is sent, and how often.
        builder: of the diagram.
        bus: sends them.
        plant: whose contacts they are.
        scene_graph: has the geometries.
    """
    if config.publish_illustration:
        illustration = DrakeVisualizerParams(
            publish_period=config.publish_period,
            role=Role.kIllustration,
            default_color=config.default_illustration_color,
        )
        DrakeVisualizer.AddToBuilder(builder, scene_graph, bus, illustration)
    if config.publish_proximity:
        proximity = DrakeVisualizerParams(
            publish_period=config.publish_period,
            role=Role.kProximity,
            default_color=config.default_proximity_color,
            show_hydroelastic=True,
            use_role_channel_suffix=True,
        )
        DrakeVisualizer.AddToBuilder(builder, scene_graph, bus, proximity)
    if config.publish_contacts:
        ConnectContactResultsToDrakeVisualizer(builder, plant, scene_graph, bus, config.publish_period)
