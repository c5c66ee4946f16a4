"""Tendons, other transmissions, limits and belts of a plant in a Context.

Of transmissions there are lengths, rates and moment arms, energies and paths. Belts are bodies whose surfaces go round
an axis: there are the axes, and how far the surfaces have moved. A limit at the distance g, whose rate is gdot = J v,
pushes with what its law in a step of length h says, or with its spring in continuous time,

    f = (-g / reach - gdot+) gain / h,   w = J diag(A)^-1 J^T,   A = M + h D                            (1)
    f = -k g (1 - d gdot)_+                                                                             (2)

where this is positive. Gain and reach are those of ../contact/regularization.py, so that (1) is the impulse that the
contact solver has found, by the velocities that it has found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from merganser.framework import BusValue, Context, InputPort, LeafOutputPort, Value
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.native.memory.by_value import larger
from merganser.multibody import kernels
from merganser.multibody.contact.bounded import stiffest_gain
from merganser.multibody.contact.plant_problem import LIMIT_STIFFNESS, limited_position, set_holonomic
from merganser.multibody.contact.regularization import LEAST_ARM
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.scalars import is_set, real_part
from merganser.multibody.kernels.transmissions import transmission_motion
from merganser.multibody.kernels.transmissions.arms import node_axis, node_point
from merganser.multibody.kernels.transmissions.motion import stretch_of
from merganser.multibody.kernels.transmissions.records import PULLEY, SITE, SPHERE
from merganser.multibody.kernels.transmissions.wrapping import wrap
from merganser.multibody.linear.records import constraint_dtype
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.sample import DynamicsSample
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody

Array = NDArray[Any]


class _Limit(NamedTuple):
    """A length between bounds, its arms J, w of (1), its spring in continuous time; where its force is, and share."""

    length: Any
    bounds: tuple[float, float]
    J: Array
    w: Any
    spring: tuple[float, float]
    place: Array
    slopes: Array


class PlantTransmissions:
    """Transmissions of a plant.

    Args:
        model, kinematics: of the plant.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics) -> None:
        self._model, self._tree, self._kinematics = model, model.tree, kinematics

    def calc_motion(self, context: Context) -> tuple[Array, Array, Array, Array]:
        """Lengths l, rates J v and moment arms J of all transmissions, and Jdot v of those with armature.

        Shapes are [num_transmissions] but that of J, [num_transmissions, num_v].
        """
        self._model.require_finalized("The length of a transmission")
        tree, kinematics = self._tree, self._kinematics
        w = kinematics.eval_velocity(context) if tree.has_armature() else kinematics.eval_position(context)
        num_q, num_v, num_t = len(w.q), len(w.v), len(tree.transmissions)
        lengths, rates = np.zeros(num_q + num_t, w.dtype), np.zeros(num_v + 2 * num_t, w.dtype)
        arms = np.zeros((num_t, num_v), w.dtype)
        given = tree.topology, tree.transmission_records, tree.transmission_nodes, w.q, w.v, w.position
        w.call(transmission_motion, *given, w.velocity, w.scratch, lengths, rates, arms)
        return lengths[num_q:], rates[num_v : num_v + num_t], arms, rates[num_v + num_t :]

    def add_masses(self, context: Context, M: Array) -> Array:
        """M with armature of tendons, see ../kernels/transmissions/armature.py."""
        if not self._tree.has_armature():
            return M
        arms = self.calc_motion(context)[2]
        return M + arms.T @ (self._tree.transmission_records["armature"][:, None] * arms)

    def add_inertial_forces(self, context: Context, vdot: Array, tau: Array) -> Array:
        """tau with what armature of tendons needs for vdot, J^T a (J vdot + Jdot v)."""
        if not self._tree.has_armature():
            return tau
        _, _, arms, products = self.calc_motion(context)
        return tau + arms.T @ (self._tree.transmission_records["armature"] * (arms @ vdot + products))

    def calc_kinetic_energy(self, context: Context) -> Any:
        """That of armature of tendons, a ldot^2 / 2 [J]."""
        if not self._tree.has_armature():
            return 0.0
        rates = self.calc_motion(context)[1]
        return 0.5 * (self._tree.transmission_records["armature"] * rates).dot(rates)

    def calc_limit_forces(self, context: Context, sample: DynamicsSample) -> Array:
        """Generalized forces of the limits of joints, and behind them the forces of those of transmissions.

        Args:
            context: of the plant.
            sample: what a step, or a computation of time derivatives, started from and found.

        Returns:
            tau and f as limits push, positive where they increase q or a length [N m or N],
            shape [num_v + num_transmissions].
        """
        w, h = self._kinematics.eval_position(context), sample.time_step
        num_q, num_v = len(w.q), len(w.v)
        forces = np.zeros(num_v + len(self._tree.transmissions), w.dtype)
        if w.scalar.__name__ == "Expression" or (h > 0.0 and sample.contacts is None):
            return forces  # symbols know no limits
        v = np.array(sample.result if h > 0.0 else sample.x, w.dtype)[num_q:]
        shortest, law = 0.0, np.zeros(1, constraint_dtype)[0]
        if w.variable_steps is not None and w.variable_steps.buffers.settings is not None:
            shortest = w.variable_steps.buffers.settings["shortest_relaxation"]
        set_holonomic(law, LIMIT_STIFFNESS, h, 0.0, np.inf)
        # A joint that feels nothing was too far from its limit to be in the problem, and reaches it in the next step.
        on_joints = forces
        if sample.contacts is not None:
            on_joints = np.append(sample.contacts.tau_joints, np.full(len(forces) - num_v, np.nan))
        for limit in self._limits_at(w, sample):
            for sign, bound in zip((1.0, -1.0), limit.bounds):
                if not np.isfinite(bound):
                    continue
                g, rate = sign * (limit.length - bound), sign * limit.J.dot(v)
                if h == 0.0:
                    stiffness, dissipation = limit.spring
                    f, is_met = -stiffness * g * larger(0.0, 1.0 - dissipation * rate), g.real < 0.0  # (2)
                else:
                    gain, reach, resolved = 2.0 * LIMIT_STIFFNESS * h * h, 2.0 * h, 0.0 * limit.w
                    if limit.w.real > 0.0:
                        resolved = stiffest_gain(law["beta"], limit.w)
                    if gain > resolved.real:
                        gain, reach = resolved, max(reach, shortest)
                    f = (-g / reach - rate) * gain / h  # (1)
                    is_met = g.real <= 0.0 or not (sign * limit.slopes.dot(on_joints[limit.place])).real <= 0.0
                if is_met and f.real > 0.0:
                    forces[limit.place] += sign * f * limit.slopes
        return forces

    def _limits_at(self, w: Workspace, sample: DynamicsSample) -> list[_Limit]:
        """The limits of joints and transmissions at the state from which a sample started."""
        tree, limits, records = self._tree, self._model.contact.limits, self._tree.transmission_records
        num_q, num_v, num_t, num_mobods = len(w.q), len(w.v), len(records), len(w.topology)
        x, parameters = np.array(sample.x, w.dtype), np.array(sample.parameters, w.dtype)
        q, parameters = x[:num_q], w.view_records(parameters, layout.parameter_dtype)
        position, velocity = (w.make_records(num_mobods, d) for d in (layout.position_dtype, layout.velocity_dtype))
        w.call(kernels.kinematics, w.topology, parameters, q, x[num_q:], position, velocity)
        lengths, rates = np.zeros(num_q + num_t, w.dtype), np.zeros(num_v + 2 * num_t, w.dtype)
        arms, M = np.zeros((num_t, num_v), w.dtype), np.zeros((num_v, num_v), w.dtype)
        scratch = w.make_records(num_mobods, layout.scratch_dtype)
        if num_t:
            of_motion = tree.topology, records, tree.transmission_nodes, q, x[num_q:], position, velocity, scratch
            w.call(transmission_motion, *of_motion, lengths, rates, arms)
        w.call(kernels.mass_matrix, w.topology, parameters, position, scratch, M)
        A, is_free = M.diagonal().copy(), np.ones(num_v)
        for node, body in zip(w.topology, parameters):
            first, count = node["v_start"], node["num_v"]
            A[first : first + count] += sample.time_step * body["damping"][:count]
            is_free[first : first + count] = not is_set(body["is_locked"])

        def compliance(J: Array) -> Any:
            """w of (1), 0 where a limit moves nothing."""
            J = J * is_free
            return (J * J / A).sum() * float(np.abs(_numbers(J)).max() > LEAST_ARM)

        found = []
        is_sprung = sample.time_step == 0.0 and len(limits) > 0
        springs = self._model.contact.limit_springs(tree) if is_sprung else (limits["q"],) * 2
        for limit, stiffness, dissipation in zip(limits, *springs):
            length, slopes = limited_position(limit, q)
            place, J = limit["v"] + np.arange(limit["num_v"]), np.zeros(num_v, w.dtype)
            J[place] = slopes[: limit["num_v"]]
            bounds, spring = (limit["lower"], limit["upper"]), (stiffness, dissipation)
            found.append(_Limit(length, bounds, J, compliance(J), spring, place, J[place]))
        for i, (tendon, J) in enumerate(zip(records, arms)):
            bounds = tendon["lower"], tendon["upper"]
            spring = tendon["limit_stiffness"], tendon["limit_dissipation"]
            place = num_v + np.arange(i, i + 1)
            found.append(_Limit(lengths[num_q + i], bounds, J, compliance(J), spring, place, np.ones(1)))
        return found

    def calc_path(self, context: Context, index: int) -> list[Array]:
        """Where a spatial tendon runs in W [m]: each of its branches as points that straight lines join, shape [n, 3].

        Arcs on surfaces are drawn by chords that stand for 6 degrees at most; without derivatives.
        """
        self._model.require_finalized("The path of a tendon")
        w, record = self._kinematics.eval_position(context), self._tree.transmission_records[index]
        position = w.position
        branches: list[list[Array]] = [[]]
        nodes = self._tree.transmission_nodes[record["first"] : record["end"]]
        for n, node in enumerate(nodes):
            if node["what"] == PULLEY:
                branches.append([])
            elif node["what"] == SITE:
                branches[-1].append(_numbers(node_point(node, position))[None])
            else:
                p_WP, p_WQ = (node_point(nodes[k], position) for k in (n - 1, n + 1))
                wraps, arc, p_WA, p_WB = wrap(node, position, p_WP, p_WQ)
                if wraps:
                    P, A, B = _numbers(p_WP), _numbers(p_WA), _numbers(p_WB)
                    branches[-1].append(_arc(node, position, P, A, B, real_part(arc)))
        return [np.concatenate(points) for points in branches if points]

    def calc_energies(self, context: Context) -> Array:
        """Potential energy of the springs [J], its loss and the power of dampers [W], of all together, shape [3]."""
        lengths, rates, *_ = self.calc_motion(context)
        energies: Array = np.zeros(3, lengths.dtype)
        for record, length, rate in zip(self._tree.transmission_records, lengths, rates):
            stretch = stretch_of(record, length)
            energies[0] += 0.5 * record["stiffness"] * stretch * stretch
            energies[1] -= record["stiffness"] * stretch * rate
            energies[2] -= record["damping"] * rate * rate
        return energies


