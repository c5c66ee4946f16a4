"""Inputs of a plant: its ports, the forces that come through them, and what actuators make of theirs.

    u = max(-e, min(e, -Kp (q - qd) - Kd (v - vd) + u_ff))

with effort limits e and PD controllers. In a continuous plant, and for actuators without controller, this is a function
of state and inputs. In a discrete plant, q and v are those at the end of the step, which is solved together with the
motion. The equations are in ../kernels/actuators.py.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, InputPort, Value
from merganser.framework.common.errors import log_once
from merganser.framework.common.records import settings
from merganser.framework.core.context.nonfinite import blame_input
from merganser.geometry import QueryObject
from merganser.multibody.contact.plant_layout import drive_dtype
from merganser.multibody.dynamics.records import Inputs, Part
from merganser.multibody.kernels import actuators as actuation
from merganser.multibody.kernels.actuators import DOF, LIMIT, NUM_DRIVE_NUMBERS, NUM_DRIVE_VALUES, NUM_WORK_VALUES
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.failures import time_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Actuator, BodyIndex, ModelInstanceIndex, MultibodyTree

Array = NDArray[Any]


@dataclass(frozen=True)
class Controllers:
    """PD controllers at work, as arrays in the order of u, shape [num_controllers].

    Attributes:
        inputs: which inputs have them.
        limits: effort limits.
        p, d: gains.
        mobods, positions, velocities: what each of them drives; transmissions are behind the coordinates, on mobod 0.
    """

    inputs: Array
    limits: Array
    p: Array
    d: Array
    mobods: Array
    positions: Array
    velocities: Array

    def records(self) -> Array:
        """The controllers as constraints of a step, records of drive_dtype, but for what they are to do."""
        drives = np.zeros(len(self.inputs), drive_dtype)
        drives["v"], drives["p"], drives["d"], drives["limit"] = self.velocities, self.p, self.d, self.limits
        return drives

    def work_arrays(self, dtype: Any) -> dict[str, Any]:
        """The arrays of Work (dynamics/records.py) that are of controllers."""
        size = len(self.inputs)
        numbers, values = np.zeros((size, NUM_DRIVE_NUMBERS), np.int64), np.zeros((size, NUM_DRIVE_VALUES), dtype)
        numbers[:, DOF], values[:, LIMIT] = self.velocities, self.limits
        work, efforts = np.zeros((size, NUM_WORK_VALUES), dtype), np.zeros(size, dtype)
        return {"drives": numbers, "drive_values": values, "drive_work": work, "efforts": efforts}


@dataclass(frozen=True)
class ActuatorTable:
    """What the model says about its actuators, as arrays in the order of u.

    Attributes:
        limits: effort limits e about their middles, shape [num_inputs].
        middles: m, of the limits, shape [num_inputs].
        desired: constants of desired states, the rows after the first two of ../kernels/actuators.py.
        has_limits: whether any of them is finite.
        controlled: for each model instance with PD controllers, which inputs its actuators have, with or without one.
        controllers: all PD controllers.
    """

    limits: Array
    middles: Array
    desired: Array
    has_limits: bool
    controlled: dict[int, Array]
    controllers: Controllers
    _disarmed: dict[tuple[int, ...], ActuatorTable] = field(default_factory=dict, repr=False, compare=False)
    _moving: dict[bytes, Controllers] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(tree: MultibodyTree) -> ActuatorTable:
        """Looks at the actuators of a finalized tree."""
        actuators: Sequence[Actuator] = list(tree.actuators)
        limits, middles = np.array([_half_and_middle(a) for a in actuators], float).reshape(-1, 2).T
        desired = np.zeros((actuation.NUM_DESIRED_ROWS, len(actuators)))
        for k, a in enumerate(actuators):
            low, high = a._desired_range
            desired[actuation.HALF_RANGE, k] = 0.5 * (high - low)
            desired[actuation.RANGE_MIDDLE, k] = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
            desired[actuation.SCALE, k], desired[actuation.BIAS, k] = a._desired_scale, a._bias
        desired[actuation.MIDDLE] = middles
        has_controller = np.array([a.has_controller() for a in actuators], dtype=bool)
        inputs = tree.coordinates.inputs
        return ActuatorTable(
            limits=limits,
            middles=middles,
            desired=desired[2:],
            has_limits=bool(np.isfinite(limits).any()),
            controlled={i: of_instance for i, of_instance in enumerate(inputs) if has_controller[of_instance].any()},
            controllers=controllers_of(tree, has_controller),
        )

    def without_controllers_of(self, instances: tuple[int, ...], tree: MultibodyTree) -> ActuatorTable:
        """The table with the PD controllers of some model instances disarmed; the same object every time."""
        if instances not in self._disarmed:
            is_armed = np.zeros(len(self.limits), dtype=bool)
            is_armed[self.controllers.inputs] = True
            for instance in instances:
                is_armed[self.controlled[instance]] = False
            controlled = {i: inputs for i, inputs in self.controlled.items() if i not in instances}
            changes: dict[str, Any] = {"controlled": controlled, "controllers": controllers_of(tree, is_armed)}
            self._disarmed[instances] = replace(self, **changes, _disarmed={}, _moving={})
        return self._disarmed[instances]

    def controllers_of_moving_joints(self, tree: MultibodyTree, is_locked: Array) -> Controllers:
        """The PD controllers but those on joints that are locked, which is given for each of them."""
        if not is_locked.any():
            return self.controllers
        key = is_locked.tobytes()
        if key not in self._moving:
            is_at_work = np.zeros(len(self.limits), dtype=bool)
            is_at_work[self.controllers.inputs[~is_locked]] = True
            self._moving[key] = controllers_of(tree, is_at_work)
        return self._moving[key]


def _half_and_middle(actuator: Actuator) -> tuple[float, float]:
    """e and m of limits m - e and m + e."""
    low, high = actuator._effort_range
    return 0.5 * (high - low), 0.5 * (low + high) if np.isfinite(high - low) else 0.0


def controllers_of(tree: MultibodyTree, is_wanted: Array) -> Controllers:
    """The PD controllers of the actuators that are wanted, with gains 0 where they have none."""
    inputs = np.flatnonzero(is_wanted)
    actuators: Sequence[Actuator] = list(tree.actuators)
    wanted = [actuators[i] for i in inputs.tolist()]
    num_q, num_v = tree.num_positions(), tree.num_velocities()
    places: list[tuple[int, int, int]] = []
    for transmission, a in ((a.transmission(), a) for a in wanted):
        if transmission is None:
            joint = a.joint()
            mobod = int(tree.mobod_of_joint[joint.index()])
            places.append((mobod, joint.position_start(), joint.velocity_start()))
        else:  # behind the coordinates; the world is never locked
            places.append((0, num_q + int(transmission.index()), num_v + int(transmission.index())))
    mobods, positions, velocities = np.array(places, np.int64).reshape(-1, 3).T.copy()
    return Controllers(
        inputs=inputs,
        limits=np.array([_half_and_middle(a)[0] for a in wanted], dtype=np.float64),
        p=np.array([a._gains.p for a in wanted], dtype=np.float64),
        d=np.array([a._gains.d for a in wanted], dtype=np.float64),
        mobods=mobods,
        positions=positions,
        velocities=velocities,
    )


@settings
@dataclasses.dataclass(eq=False, slots=True)
class ExternallyAppliedSpatialForce:
    """A spatial force on body B, applied at point Bq fixed to B.

    Attributes:
        body_index: which body B; by default none, which is refused.
        p_BoBq_B: position of Bq from Bo, in B [m], shape [3].
        F_Bq_W: force on B at Bq, in the world frame [N m, N].
    """

    body_index: BodyIndex = dataclasses.field(default_factory=BodyIndex)
    p_BoBq_B: NDArray[Any] = dataclasses.field(default_factory=lambda: np.zeros(3))
    F_Bq_W: SpatialForce = dataclasses.field(default_factory=SpatialForce.Zero)

    def _scalar_type(self) -> Any:
        return self.F_Bq_W._scalar_type()

_logger = logging.getLogger("merganser.multibody.plant")


class InputPorts:
    """Input ports: actuation and desired states, applied forces, geometry queries.

    Args:
        model, views, kinematics: of the plant.

    Attributes:
        geometry_query: the only port that is there before Finalize().
        actuation, generalized_force, spatial_force: of the whole plant.
        surface_speeds: of belts; None without.
        desired_states: by model instance.
        driven_instances: model instances with actuators, and their ports for actuation.
        driven_velocities: of each actuator.
        effort_limits: of each actuator, then the middles of these; also read by the native plan.
        desired_constants: of each actuator, see ActuatorTable.desired.
        of_vectors: indices of all ports that carry vectors; those of desired states carry nothing without actuators.
    """

    actuation: InputPort
    generalized_force: InputPort
    spatial_force: InputPort
    desired_states: list[InputPort]
    driven_instances: list[tuple[int, InputPort]]
    driven_velocities: Any
    effort_limits: Any
    desired_constants: Any
    of_vectors: list[int]
    _instance_actuation: list[InputPort]

    def __init__(self, model: PlantModel, views: StateViews, kinematics: PlantKinematics) -> None:
        self._model, self._tree, self._system = model, model.tree, model.system
        self._views, self._kinematics = views, kinematics
        self.surface_speeds: InputPort | None = None  # of plants with belts, see transmissions.py
        self._table: ActuatorTable | None = None  # None until it is needed, and after a change of an actuator
        self._undriven_instances: set[int] = set()  # for which it was said that nothing drives their actuators
        self.geometry_query = self._system.DeclareAbstractInputPort("geometry_query", Value(QueryObject()))

    def declare(self) -> None:
        """Declares the ports whose sizes are known once the plant is finalized."""
        tree, system = self._tree, self._system
        self.actuation = system.DeclareVectorInputPort("actuation", tree.num_actuated_dofs())
        self.generalized_force = system.DeclareVectorInputPort("applied_generalized_force", tree.num_velocities())
        self.spatial_force = system.DeclareAbstractInputPort("applied_spatial_force", Value([]))
        self._instance_actuation, self.desired_states = [], []
        for index in range(tree.num_model_instances()):
            name = tree.GetModelInstanceName(ModelInstanceIndex(index))
            size = tree.num_actuated_dofs(index)
            self._instance_actuation.append(system.DeclareVectorInputPort(f"{name}_actuation", size))
            self.desired_states.append(system.DeclareVectorInputPort(f"{name}_desired_state", 2 * size))
        self.driven_velocities = np.array(tree.actuated_velocity_indices(), dtype=np.int64)
        vectors = [self.actuation, self.generalized_force, *self._instance_actuation, *self.desired_states]
        self.of_vectors = [port.get_index() for port in vectors if port.size()]
        self.effort_limits = np.zeros(2 * len(self.driven_velocities))
        self._look_at_actuators()
        self.driven_instances = [(i, port) for i, port in enumerate(self._instance_actuation) if port.size()]

    # ------------------------------------------------------------------ ports

    def get_actuation_input_port(self, model_instance: int | None = None) -> InputPort[Array]:
        """Returns the port for actuation u, of the whole plant or of one model instance.

        What both carry adds up; what is not connected counts as zero. If nothing drives the actuators of a model
        instance, the logger `merganser.multibody.plant` says so once. Effort limits hold for the sum.
        """
        self._model.require_finalized("get_actuation_input_port()")
        if model_instance is None:
            return self.actuation
        return self._of_instance(self._instance_actuation, model_instance)

    def get_desired_state_input_port(self, model_instance: int) -> InputPort[Array]:
        """Returns the port for desired positions, then velocities, of the actuators of a model instance.

        Size 2 n for n actuators, in each half in the order of their indices. Actuators with PD gains
        (JointActuator.set_controller_gains) follow it; what it says about others is ignored. Where it is not connected,
        the controllers of the model instance are disarmed, and its actuators exert what the actuation ports carry.
        """
        self._model.require_finalized("get_desired_state_input_port()")
        return self._of_instance(self.desired_states, model_instance)

    def get_applied_generalized_force_input_port(self) -> InputPort[Array]:
        """Returns the port for generalized forces, in the order of v, shape [nv]; optional."""
        self._model.require_finalized("get_applied_generalized_force_input_port()")
        return self.generalized_force

    def get_applied_spatial_force_input_port(self) -> InputPort[list[ExternallyAppliedSpatialForce]]:
        """Returns the port for a list of ExternallyAppliedSpatialForce, which add up; optional."""
        self._model.require_finalized("get_applied_spatial_force_input_port()")
        return self.spatial_force

    def get_geometry_query_input_port(self) -> InputPort[QueryObject]:
        """Returns the port for the QueryObject of a SceneGraph."""
        return self.geometry_query

    def _of_instance(self, ports: list[Any], model_instance: int) -> Any:
        self._tree.GetModelInstanceName(ModelInstanceIndex(model_instance))
        return ports[model_instance]

    # ------------------------------------------------------------------ inputs

    def read(self, context: Context, w: Workspace) -> Inputs:
        """The values of the ports, as ../dynamics/step.py takes them.

        Raises:
            RuntimeError: an applied spatial force is not finite, or acts on no body of the plant.
        """
        read, nothing, table = context.read_input, w.nothing, self.actuators_in(context)
        whole, applied = read(self.actuation.get_index()), read(self.generalized_force.get_index())
        forces = read(self.spatial_force.get_index())
        parts: tuple[Part, ...] = ()
        if self.driven_instances:
            if whole is None:
                self.log_undriven(context, table)
            of_instances = [(instance, read(port.get_index())) for instance, port in self.driven_instances]
            inputs = self._tree.coordinates.inputs
            parts = tuple([Part(inputs[i], _contiguous(value)) for i, value in of_instances if value is not None])
        desired: tuple[Part, ...] = ()
        if table.controlled:
            ports = self.desired_states
            values = [(of, read(ports[instance].get_index())) for instance, of in table.controlled.items()]
            desired = tuple([Part(of, _contiguous(value)) for of, value in values])
        return Inputs(
            nothing if whole is None else _contiguous(whole),
            parts,
            desired,
            nothing if applied is None else _contiguous(applied),
            w.zeros_F if forces is None else self._add_up_spatial_forces(context, w, forces.get_value()),
        )

    def has_objects(self, context: Context) -> bool:
        """Whether anything comes through ports that Python alone can read."""
        if context.has_input(self.spatial_force.get_index()):
            return True
        return self.surface_speeds is not None and context.has_input(self.surface_speeds.get_index())

    def put_surface_speeds(self, context: Context, speeds_out: Array) -> None:
        """Writes the speeds of belts, in the order of bodies, shape [num_belts].

        Raises:
            RuntimeError: a speed is no finite number.
        """
        assert self.surface_speeds is not None
        given: Any = context.read_input(self.surface_speeds.get_index())
        for k, body in enumerate(self._tree.belts()):
            speed = None if given is None else given.get_value().Find(body.scoped_name().get_full())
            speeds_out[k] = 0.0 if speed is None else speed
            if not np.isfinite(speeds_out[k]):
                raise RuntimeError(
                    f"The speed of the surface of body '{body.name()}' must be finite, but {speed} has come through "
                    f"{self.surface_speeds.GetFullDescription()}."
                )

    def log_undriven(self, context: Context, table: ActuatorTable) -> None:
        """Logs once for each model instance that its actuators have no input and exert nothing."""
        if context.has_input(self.actuation.get_index()):
            return
        for instance, port in self.driven_instances:
            is_driven = context.has_input(port.get_index()) or instance in table.controlled
            if not is_driven and instance not in self._undriven_instances:
                self._undriven_instances.add(instance)
                log_once(_logger, self._describe_undriven(instance))

    def _describe_undriven(self, instance: int) -> str:
        port = self._instance_actuation[instance]
        name = self._tree.GetModelInstanceName(ModelInstanceIndex(instance))
        return (
            f"{port.GetFullDescription()} is not connected, nor is {self.actuation.GetFullDescription()}: the "
            f"{port.size()} actuators of model instance '{name}' exert nothing."
        )

    # ------------------------------------------------------------------ actuators

    def note_actuator_change(self) -> None:
        """Called by actuators when their limits or gains change."""
        self._table = None
        if self._tree.is_finalized():
            self._look_at_actuators()

    def effort_middles(self) -> Array:
        """Efforts of actuators beside the input efforts of kernels, shape [num_u]."""
        middles: Array = self.effort_limits[len(self.driven_velocities) :]
        return middles

    def _look_at_actuators(self) -> ActuatorTable:
        table = self._table = ActuatorTable.of(self._tree)
        self.effort_limits[:], self.desired_constants = np.concatenate([table.limits, table.middles]), table.desired
        return table

    def actuators_in(self, context: Context) -> ActuatorTable:
        """Modes of actuators in a Context: without a desired state, controllers of an instance are disarmed."""
        table = self._table or self._look_at_actuators()
        if not table.controlled:
            return table
        ports = self.desired_states
        disarmed = tuple(i for i in table.controlled if not context.has_input(ports[i].get_index()))
        return table.without_controllers_of(disarmed, self._tree) if disarmed else table

    def active_controllers(self, context: Context, w: Workspace) -> Controllers:
        """The PD controllers at work: those with desired states, but none of locked joints."""
        table = self.actuators_in(context)
        if not table.controlled:
            return table.controllers
        locks = w.parameters["is_locked"][table.controllers.mobods]
        is_locked = locks.real > 0.5 if w.is_numeric else np.array([is_set(lock) for lock in locks], dtype=bool)
        return table.controllers_of_moving_joints(self._tree, is_locked)

    def refuse_symbolic_controllers(self, w: Workspace, controllers: Controllers) -> None:
        if w.scalar.__name__ == "Expression" and len(controllers.inputs) and self._model.is_discrete:
            raise RuntimeError(
                f"The step of plant '{self._model.path()}' decides which PD-controlled actuators reach their "
                "effort limits, which it cannot do for symbolic expressions. Use numbers, or a continuous plant."
            )

    def raise_nonfinite_input(self, context: Context, tau: Any) -> None:
        """Raises an error about the first input port with a value that is not finite, or about their sum."""
        ports = self.actuation, self.generalized_force, *self._instance_actuation
        for port in (*ports, *self.desired_states):
            value = context.read_input(port.get_index()) if port.size() else None
            if isinstance(value, BasicVector) and not np.isfinite(value.value()).all():
                raise RuntimeError(blame_input(context, port.get_index()))
        raise RuntimeError(
            f"The actuation of plant '{self._model.path()}' overflows at time {time_of(context)} s: "
            f"generalized forces {tau.tolist()}."
        )

    def _add_up_spatial_forces(self, context: Context, w: Workspace, forces: Iterable[Any]) -> Any:
        """The sum of these forces on each body about Bo in W, shape [num_mobods, 6]."""
        total = np.zeros_like(w.zeros_F)
        R_WB = self._kinematics.eval_position(context).position["R_WB"]
        for force in forces:
            self._check_spatial_force(context, force)
            mobod = int(self._tree.mobod_of_body[force.body_index])
            # Bq is where the force acts: p_BqBo_W = -R_WB p_BoBq_B.
            F_Bo_W = force.F_Bq_W.Shift(-(R_WB[mobod] @ np.asarray(force.p_BoBq_B))).get_coeffs()
            if w.is_float and not np.isfinite(F_Bo_W).all():
                body = self._tree.get_body(force.body_index)
                raise RuntimeError(
                    f"{self.spatial_force.GetFullDescription()} carries a force on body "
                    f"'{body.name()}' that is not finite, at time {time_of(context)} s: {force}."
                )
            total[mobod] += F_Bo_W
        return total

    def _check_spatial_force(self, context: Context, force: Any) -> None:
        place = f"{self.spatial_force.GetFullDescription()} carries, at time {time_of(context)} s,"
        if not isinstance(force, ExternallyAppliedSpatialForce):
            raise TypeError(
                f"{place} a list with a {type(force).__name__} in place of an ExternallyAppliedSpatialForce."
            )
        if not 0 <= force.body_index < self._tree.num_bodies():
            raise RuntimeError(
                f"{place} a force on body {int(force.body_index)}, but the plant has "
                f"{self._tree.num_bodies()} bodies. Set body_index to body.index()."
            )
        if np.shape(force.p_BoBq_B) != (3,):
            raise ValueError(f"{place} a force with p_BoBq_B of shape {np.shape(force.p_BoBq_B)} in place of (3,).")


def _contiguous(vector: Any) -> Any:
    """The numbers of a BasicVector as kernels take them."""
    values = vector.value()
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)
