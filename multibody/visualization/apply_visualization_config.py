"""AddDefaultVisualization and ApplyVisualizationConfig: all viewers that a plant and its SceneGraph may have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from merganser.framework import DiagramBuilder
from merganser.geometry import (
    FrameId,
    MeshcatVisualizer,
    MeshcatVisualizerParams,
    MeshcatVisualizerSurfaceVelocityData,
    Role,
    SceneGraph,
)
from merganser.geometry.visualizers import Meshcat, StartMeshcat
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex
from merganser.multibody.visualization.contact_visualizer import ContactVisualizer
from merganser.multibody.visualization.page_controls import DragSpring, describe_bodies
from merganser.multibody.visualization.params import ContactVisualizerParams, VisualizationConfig
from merganser.multibody.visualization.plant_visualizers import InertiaVisualizer, TendonVisualizer, spatial_tendons

if TYPE_CHECKING:
    from merganser.framework.lcm import DrakeLcmInterface, LcmBuses, LcmInterfaceSystem

_INERTIA_ALPHA = 0.5
_LONGEST_ARROW = 0.25  # of a contact force, in sizes of the model: where bodies overlap, forces may be of any size


def AddDefaultVisualization(builder: DiagramBuilder, meshcat: Meshcat | None = None) -> None:
    """Adds viewers to a diagram: `ApplyVisualizationConfig` with default settings. No messages are sent.

    Args:
        builder: with a finalized plant named 'plant' and its 'scene_graph', as AddMultibodyPlantSceneGraph() adds them.
        meshcat: where they draw; a new one, which says where its page is, if none is given.

    Raises:
        RuntimeError: as of ApplyVisualizationConfig.
    """
    ApplyVisualizationConfig(VisualizationConfig(), builder, meshcat=meshcat)


def ApplyVisualizationConfig(
    config: VisualizationConfig,
    builder: DiagramBuilder,
    lcm_buses: LcmBuses | None = None,
    plant: MultibodyPlant | None = None,
    scene_graph: SceneGraph | None = None,
    meshcat: Meshcat | None = None,
    lcm: DrakeLcmInterface | LcmInterfaceSystem | None = None,
) -> None:
    """Adds viewers of illustrations, inertias, proximity geometries and contacts to a diagram.

    Below '/drake' the paths are illustration, inertia, proximity and contact_forces; inertia and proximity are hidden
    until they are switched on in the page.

    With `lcm` or `lcm_buses`, messages are sent, too, to viewers that listen to them: illustrations, proximity
    geometries (on channels that end in _PROXIMITY) and contacts, see `DrakeVisualizer` and
    `ConnectContactResultsToDrakeVisualizer`.

    Args:
        config: what is shown, and how.
        builder: of the diagram.
        lcm_buses: has the bus of messages, `config.lcm_bus`; nothing is sent to one that leads nowhere.
        plant: finalized; by default the system 'plant'. One that is not in the diagram takes a `config` without
            inertia and contacts.
        scene_graph: by default the system 'scene_graph'.
        meshcat: where viewers draw; by default a new one, unless `config` has none.
        lcm: sends messages; instead of `lcm_buses`.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: there is no such system or bus; the plant is not finalized; a setting is out of its range; the
            SceneGraph has an inertia visualizer already.
    """
    if not isinstance(config, VisualizationConfig) or not isinstance(builder, DiagramBuilder):
        raise TypeError(
            f"ApplyVisualizationConfig() takes a VisualizationConfig and a DiagramBuilder; given {config!r} and "
            f"{builder!r}."
        )
    _check_settings(config)
    drags = config.mouse_interaction_stiffness is not None
    shows_plant = config.publish_inertia or config.publish_contacts or drags
    plant = _system(builder, "plant", plant, MultibodyPlant, is_connected=shows_plant)
    scene_graph = _system(builder, "scene_graph", scene_graph, SceneGraph, is_connected=True)
    if not plant.is_finalized():
        raise RuntimeError(f"ApplyVisualizationConfig(): call Finalize() of plant '{plant.get_name()}' first.")
    bus = _bus(config, lcm_buses, lcm)
    if meshcat is None and config.enable_meshcat_creation:
        meshcat = StartMeshcat()
    if config.publish_inertia:
        InertiaVisualizer.AddToBuilder(builder, plant, scene_graph)
    if bus is not None:
        _send_to_viewers(config, builder, bus, plant, scene_graph)
    if meshcat is None:
        return
    describe_bodies(plant, meshcat)
    surfaces = _surfaces(plant) if plant in builder.GetSystems() else {}
    for params in _visualizer_params(config):
        visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat, params, surfaces)
        if surfaces:
            port = visualizer.surface_displacements_input_port()
            builder.Connect(plant.get_surface_displacements_output_port(), port)
    if config.publish_contacts:
        contact_params = ContactVisualizerParams(
            publish_period=config.publish_period,
            delete_on_initialization_event=config.delete_on_initialization_event,
            longest=_LONGEST_ARROW,
        )
        ContactVisualizer.AddToBuilder(builder, plant, meshcat, contact_params)
    if config.publish_illustration and spatial_tendons(plant) and plant in builder.GetSystems():
        TendonVisualizer.AddToBuilder(builder, plant, meshcat, config.publish_period)
    stiffness = config.mouse_interaction_stiffness
    if stiffness is not None and not builder.IsConnectedOrExported(plant.get_applied_spatial_force_input_port()):
        DragSpring.AddToBuilder(builder, plant, meshcat, math.sqrt(stiffness))


def _surfaces(plant: MultibodyPlant) -> dict[FrameId, MeshcatVisualizerSurfaceVelocityData]:
    """The belts of a plant that has registered geometry."""
    found = {}
    for body in (plant.get_body(BodyIndex(i)) for i in range(plant.num_bodies())):
        axis = plant.GetSurfaceVelocityAxis(body)
        frame_id = None if axis is None else plant.GetBodyFrameIdIfExists(body.index())
        if axis is not None and frame_id is not None:
            name = body.scoped_name().get_full()
            found[frame_id] = MeshcatVisualizerSurfaceVelocityData(displacement_signal_name=name, axis_B=axis)
    return found


def _visualizer_params(config: VisualizationConfig) -> list[MeshcatVisualizerParams]:
    """The settings of all viewers of a SceneGraph."""
    common: dict[str, Any] = {
        "publish_period": config.publish_period,
        "delete_on_initialization_event": config.delete_on_initialization_event,
        "enable_alpha_slider": config.enable_alpha_sliders,
    }
    params = []
    if config.publish_illustration:
        params.append(
            MeshcatVisualizerParams(
                role=Role.kIllustration, prefix="illustration", default_color=config.default_illustration_color,
                **common,
            )
        )  # fmt: skip
    if config.publish_inertia:
        params.append(
            MeshcatVisualizerParams(
                role=Role.kIllustration, prefix="inertia", visible_by_default=False,
                include_unspecified_accepting=False, initial_alpha_slider_value=_INERTIA_ALPHA, **common,
            )
        )  # fmt: skip
    if config.publish_proximity:
        params.append(
            MeshcatVisualizerParams(
                role=Role.kProximity, prefix="proximity", default_color=config.default_proximity_color,
                visible_by_default=False, show_hydroelastic=True,
                initial_alpha_slider_value=config.initial_proximity_alpha, **common,
            )
        )  # fmt: skip
    return params


def _bus(config: VisualizationConfig, lcm_buses: Any, lcm: Any) -> Any:
    """The bus for messages; None if none are sent."""
    if lcm is None and lcm_buses is None and config.lcm_bus == "default":
        return None
    from merganser.framework.lcm.lcm_buses import find_bus  # most programs send none

    return find_bus(lcm, lcm_buses, "ApplyVisualizationConfig", config.lcm_bus)


def _check_settings(config: VisualizationConfig) -> None:
    """Raises about settings that are out of their range."""
    if not (config.publish_period > 0 and math.isfinite(config.publish_period)):
        raise RuntimeError(f"VisualizationConfig.publish_period must be positive; given {config.publish_period}.")
    if not 0.0 <= config.initial_proximity_alpha <= 1.0:
        raise RuntimeError(
            f"VisualizationConfig.initial_proximity_alpha must be from 0 to 1; given {config.initial_proximity_alpha}."
        )
    stiffness = config.mouse_interaction_stiffness
    if stiffness is not None and not 0.0 < stiffness < math.inf:
        raise RuntimeError(
            f"VisualizationConfig.mouse_interaction_stiffness must be positive and finite, or None; given {stiffness}."
        )


def _system(builder: DiagramBuilder, name: str, given: Any, kind: type[Any], is_connected: bool) -> Any:
    """A system of the diagram: that which is given, or that of the usual name.

    One that is given and not connected to anything need not be in the diagram.

    Raises:
        RuntimeError: it is not there.
        TypeError: it is of another kind.
    """
    if given is not None and is_connected and given not in builder.GetSystems():
        raise RuntimeError(
            f"ApplyVisualizationConfig(): the {name} that is given, {given!r}, is not in the diagram. Add it to the "
            "builder first."
        )
    found = builder.GetSubsystemByName(name) if given is None else given
    if not isinstance(found, kind):
        raise TypeError(f"ApplyVisualizationConfig(): '{name}' must be a {kind.__name__}; given {found!r}.")
    return found


def _send_to_viewers(
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
    from merganser.geometry import DrakeVisualizer, DrakeVisualizerParams
    from merganser.multibody.plant import ConnectContactResultsToDrakeVisualizer

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


def show_sky(parser: Parser, meshcat: Meshcat) -> None:
    """Shows the sky of the last file with one that a parser has read, if there is any, behind the scene."""
    if parser._sky is None:
        return
    above, horizon = parser._sky.tolist()
    meshcat.SetProperty("/Background", "top_color", above)
    meshcat.SetProperty("/Background", "bottom_color", horizon)
    meshcat.SetProperty("/Background", "sky", True)