def _numbers(vector: Any) -> Array:
    """A vector without derivatives, shape [3]."""
    return np.array([real_part(x) for x in vector])


def _arc(surface: Any, position: Array, p_WP: Array, p_WA: Array, p_WB: Array, arc: float) -> Array:
    """Points of an arc of a length on a surface, from A, where the line from P arrives, to B; shape [n, 3]."""
    center, z = _numbers(node_point(surface, position)), _numbers(node_axis(surface, position, 2))
    rise = 0.0 if surface["what"] == SPHERE else float(z @ (p_WB - p_WA))
    flat = np.eye(3) if surface["what"] == SPHERE else np.eye(3) - np.outer(z, z)
    radial, r = flat @ (p_WA - center), surface["number"]
    for forward in (p_WA - p_WP, p_WB - p_WA):  # the second if P is on the surface
        tangent = flat @ forward
        tangent = tangent - (tangent @ radial) / (r * r) * radial
        if np.linalg.norm(tangent) > 1e-9 * r:
            break
    else:
        return np.array([p_WA])
    angle = np.sqrt(max(arc * arc - rise * rise, 0.0)) / r
    share = np.linspace(0.0, 1.0, 1 + int(np.ceil(angle / np.radians(6.0))))[:, None]
    across = r / np.linalg.norm(tangent) * tangent
    points: Array = p_WA - radial + np.cos(angle * share) * radial + np.sin(angle * share) * across + share * rise * z
    return points


