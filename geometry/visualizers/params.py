"""Settings of the viewers, and the small records that their functions take and return.

Common code of `AddToBuilder` of the visualizers of a SceneGraph.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework import DiagramBuilder, LeafSystem, OutputPort
from merganser.framework.common.records import settings
from merganser.framework.core.inside import in_scalar_of
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.properties import Role
from merganser.geometry.scene.scene_graph import SceneGraph


class SideOfFaceToRender(enum.IntEnum):
    """The sides from which a triangle is seen; the front is where its corners run counter-clockwise."""

    kFrontSide = 0
    kBackSide = 1
    kDoubleSide = 2

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


@settings
@dataclass(kw_only=True)
class Gamepad:
    """The state of a gamepad at a browser.

    Attributes:
        index: number of the gamepad; None if none was reported.
        button_values: how far each button is pressed, from 0 to 1.
        axes: position of each axis, from -1 to 1.
    """

    index: int | None = None
    button_values: list[float] = field(default_factory=list)
    axes: list[float] = field(default_factory=list)


@settings
@dataclass(kw_only=True)
class OrthographicCamera:
    """A camera without perspective: what it sees is a box along its axes. See three.js' OrthographicCamera.

    Attributes:
        left: of the box, in the camera's x [m]; `right` follows the shape of the window.
        right: of the box.
        top: of the box, in the camera's y [m].
        bottom: of the box.
        near: where the box begins in the direction of view [m].
        far: where it ends [m].
        zoom: magnification.
    """

    left: float = -1.0
    right: float = 1.0
    top: float = -1.0
    bottom: float = 1.0
    near: float = -1000.0
    far: float = 1000.0
    zoom: float = 1.0


@settings
@dataclass(kw_only=True)
class PerspectiveCamera:
    """An ordinary camera. See three.js' PerspectiveCamera.

    Attributes:
        fov: vertical angle of view [degrees].
        aspect: width by height; follows the shape of the window.
        near: distance from which on things are seen [m].
        far: distance up to which they are [m].
        zoom: magnification.
    """

    fov: float = 75.0
    aspect: float = 1.0
    near: float = 0.01
    far: float = 100.0
    zoom: float = 1.0


@settings
@dataclass(kw_only=True)
class PropertyTuple:
    """A property to begin with; see `Meshcat.SetProperty`.

    Attributes:
        path: where.
        property: its name.
        value: bool, float or list of floats.
    """

    path: str = ""
    property: str = ""
    value: bool | float | list[float] = field(default_factory=list)


@settings
@dataclass(kw_only=True)
class MeshcatParams:
    """Settings of a Meshcat.

    Attributes:
        host: name or address of this machine to listen at; "*" for all that it has. By default it can be reached from
            this machine only, other than pydrake's, which everybody can reach.
        port: to listen at: 0 for any that is free; None for the first free one from 7000 to 7999.
        web_url_pattern: makes `Meshcat.web_url`, with {host} and {port} filled in, where it is behind a proxy.
        initial_properties: properties to begin with, such as of the background.
        show_stats_plot: whether pages show the real-time rate.
        realtime_rate_period: time over which the real-time rate is measured [s].
    """

    host: str = "localhost"
    port: int | None = None
    web_url_pattern: str = "http://{host}:{port}"
    initial_properties: list[PropertyTuple] = field(default_factory=list)
    show_stats_plot: bool = True
    realtime_rate_period: float = 0.25

    PropertyTuple = PropertyTuple


@settings
@dataclass(kw_only=True)
class MeshcatVisualizerParams:
    """Settings of a MeshcatVisualizer.

    Attributes:
        publish_period: simulated time between two pictures [s].
        role: the role of the geometries that are shown.
        default_color: of geometries that have none.
        prefix: the path below which all is.
        delete_on_initialization_event: whether what is there is deleted when a simulation begins.
        enable_alpha_slider: whether there is a slider for the opacity.
        initial_alpha_slider_value: what it begins with, from 0 to 1.
        visible_by_default: whether the geometries are shown at first.
        show_hydroelastic: whether geometries of the proximity role are drawn as they are in hydroelastic contact.
        include_unspecified_accepting: whether geometries are shown that do not say which viewers may, by a property
            ('meshcat', 'accepting') with the prefix.
    """

    publish_period: float = 1 / 64.0
    role: Role = Role.kIllustration
    default_color: Rgba = field(default_factory=lambda: Rgba(0.9, 0.9, 0.9, 1.0))
    prefix: str = "visualizer"
    delete_on_initialization_event: bool = True
    enable_alpha_slider: bool = False
    initial_alpha_slider_value: float = 1.0
    visible_by_default: bool = True
    show_hydroelastic: bool = False
    include_unspecified_accepting: bool = True


@settings
@dataclass(kw_only=True)
class MeshcatVisualizerSurfaceVelocityData:
    """How the pictures on a body move whose surface goes round an axis, see MeshcatVisualizer.

    Attributes:
        displacement_signal_name: of how far it has gone [m], in the bus of the port `surface_displacements`.
        axis_B: the axis in the frame of the body, of length 1, shape [3].
    """

    displacement_signal_name: str = ""
    axis_B: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))


@settings
@dataclass(kw_only=True)
class DrakeVisualizerParams:
    """Settings of a DrakeVisualizer.

    Attributes:
        publish_period: simulated time between two messages [s].
        role: the role of the geometries that are sent.
        default_color: of geometries that have none, neither of this role nor of the illustration role.
        show_hydroelastic: whether geometries of the proximity role are sent as they are in hydroelastic contact.
        use_role_channel_suffix: whether the role is appended to the names of the channels.
    """

    publish_period: float = 1 / 64.0
    role: Role = Role.kIllustration
    default_color: Rgba = field(default_factory=lambda: Rgba(0.9, 0.9, 0.9, 1.0))
    show_hydroelastic: bool = False
    use_role_channel_suffix: bool = False


_Visualizer = TypeVar("_Visualizer", bound=LeafSystem)


def query_output_port(caller: str, builder: Any, scene_graph: Any, query_object_port: OutputPort | None) -> OutputPort:
    """The output port with the QueryObject of the scene to draw.

    Args:
        caller: the visualizer, for messages.
        builder: of the diagram.
        scene_graph: a SceneGraph, or such an output port.
        query_object_port: the port, if it is given instead.

    Raises:
        TypeError: an argument has another type.
    """
    given = scene_graph if query_object_port is None else query_object_port
    port = given.get_query_output_port() if isinstance(given, SceneGraph) else given
    if not isinstance(builder, DiagramBuilder) or not isinstance(port, OutputPort):
        raise TypeError(
            f"{caller}.AddToBuilder() takes a DiagramBuilder, a SceneGraph or an output port with a QueryObject, and "
            f"what {caller} takes; given {builder!r} and {given!r}."
        )
    return port


def add_visualizer(builder: DiagramBuilder, visualizer: _Visualizer, name: str, port: OutputPort) -> _Visualizer:
    """Adds a visualizer to a diagram, with a name unless another system has that, and connects its input.

    Returns:
        The visualizer, of the scalar type of the diagram.
    """
    visualizer = in_scalar_of(builder, visualizer)
    if builder.HasSubsystemNamed(name):
        builder.AddSystem(visualizer)
    else:
        builder.AddNamedSystem(name, visualizer)
    builder.Connect(port, visualizer.get_input_port(0))
    return visualizer
