"""ContactVisualizer: draws the contacts of a plant in a Meshcat while a simulation runs."""

from __future__ import annotations

import copy
import math
from typing import Any, overload

import numpy as np

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.inside import in_scalar_of
from merganser.framework.core.scalars.scalars import cast_array
from merganser.geometry import GeometryId, GeometryVersion, QueryObject, Rgba, Role, SceneGraphInspector
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import declare_drawing
from merganser.multibody.plant import ContactResults, MultibodyPlant
from merganser.multibody.tree import BodyIndex
from merganser.multibody.visualization.contact_drawing import (
    ArrowSizes,
    PointContactDrawing,
    SurfaceContact,
    SurfaceContactDrawing,
)
from merganser.multibody.visualization.frame_triads import size_of_model
from merganser.multibody.visualization.params import ContactVisualizerParams

_NAME = "meshcat_contact_visualizer"
_THICKNESS = 1 / 40  # radius of arrows that are bounded, in lengths of the longest
_HEAD = 4.0  # length of their heads, in radii
_LEVER = 0.1  # arm of the weight whose moment is as long as the longest, in sizes of the model


class ContactVisualizer(LeafSystem):
    """Draws contact forces as arrows, and contact surfaces with their pressures, periodically.

    Forces at points have arrows to both sides, as which body is A depends on numbers of geometries; those of surfaces,
    and their moments, are drawn at the centroid as they act on A. `contact_drawing.py` says at which paths. Copies of
    this system, and those for other scalars, draw in the same Meshcat.

    Ports:
        input `contact_results`: ContactResults of a plant.
        input `query_object`: QueryObject of its SceneGraph, for the names of geometries and the size of the model; need
            not be connected.

    Args:
        meshcat: where it draws.
        params: how, and how often.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: a setting is out of its range.
    """

    _keeps_derivatives = True

    def __init__(self, meshcat: Meshcat, params: ContactVisualizerParams | None = None) -> None:
        super().__init__()
        self._params = _checked(meshcat, params)
        self._drawing = _Drawing(meshcat, self._params)
        self._results_port = self.DeclareAbstractInputPort("contact_results", Value(ContactResults()))
        self._query_port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
        self.DeclareInitializationPublishEvent(self._begin)
        self._demand = declare_drawing(self, meshcat, self._params.publish_period, self._draw)

    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat, params: ContactVisualizerParams = ...
    ) -> ContactVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        contact_results_port: OutputPort,
        query_object_port: OutputPort,
        meshcat: Meshcat,
        params: ContactVisualizerParams = ...,
    ) -> ContactVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        contact_results_port: OutputPort,
        meshcat: Meshcat,
        params: ContactVisualizerParams = ...,
    ) -> ContactVisualizer: ...
    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, *args: Any, **kwargs: Any) -> ContactVisualizer:
        """Adds a ContactVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            plant: whose contacts it draws. Or `contact_results_port`, an output port with ContactResults, and perhaps
                `query_object_port`, one with the QueryObject of the SceneGraph.
            meshcat: where it draws.
            params: how, and how often.

        Returns:
            The visualizer; its name is 'meshcat_contact_visualizer', unless another system has that.

        Raises:
            TypeError: an argument has another type.
            RuntimeError: as of ContactVisualizer.
        """
        ports, meshcat, params = _arguments(builder, args, kwargs)
        visualizer: ContactVisualizer = in_scalar_of(builder, ContactVisualizer(meshcat, params))
        if builder.HasSubsystemNamed(_NAME):
            builder.AddSystem(visualizer)
        else:
            builder.AddNamedSystem(_NAME, visualizer)
        for port, own in zip(ports, (visualizer._results_port, visualizer._query_port)):
            builder.Connect(port, own)
        return visualizer

    def Delete(self) -> None:
        """Deletes all below the prefix from the Meshcat."""
        self._drawing.delete()

    def contact_results_input_port(self) -> InputPort:
        """Returns the port that takes the ContactResults of a plant."""
        return self._results_port

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of the SceneGraph."""
        return self._query_port

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._params.delete_on_initialization_event:
            self.Delete()

    def _draw(self, context: Context) -> None:
        time = float(cast_array([context.get_time()], float)[0])
        query = self._query_port.Eval(context) if self._query_port.HasValue(context) else None
        self._drawing.update(self._results_port.Eval(context), query, time)
        self._demand.note_met()


class _Drawing:
    """All contacts in a Meshcat, and names of geometries."""

    _never_changes = True  # copies of a system share it, as they draw in the same Meshcat

    def __init__(self, meshcat: Meshcat, params: ContactVisualizerParams) -> None:
        self._meshcat, self._prefix, self._longest = meshcat, params.prefix, params.longest
        self._points = PointContactDrawing(meshcat, params)
        self._surfaces = SurfaceContactDrawing(meshcat, params)
        self._sizes = self._points.sizes
        self._names: ContactNames | None = None
        self._version: GeometryVersion | None = None

    def delete(self) -> None:
        """Deletes all below the prefix."""
        self._meshcat.Delete(self._prefix)
        self._points.forget()
        self._surfaces.forget()

    def update(self, results: ContactResults, query: QueryObject | None, time: float) -> None:
        """Draws the current contacts; `time` is simulated time, for recordings [s]."""
        plant = results.plant()
        if plant is None:  # there was nothing to compute
            return
        names = self._current_names(plant, query)
        if not self._meshcat.HasPath(self._prefix):
            self._meshcat.add_toggle("contact forces", self._prefix)
        pairs, f_Bc_W, p_WC = results.point_pair_arrays()
        f_Bc_W, p_WC = cast_array(f_Bc_W, float), cast_array(p_WC, float)
        self._points.update([names.pair(*pair) for pair in pairs], f_Bc_W, p_WC, time)
        count = results.num_hydroelastic_contacts()
        infos = [results.hydroelastic_contact_info(i) for i in range(count)]
        self._surfaces.update([_surface_contact(names, info) for info in infos], time)

    def _current_names(self, plant: MultibodyPlant, query: QueryObject | None) -> ContactNames:
        """The names of the current geometries."""
        inspector = None if query is None else query.inspector()
        version = None if inspector is None else inspector.geometry_version()
        is_same = version is None or (self._version is not None and version.IsSameAs(self._version, Role.kProximity))
        if self._names is None or not is_same:
            self._names, self._version = ContactNames(plant, inspector), copy.copy(version)
            if query is not None and inspector is not None:
                self._fit(plant, query, inspector)
        return self._names

    def _fit(self, plant: MultibodyPlant, query: QueryObject, inspector: SceneGraphInspector) -> None:
        """Fits bounded arrows to the current model: the longest one is a force of half its weight."""
        if not math.isfinite(self._longest):
            return
        size = size_of_model(inspector, query.GetPoseInWorld, plant)
        longest, given = self._longest * size, self._sizes
        masses = sum(plant.get_body(BodyIndex(index)).default_mass() for index in range(1, plant.num_bodies()))
        weight = float(masses * np.linalg.norm(plant.gravity_field().gravity_vector()))
        newtons, newton_meters = given.newtons_per_meter, given.newton_meters_per_meter
        radius = given.radius
        if math.isfinite(longest) and math.isfinite(weight):
            newtons = max(newtons, 0.5 * weight / longest)
            newton_meters = max(newton_meters, _LEVER * size * weight / longest)
            radius = max(radius, _THICKNESS * longest)
        self._points.sizes = self._surfaces.sizes = ArrowSizes(newtons, newton_meters, radius, _HEAD, longest)


def _surface_contact(names: ContactNames, info: Any) -> SurfaceContact:
    """The drawing of a contact surface."""
    surface, F_Ac_W = info.contact_surface(), info.F_Ac_W()
    p_WV, triangles, pressures = surface.as_triangles()
    p_WC, f_Ac_W, t_Ac_W, p_WV, pressures = (
        cast_array(each, float)
        for each in (surface.centroid(), F_Ac_W.translational(), F_Ac_W.rotational(), p_WV, pressures)
    )
    return SurfaceContact(names.pair(surface.id_M(), surface.id_N()), p_WC, f_Ac_W, t_Ac_W, p_WV, triangles, pressures)


def _checked(meshcat: Any, params: Any) -> ContactVisualizerParams:
    """A copy of the settings.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: a setting is out of its range.
    """
    params = ContactVisualizerParams() if params is None else params
    if not isinstance(meshcat, Meshcat) or not isinstance(params, ContactVisualizerParams):
        raise TypeError(
            f"ContactVisualizer takes a Meshcat and ContactVisualizerParams; given {meshcat!r} and {params!r}."
        )
    for name in ("color", "hydro_force_color", "hydro_moment_color"):
        if not isinstance(getattr(params, name), Rgba):
            raise TypeError(f"ContactVisualizerParams.{name} must be an Rgba; given {getattr(params, name)!r}.")
    for name in ("publish_period", "force_threshold", "moment_threshold"):
        value = getattr(params, name)
        if not (value >= 0 and math.isfinite(value)):
            raise RuntimeError(f"ContactVisualizerParams.{name} must not be negative; given {value}.")
    if not params.longest > 0:
        raise RuntimeError(f"ContactVisualizerParams.longest must be positive; given {params.longest}.")
    for name in ("newtons_per_meter", "newton_meters_per_meter", "radius"):
        value = getattr(params, name)
        if not (value > 0 and math.isfinite(value)):
            raise RuntimeError(f"ContactVisualizerParams.{name} must be positive; given {value}.")
    return copy.deepcopy(params)


def _arguments(builder: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[OutputPort], Any, Any]:
    """Arguments of the overloads of AddToBuilder: ports to connect, the Meshcat, and settings or None."""
    given = list(args)
    rest = dict(kwargs)

    def take(name: str, kind: type[Any] | None = None) -> Any:
        if given and (kind is None or isinstance(given[0], kind)):
            return given.pop(0)
        return rest.pop(name, None)

    plant = take("plant", MultibodyPlant)
    if not isinstance(plant, MultibodyPlant):
        found = take("contact_results_port", OutputPort), take("query_object_port", OutputPort)
        ports = [port for port in found if port is not None]
    else:
        ports = [plant.get_contact_results_output_port(), *_query_object_port(builder, plant)]
    meshcat, params = take("meshcat"), take("params")
    if not isinstance(builder, DiagramBuilder) or not ports or given or rest:
        raise TypeError(
            "ContactVisualizer.AddToBuilder() takes a DiagramBuilder, a MultibodyPlant or output ports with "
            "ContactResults and a QueryObject, a Meshcat, and ContactVisualizerParams; given "
            f"{builder!r}, {args!r} and {kwargs!r}."
        )
    return ports, meshcat, params


def _query_object_port(builder: Any, plant: MultibodyPlant) -> list[OutputPort]:
    """The output port that feeds the plant's geometry queries, if connected."""
    wires = builder.connection_map() if isinstance(builder, DiagramBuilder) else {}
    wire = wires.get((plant, plant.get_geometry_query_input_port().get_index()))
    return [] if wire is None else [wire[0].get_output_port(wire[1])]