class PlantBelts:
    """Belts of a plant.

    Args:
        model, views, inputs: of the plant.
    """

    def __init__(self, model: PlantModel, views: StateViews, inputs: InputPorts) -> None:
        self._model, self._tree, self._views, self._inputs = model, model.tree, views, inputs
        self._port: LeafOutputPort | None = None

    def declare(self) -> None:
        """Declares the ports of a finalized plant with belts."""
        system = self._model.system
        if not self._tree.belts():
            return
        self._inputs.surface_speeds = system.DeclareAbstractInputPort("surface_speeds", Value(BusValue()))
        states = {system.xd_ticket()} if self._model.is_discrete else {system.z_ticket()}
        self._port = system.DeclareAbstractOutputPort(
            "surface_displacements", lambda: Value(BusValue()), self._calc_displacements, states
        )

    def set_axis(self, body: RigidBody, axis_B: npt.ArrayLike | None) -> None:
        """Sets the axis about which the surface of a body goes round; before Finalize().

        With the speed s that comes through the port `surface_speeds`, the surface moves by s axis x n on the body,
        where n is the normal that points out of it.

        Args:
            body: not the world.
            axis_B: in the frame of the body, shape [3], of any length but 0; None for no axis.

        Raises:
            RuntimeError: after Finalize(), the body is the world or one of another plant, or the axis has no direction.
        """
        self._tree._check_not_finalized("SetSurfaceVelocityAxis")
        self._tree._check_mine("SetSurfaceVelocityAxis", "it", body)
        if axis_B is None:
            body._surface_axis = None
            return
        axis = as_vector(axis_B, 3, "SetSurfaceVelocityAxis: axis_B").astype(float)
        largest = np.abs(axis).max()
        if body.index() == self._tree.world_body().index():
            raise RuntimeError("SetSurfaceVelocityAxis(): the surface of the world does not move; name another body.")
        if not 0.0 < largest < np.inf:
            raise RuntimeError(f"SetSurfaceVelocityAxis(): axis_B of body '{body.name()}' is {axis}, no direction.")
        axis /= largest
        body._surface_axis = axis / np.linalg.norm(axis)

    def get_axis(self, body: RigidBody) -> npt.NDArray[Any] | None:
        """Returns the axis about which the surface of a body goes round, of length 1, in its frame; None without.

        Raises:
            RuntimeError: the body is one of another plant.
        """
        self._tree._check_mine("GetSurfaceVelocityAxis", "it", body)
        axis = body._surface_axis
        return None if axis is None else axis.copy()

    def get_output_port(self) -> LeafOutputPort[BusValue]:
        """Returns the port with a BusValue: how far the surface of each belt has moved [m], by scoped names of bodies.

        Displacements are states, 0 in a default Context.

        Raises:
            RuntimeError: before Finalize(), or the plant has no belts.
        """
        self._require("get_surface_displacements_output_port()")
        assert self._port is not None
        return self._port

    def get_input_port(self) -> InputPort[BusValue]:
        """Returns the port for a BusValue of speeds of surfaces [m/s], by scoped names of bodies; optional.

        They are of bodies with SetSurfaceVelocityAxis(); what the bus does not name has the speed 0.

        Raises:
            RuntimeError: before Finalize(), or there is no such body.
        """
        self._require("get_surface_speeds_input_port()")
        assert self._inputs.surface_speeds is not None
        return self._inputs.surface_speeds

    def _require(self, what: str) -> None:
        self._model.require_finalized(what)
        if self._port is None:
            raise RuntimeError(
                f"Plant '{self._model.path()}' has no belts, and no port for {what}: call SetSurfaceVelocityAxis() for "
                "a body before Finalize()."
            )

    def num_misc_continuous_states(self) -> int:
        """Returns the number of continuous states that are neither positions nor velocities.

        These are activations and other states of actuators, and displacements of belts.
        """
        self._model.require_finalized("num_misc_continuous_states()")
        return 0 if self._model.is_discrete else self._views.num_activations

    def _calc_displacements(self, context: Context, bus: AbstractValue) -> None:
        belts, value = self._tree.belts(), bus.get_mutable_value()
        displacements = self._views.workspace(context).activations
        for k, body in enumerate(belts, start=len(displacements) - len(belts)):
            value.Set(body.scoped_name().get_full(), Value(float(real_part(displacements[k]))))
