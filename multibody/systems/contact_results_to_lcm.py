"""Contact results as messages for viewers: ContactResultsToLcmSystem and what connects it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value, kUseDefaultName
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.drake_lcm import DrakeLcmInterface
from merganser.framework.lcm.lcm_systems import LcmPublisherSystem
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_point
from merganser.framework.lcm.messages.viewers import (
    lcmt_contact_results_for_viz,
    lcmt_hydroelastic_contact_surface_for_viz,
    lcmt_point_pair_contact_info_for_viz,
)
from merganser.geometry import GeometryId, SceneGraph
from merganser.multibody.plant.contact_results import ContactResults, HydroelasticContactInfo, PointPairContactInfo
from merganser.multibody.plant.multibody_plant import MultibodyPlant

_PUBLISH_PERIOD = 1 / 64.0  # [s]


@dataclasses.dataclass(frozen=True)
class _Side:
    """The name of a geometry in contact, for messages.

    Attributes:
        geometry, body, model: names.
        is_unique: whether no other body has this name.
        num_geometries: geometries of the body with a proximity role.
    """

    geometry: str
    body: str
    model: str
    is_unique: bool
    num_geometries: int


class ContactResultsToLcmSystem(LeafSystem):
    """Gives contact results as an lcmt_contact_results_for_viz.

    Geometries are called by their identifiers, such as 'Id(7)'; `ConnectContactResultsToDrakeVisualizer` gives them
    the names that they have in a SceneGraph.

    Ports:
        input `u0`: ContactResults of the plant.
        output `y0`: lcmt_contact_results_for_viz.

    Args:
        plant: whose results they are, finalized.

    Raises:
        TypeError: it is no MultibodyPlant.
        RuntimeError: the plant is not finalized.
    """

    _keeps_derivatives = True

    def __init__(self, plant: MultibodyPlant) -> None:
        super().__init__()
        if not isinstance(plant, MultibodyPlant):
            raise TypeError(f"ContactResultsToLcmSystem takes a MultibodyPlant; given {plant!r}.")
        if not plant.is_finalized():
            raise RuntimeError("ContactResultsToLcmSystem needs a finalized plant: call plant.Finalize() before.")
        self._name_sides(plant, lambda geometry_id: f"Id({geometry_id.get_value()})")
        self._sys_suggest_name("ContactResultsToLcmSystem")
        self._results = self.DeclareAbstractInputPort(kUseDefaultName, Value(ContactResults()))
        self._message = self.DeclareAbstractOutputPort(
            kUseDefaultName, lambda: Value(lcmt_contact_results_for_viz()), self._calc_message
        )

    def _name_sides(self, plant: MultibodyPlant, name_of: Callable[[GeometryId], str]) -> None:
        bodies = [plant.get_body(index) for index in plant.GetBodyIndices()]
        self._bodies = [f"{body.name()}({int(body.model_instance())})" for body in bodies]
        self._sides: dict[GeometryId, _Side] = {}
        for body in bodies:
            geometry_ids = plant.GetCollisionGeometriesForBody(body)
            model = plant.GetModelInstanceName(body.model_instance())
            is_unique = plant.NumBodiesWithName(body.name()) == 1
            for geometry_id in geometry_ids:
                self._sides[geometry_id] = _Side(name_of(geometry_id), body.name(), model, is_unique, len(geometry_ids))

    def get_contact_result_input_port(self) -> InputPort:
        """Returns the port that takes the contact results."""
        return self._results

    def get_lcm_message_output_port(self) -> OutputPort:
        """Returns the port that gives the message."""
        return self._message

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        results: ContactResults = self._results.Eval(context)
        message = lcmt_contact_results_for_viz()
        message.timestamp = microseconds(float(cast_array([context.get_time()], float)[0]))
        message.num_point_pair_contacts = results.num_point_pair_contacts()
        message.point_pair_contact_info = [
            self._point_message(results.point_pair_contact_info(i), message.timestamp)
            for i in range(results.num_point_pair_contacts())
        ]
        infos = [results.hydroelastic_contact_info(i) for i in range(results.num_hydroelastic_contacts())]
        message.hydroelastic_contacts = [
            self._surface_message(info) for info in infos if info.contact_surface().num_faces()
        ]
        message.num_hydroelastic_contacts = len(message.hydroelastic_contacts)
        output.set_value(message)

    def _point_message(self, info: PointPairContactInfo, timestamp: int) -> Any:
        message = lcmt_point_pair_contact_info_for_viz()
        message.timestamp = timestamp
        message.body1_name, message.body2_name = self._bodies[info.bodyA_index()], self._bodies[info.bodyB_index()]
        message.contact_point = _floats(info.contact_point())
        message.contact_force = _floats(info.contact_force())
        message.normal = _floats(info.point_pair().nhat_BA_W)
        return message

    def _surface_message(self, info: HydroelasticContactInfo) -> Any:
        surface, F_Ac_W = info.contact_surface(), info.F_Ac_W()
        message = lcmt_hydroelastic_contact_surface_for_viz()
        for number, geometry_id in enumerate((surface.id_M(), surface.id_N()), 1):
            side = self._sides[geometry_id]
            setattr(message, f"geometry{number}_name", side.geometry)
            setattr(message, f"body{number}_name", side.body)
            setattr(message, f"model{number}_name", side.model)
            setattr(message, f"body{number}_unique", side.is_unique)
            setattr(message, f"collision_count{number}", side.num_geometries)
        message.centroid_W = _floats(surface.centroid())
        message.force_C_W = _floats(F_Ac_W.translational())
        message.moment_C_W = _floats(F_Ac_W.rotational())
        field: Any = surface.tri_e_MN() if surface.is_triangle() else surface.poly_e_MN()
        mesh: Any = surface.tri_mesh_W() if surface.is_triangle() else surface.poly_mesh_W()
        if surface.is_triangle():
            message.poly_data = np.insert(mesh.triangle_array(), 0, 3, axis=1).ravel()
        else:
            message.poly_data = mesh.face_data()
        message.poly_data_int_count = len(message.poly_data)
        message.num_vertices = mesh.num_vertices()
        message.p_WV = [_point(p_WV) for p_WV in _floats(mesh.vertex_array())]
        message.pressure = _floats([field.EvaluateAtVertex(v) for v in range(mesh.num_vertices())])
        return message


def ConnectContactResultsToDrakeVisualizer(
    builder: DiagramBuilder,
    plant: MultibodyPlant,
    scene_graph: SceneGraph,
    lcm: DrakeLcmInterface | None = None,
    publish_period: float | None = None,
) -> LcmPublisherSystem:
    """Adds to a diagram what sends the contact results of a plant on the channel CONTACT_RESULTS.

    Args:
        builder: of the diagram.
        plant: whose results they are, finalized.
        scene_graph: knows the names of the plant's geometries.
        lcm: sends the messages; None for a new DrakeLcm with the default URL.
        publish_period: time between two messages [s]; None for 1/64 s.

    Returns:
        The publisher.

    Raises:
        TypeError: an argument has another type.
        ValueError: the plant is not part of the diagram.
        RuntimeError: the plant is not finalized, or the period is negative.
        ImportError: there is no `lcm`, and the package lcm is not installed (extra `lcm`).
    """
    if not isinstance(builder, DiagramBuilder) or not isinstance(scene_graph, SceneGraph):
        raise TypeError(
            "ConnectContactResultsToDrakeVisualizer() takes a DiagramBuilder, a plant and a SceneGraph; given "
            f"{builder!r} and {scene_graph!r}."
        )
    contact_to_lcm = ContactResultsToLcmSystem(plant)
    contact_to_lcm._name_sides(plant, scene_graph.model_inspector().GetName)
    results_port = plant.get_contact_results_output_port()
    builder.require_member(plant, results_port)
    period = _PUBLISH_PERIOD if publish_period is None else publish_period
    publisher = LcmPublisherSystem.Make("CONTACT_RESULTS", lcmt_contact_results_for_viz, lcm, period)
    for name, system in (("contact_to_lcm", contact_to_lcm), ("contact_results_publisher", publisher)):
        system._sys_suggest_name(name)
        builder.AddSystem(system)
    builder.Connect(results_port, contact_to_lcm.get_contact_result_input_port())
    builder.Connect(contact_to_lcm.get_lcm_message_output_port(), publisher.get_input_port())
    return publisher


def _floats(values: Any) -> Any:
    """Numbers as floats; derivatives are left behind."""
    return cast_array(np.asarray(values), float)


def _point(p_WV: Any) -> Any:
    point = lcmt_point()
    point.x, point.y, point.z = p_WV.tolist()
    return point
