"""Settings of the systems that draw a plant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from merganser.framework.common.records import settings
from merganser.geometry import Rgba


@settings
@dataclass(kw_only=True)
class ContactVisualizerParams:
    """Settings of a ContactVisualizer.

    Attributes:
        publish_period: simulated time between two pictures [s]; 0 for one after each step.
        color: of forces at points.
        hydro_force_color: of forces of contact surfaces.
        hydro_moment_color: of moments of contact surfaces.
        prefix: the path below which all is.
        delete_on_initialization_event: whether what is there is deleted when a simulation begins.
        force_threshold: forces below are not drawn [N].
        moment_threshold: moments below are not drawn [N m].
        newtons_per_meter: force of an arrow of 1 m [N/m].
        newton_meters_per_meter: moment of an arrow of 1 m [N m/m].
        radius: of arrows [m].
        longest: arrows are not longer, in sizes of the model; a force of half its weight is as long, unless it is
            shorter by `newtons_per_meter`, and radii are at least 1/40 of that. Infinity, by default, for as long as
            forces say. Beyond pydrake; `ApplyVisualizationConfig` has 0.25.
    """

    publish_period: float = 1 / 32.0
    color: Rgba = field(default_factory=lambda: Rgba(0, 1, 0, 1))
    hydro_force_color: Rgba = field(default_factory=lambda: Rgba(1, 0, 0, 1))
    hydro_moment_color: Rgba = field(default_factory=lambda: Rgba(0, 0, 1, 1))
    prefix: str = "contact_forces"
    delete_on_initialization_event: bool = True
    force_threshold: float = 0.01
    moment_threshold: float = 0.01
    newtons_per_meter: float = 10.0
    newton_meters_per_meter: float = 3.0
    radius: float = 0.002
    longest: float = math.inf


@settings
@dataclass(kw_only=True)
class StressVisualizerParams:
    """Settings of a StressVisualizer.

    Attributes:
        publish_period: simulated time between two pictures [s]; 0 for one after each step.
        prefix: the path below which all is.
        delete_on_initialization_event: whether what is there is deleted when a simulation begins.
        greatest: the stress that is red [Pa]; 0 for the greatest of all bodies in each picture.
        hidden_prefixes: those of other visualizers, whose drawings of the same bodies are hidden.
    """

    publish_period: float = 1 / 32.0
    prefix: str = "stress"
    delete_on_initialization_event: bool = True
    greatest: float = 0.0
    hidden_prefixes: tuple[str, ...] = ("visualizer", "illustration")


@settings
@dataclass(kw_only=True)
class VisualizationConfig:
    """Settings of `ApplyVisualizationConfig`.

    Attributes:
        lcm_bus: the bus, of those that are given, on which messages are sent.
        publish_period: simulated time between two pictures [s].
        publish_illustration: whether geometries of the illustration role are shown.
        default_illustration_color: of those that have none.
        publish_proximity: whether geometries of the proximity role are shown, as they are in contact.
        default_proximity_color: of those that have none.
        initial_proximity_alpha: opacity of geometries of the proximity role, if there are sliders for it.
        publish_contacts: whether contact forces and surfaces are shown.
        publish_inertia: whether an ellipsoid is shown for each body, of the density of water and its mass and inertia.
        enable_meshcat_creation: whether there is a new Meshcat where none is given.
        delete_on_initialization_event: whether what is there is deleted when a simulation begins.
        enable_alpha_sliders: whether the page has sliders for opacities.
        mouse_interaction_stiffness: of the spring by which pages drag bodies, for each unit of mass [1/s²], see
            `DragSpring`; None for none. A plant whose port for spatial forces is connected already has none.
    """

    lcm_bus: str = "default"
    publish_period: float = 1 / 64.0
    publish_illustration: bool = True
    default_illustration_color: Rgba = field(default_factory=lambda: Rgba(0.9, 0.9, 0.9))
    publish_proximity: bool = True
    default_proximity_color: Rgba = field(default_factory=lambda: Rgba(0.8, 0, 0, 1.0))
    initial_proximity_alpha: float = 0.5
    publish_contacts: bool = True
    publish_inertia: bool = True
    enable_meshcat_creation: bool = True
    delete_on_initialization_event: bool = True
    enable_alpha_sliders: bool = False
    mouse_interaction_stiffness: float | None = None