class ContactNames:
    """Names of geometries: 'model.body.geometry', without the model where no other one has a body of this name, and
    without the geometry where it is the only one of its body with contacts. Contacts of kinds that a
    program brings have the name of the kind in the place of geometries.

    Args:
        plant: whose bodies they belong to.
        inspector: of the SceneGraph; without it geometries are named by their ids.
    """

    def __init__(self, plant: MultibodyPlant, inspector: SceneGraphInspector | None) -> None:
        self._plant = plant
        self._inspector = inspector
        self._known: dict[GeometryId, str] = {}
        self._bodies = {
            geometry_id: plant.get_body(index)
            for index in plant.GetBodyIndices()
            for geometry_id in plant.GetCollisionGeometriesForBody(plant.get_body(index))
        }
        self._of_kinds = plant.GetContactSides()

    def pair(self, id_A: GeometryId, id_B: GeometryId) -> str:
        """The name of the contact of two geometries."""
        return f"{self._name(id_A)}+{self._name(id_B)}"

    def _name(self, geometry_id: GeometryId) -> str:
        name = self._known.get(geometry_id)
        if name is None:
            name = self._known[geometry_id] = self._make_name(geometry_id)
        return name

    def _make_name(self, geometry_id: GeometryId) -> str:
        inspector, body = self._inspector, self._bodies.get(geometry_id)
        if geometry_id in self._of_kinds:
            index, kind = self._of_kinds[geometry_id]
            return f"{self._plant.get_body(index).name()}.{kind}"
        name = f"Id({geometry_id.get_value()})"
        if inspector is not None:
            name = inspector.GetName(geometry_id).rpartition("::")[2]
        if body is None:
            return name
        parts = [body.name()]
        if self._plant.NumBodiesWithName(body.name()) > 1:
            parts.insert(0, self._plant.GetModelInstanceName(body.model_instance()))
        if len(self._plant.GetCollisionGeometriesForBody(body)) > 1:
            parts.append(name)
        return ".".join(parts)
