"""Messages to viewers: what ApplyVisualizationConfig adds to send them."""

from __future__ import annotations

from typing import Any

from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcmInterface, LcmBuses, LcmInterfaceSystem
from merganser.framework.lcm.lcm_buses import find_or_create_bus
from merganser.geometry import DrakeVisualizer, DrakeVisualizerParams, Role, SceneGraph
from merganser.multibody.plant import ConnectContactResultsToDrakeVisualizer, MultibodyPlant
from merganser.multibody.visualization.params import VisualizationConfig

__all__ = ["Bus", "bus_of", "send_to_viewers"]

Bus = DrakeLcmInterface | LcmInterfaceSystem


def bus_of(config: VisualizationConfig, builder: DiagramBuilder, lcm_buses: Any, lcm: Any) -> Any:
    """What sends the messages; None if its bus leads nowhere.

    Raises:
        TypeError: it is something else.
        RuntimeError: there is no such bus.
    """
    if lcm_buses is not None and not isinstance(lcm_buses, LcmBuses):
        raise TypeError(f"ApplyVisualizationConfig(): lcm_buses must be LcmBuses; given {lcm_buses!r}.")
    if lcm is not None and not isinstance(lcm, Bus):
        raise TypeError(f"ApplyVisualizationConfig(): lcm must be a DrakeLcm or an LcmInterfaceSystem; given {lcm!r}.")
    bus = find_or_create_bus(lcm, lcm_buses, builder, "ApplyVisualizationConfig", config.lcm_bus)
    return None if bus.get_lcm_url() == LcmBuses.kLcmUrlMemqNull else bus


def send_to_viewers(
    config: VisualizationConfig, builder: DiagramBuilder, bus: Any, plant: MultibodyPlant, scene_graph: SceneGraph
) -> None:
    """Adds to a diagram what sends messages about illustrations, proximity geometries and contacts.

    Args:
        config: what is sent, and how often.
        builder: of the diagram.
        bus: sends them; None for none.
        plant: whose contacts they are.
        scene_graph: has the geometries.
    """
    if bus is None:
        return
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
