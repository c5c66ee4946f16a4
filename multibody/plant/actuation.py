"""Input ports of a plant, and the forces that come through them."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np

from merganser.framework import InputPort, Value
from merganser.framework.core.errors import log_once
from merganser.framework.core.nonfinite import blame_input
from merganser.geometry import QueryObject
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.drives import ActuatorTable, Controllers, Drives, clamp
from merganser.multibody.plant.externally_applied_spatial_force import ExternallyAppliedSpatialForce
from merganser.multibody.plant.parts import PlantParts
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import ModelInstanceIndex

__all__ = ["PlantInputs"]

_NOTHING = np.zeros(0)
_logger = logging.getLogger("merganser.multibody.plant")


class PlantInputs(PlantParts):
    """Input ports: actuation and desired states, applied forces, geometry queries."""

    _actuation_port: InputPort
    _generalized_force_port: InputPort
    _spatial_force_port: InputPort
    _geometry_query_port: InputPort
    _instance_actuation_ports: list[InputPort]
    _desired_state_ports: list[InputPort]
    _actuator_table: ActuatorTable | None = None  # None until it is needed, and after a change of an actuator

    def _declare_geometry_query_port(self) -> None:
        self._geometry_query_port = self.DeclareAbstractInputPort("geometry_query", Value(QueryObject()))

    def _declare_input_ports(self) -> None:
        """Declares the ports whose sizes are known once the plant is finalized."""
        tree = self._tree
        self._actuation_port = self.DeclareVectorInputPort("actuation", tree.num_actuated_dofs())
        self._generalized_force_port = self.DeclareVectorInputPort("applied_generalized_force", tree.num_velocities())
        self._spatial_force_port = self.DeclareAbstractInputPort("applied_spatial_force", Value([]))
        self._instance_actuation_ports = []
        self._desired_state_ports = []
        for index in range(tree.num_model_instances()):
            name = tree.GetModelInstanceName(ModelInstanceIndex(index))
            size = tree.num_actuated_dofs(index)
            self._instance_actuation_ports.append(self.DeclareVectorInputPort(f"{name}_actuation", size))
            self._desired_state_ports.append(self.DeclareVectorInputPort(f"{name}_desired_state", 2 * size))
        self._driven_velocities = np.array(tree.actuated_velocity_indices(), dtype=np.int64)
        self._has_actuators = len(self._driven_velocities) > 0
        self._is_driven_once = len(set(self._driven_velocities.tolist())) == len(self._driven_velocities)
        self._every_input = np.arange(len(self._driven_velocities), dtype=np.int64)
        self._effort_limits = np.full(len(self._driven_velocities), np.inf)  # also read by the native plan
        ports = enumerate(self._instance_actuation_ports)
        self._driven_instances = [(instance, port) for instance, port in ports if port.size()]
        self._undriven_instances: set[int] = set()  # for which it was said that nothing drives their actuators

    # ------------------------------------------------------------------ ports

    def get_actuation_input_port(self, model_instance: int | None = None) -> InputPort:
        """Returns the port for actuation u, of the whole plant or of one model instance.

        What both carry adds up; what is not connected counts as zero. If nothing drives the actuators of a model
        instance, the logger `merganser.multibody.plant` says so once. Effort limits hold for the sum.
        """
        self._require_finalized("get_actuation_input_port()")
        if model_instance is None:
            return self._actuation_port
        return self._of_instance(self._instance_actuation_ports, model_instance)

    def get_desired_state_input_port(self, model_instance: int) -> InputPort:
        """Returns the port for desired positions, then velocities, of the actuators of a model instance.

        Size 2 n for n actuators, in each half in the order of their indices. Actuators with PD gains
        (JointActuator.set_controller_gains) follow it; what it says about others is ignored. Where it is not connected,
        the controllers of the model instance are disarmed, and its actuators exert what the actuation ports carry.
        """
        self._require_finalized("get_desired_state_input_port()")
        return self._of_instance(self._desired_state_ports, model_instance)

    def get_applied_generalized_force_input_port(self) -> InputPort:
        """Returns the port for generalized forces, in the order of v, shape [nv]; optional."""
        self._require_finalized("get_applied_generalized_force_input_port()")
        return self._generalized_force_port

    def get_applied_spatial_force_input_port(self) -> InputPort:
        """Returns the port for a list of ExternallyAppliedSpatialForce, which add up; optional."""
        self._require_finalized("get_applied_spatial_force_input_port()")
        return self._spatial_force_port

    def get_geometry_query_input_port(self) -> InputPort:
        """Returns the port for the QueryObject of a SceneGraph."""
        return self._geometry_query_port

    def _of_instance(self, ports: list[Any], model_instance: int) -> Any:
        self._tree.GetModelInstanceName(ModelInstanceIndex(model_instance))
        return ports[model_instance]

    # ------------------------------------------------------------------ forces

    def _gather_forces(self, context: Any, w: Workspace) -> None:
        """Reads the input ports into w.tau and w.F_applied.

        Raises:
            RuntimeError: a value is not finite.
        """
        tau, u = w.tau, None
        w.drives = None
        if len(tau) and self._has_actuators:
            table = self._actuators_in(context)
            u = self._assemble_actuation(context, w.dtype, table)
            if table.controlled:
                u = self._control(context, w, table, u)
            elif table.has_limits and not w.is_float:
                u = clamp(u, table.limits)
        applied = context.read_input(self._generalized_force_port.get_index())
        if w.is_float:
            driven, f = self._driven_velocities, _NOTHING if applied is None else applied.value()
            if len(w.net_actuation) != len(driven):
                w.net_actuation = np.zeros(len(driven))
            u = _NOTHING if u is None else u
            if not checked.spread_forces(driven, self._effort_limits, w.net_actuation, tau, u, f):
                self._blame_inputs(context, tau)
        else:
            tau[:] = 0.0
            if u is not None:
                w.net_actuation = u
            if u is not None and self._is_driven_once:  # without sums with zero, each of which would make an object
                tau[self._driven_velocities] = u
            elif u is not None:
                for place, value in zip(self._driven_velocities, u):
                    tau[place] += value
            if applied is not None:
                tau += applied.value()
        forces = context.read_input(self._spatial_force_port.get_index())
        if w.has_applied_forces:
            w.F_applied[:] = 0.0
        w.has_applied_forces = forces is not None
        if forces is not None:
            self._add_spatial_forces(context, w, forces.get_value())
        if len(self._tree.force_elements) > 1:
            self._add_element_forces(context, w)

    def _assemble_actuation(self, context: Any, dtype: Any, table: ActuatorTable) -> Any:
        """u_ff of the whole plant: what comes through its port and through those of the model instances."""
        whole = context.read_input(self._actuation_port.get_index())
        u = None if whole is None else whole.value()
        for instance, port in self._driven_instances:
            part = context.read_input(port.get_index())
            if part is not None:
                # The value of a port belongs to the port: add into an array of our own.
                u = np.zeros(len(self._driven_velocities), dtype) if u is None else u.copy()
                u[self._tree.coordinates.inputs[instance]] += part.value()
        if whole is None:
            self._log_undriven(context, table)
        return np.zeros(len(self._driven_velocities), dtype) if u is None else u

    def _log_undriven(self, context: Any, table: ActuatorTable) -> None:
        """Says once of each model instance whose actuators nothing drives that they exert nothing."""
        if context.has_input(self._actuation_port.get_index()):
            return
        for instance, port in self._driven_instances:
            is_driven = context.has_input(port.get_index()) or instance in table.controlled
            if not is_driven and instance not in self._undriven_instances:
                self._undriven_instances.add(instance)
                log_once(_logger, self._describe_undriven(instance))

    def _describe_undriven(self, instance: int) -> str:
        port = self._instance_actuation_ports[instance]
        name = self._tree.GetModelInstanceName(ModelInstanceIndex(instance))
        return (
            f"{port.GetFullDescription()} is not connected, nor is {self._actuation_port.GetFullDescription()}: the "
            f"{port.size()} actuators of model instance '{name}' exert nothing."
        )

    # ------------------------------------------------------------------ PD controllers

    def _note_actuator_change(self) -> None:
        """Called by actuators when their limits or gains change."""
        self._actuator_table = None
        if self.is_finalized():
            self._look_at_actuators()

    def _look_at_actuators(self) -> ActuatorTable:
        table = self._actuator_table = ActuatorTable.of(self._tree)
        self._effort_limits[:] = table.limits
        return table

    def _actuators_in(self, context: Any) -> ActuatorTable:
        """What the actuators do in a Context: without a desired state, controllers of a model instance are disarmed."""
        table = self._actuator_table or self._look_at_actuators()
        if not table.controlled:
            return table
        ports = self._desired_state_ports
        disarmed = tuple(i for i in table.controlled if not context.has_input(ports[i].get_index()))
        return table.without_controllers_of(disarmed, self._tree) if disarmed else table

    def _control(self, context: Any, w: Workspace, table: ActuatorTable, u_ff: Any) -> Any:
        """What the actuators exert; those whose efforts the discrete step is to find are left at zero, see w.drives.

        Controllers of locked joints are ignored.

        Raises:
            RuntimeError: a desired state is not finite.
        """
        x_d = self._read_desired_states(context, w, table)
        if w.is_float and self._time_step > 0.0:
            controllers = table.controllers
            u, drives = np.empty(len(u_ff)), self._drives_of(w, controllers)
            if w.call(
                checked_arrays.control, table.mobods, table.limits, controllers.inputs, controllers.positions,
                controllers.p, controllers.d, w.parameters, w.q, u_ff, x_d, u, drives.values,
            ):  # fmt: skip
                w.drives = drives
                return u
        locks = w.parameters["is_locked"]
        controllers = table.controllers
        is_locked = locks.real > 0.5 if w.is_numeric else np.array([is_set(lock) for lock in locks], dtype=bool)
        if is_locked.any():
            controllers = table.controllers_of_moving_joints(self._tree, is_locked)
        inputs, p, d = controllers.inputs, controllers.p, controllers.d
        offset = u_ff[inputs] + p * (x_d[0, inputs] - w.q[controllers.positions]) + d * x_d[1, inputs]
        u = clamp(u_ff, table.limits).copy()  # it may be the value of a port itself
        if self._time_step == 0.0:
            u[inputs] = clamp(offset - d * w.v[controllers.velocities], controllers.limits)
        elif len(inputs):
            error = x_d[0, inputs] - w.q[controllers.positions]
            w.drives = self._set_drives(context, w, controllers, (u_ff[inputs], error, x_d[1, inputs]), offset)
            u[inputs] = 0.0 * u[inputs]
        return u

    def _read_desired_states(self, context: Any, w: Workspace, table: ActuatorTable) -> Any:
        """Desired positions and velocities in the order of u, shape [2, nu]."""
        x_d = np.zeros((2, len(table.limits)), w.dtype)
        for instance, inputs in table.controlled.items():
            port = self._desired_state_ports[instance]
            values = context.read_input(port.get_index()).value()
            if not w.is_float:
                x_d[:, inputs] = values.reshape(2, -1)
            elif not w.call(checked_arrays.put_desired_state, inputs, values, x_d):
                raise RuntimeError(blame_input(context, port.get_index()))
        return x_d

    def _set_drives(self, context: Any, w: Workspace, controllers: Controllers, parts: Any, offset: Any) -> Drives:
        """The controllers as the kernel takes them, with their offsets and the parts of these."""
        if w.scalar.__name__ == "Expression":
            raise RuntimeError(
                f"The step of plant '{self.GetSystemPathname()}' decides which PD-controlled actuators reach their "
                "effort limits, which it cannot do for symbolic expressions. Use numbers, or a continuous plant."
            )
        if w.is_float and not math.isfinite(offset.dot(offset)):
            self._blame_inputs(context, offset)
        drives = self._drives_of(w, controllers)
        drives.offset[:] = offset
        for column, part in zip((FEEDFORWARD, ERROR, VELOCITY_TARGET), parts):
            drives.values[:, column] = part
        return drives

    def _drives_of(self, w: Workspace, controllers: Controllers) -> Drives:
        """The room for these controllers in a workspace."""
        drives: Drives | None = w.room_for_drives
        if drives is None or drives.controllers is not controllers:
            drives = w.room_for_drives = Drives(controllers, w.dtype, self._time_step)
        return drives

    def _call_controlled_step(self, w: Workspace, result: Any) -> int:
        """Computes the state one step later, into `result`, and what the actuators exert meanwhile."""
        drives: Drives = w.drives
        status: int = w.call(
            kernels.controlled_step, w.topology, w.parameters, w.gravity, self._time_step, w.x, w.tau, w.F_applied,
            drives.numbers, drives.values, w.position, w.velocity, w.scratch, drives.work, drives.effort, result,
        )  # fmt: skip
        w.net_actuation[drives.controllers.inputs] = drives.effort
        return status

    def _blame_inputs(self, context: Any, tau: Any) -> None:
        """Raises an error about the first input port with a value that is not finite, if there is one."""
        for port in (self._actuation_port, self._generalized_force_port, *self._instance_actuation_ports):
            value = context.read_input(port.get_index()) if port.size() else None
            if value is not None and not np.isfinite(value.value()).all():
                raise RuntimeError(blame_input(context, port.get_index()))
        if not np.isfinite(tau).all():
            raise RuntimeError(
                f"The actuation of plant '{self.GetSystemPathname()}' overflows at time "
                f"{context.store.flat[0]} s: {tau.tolist()}."
            )

    def _add_spatial_forces(self, context: Any, w: Workspace, forces: list[Any]) -> None:
        R_WB = self._eval_position(context).position["R_WB"]
        for force in forces:
            self._check_spatial_force(context, force)
            mobod = int(self._tree.mobod_of_body[force.body_index])
            # Bq is where the force acts: p_BqBo_W = -R_WB p_BoBq_B.
            F_Bo_W = force.F_Bq_W.Shift(-(R_WB[mobod] @ np.asarray(force.p_BoBq_B))).get_coeffs()
            if w.is_float and not np.isfinite(F_Bo_W).all():
                body = self._tree.get_body(force.body_index)
                raise RuntimeError(
                    f"{self._spatial_force_port.GetFullDescription()} carries a force on body "
                    f"'{body.name()}' that is not finite, at time {context.store.flat[0]} s: {force}."
                )
            w.F_applied[mobod] += F_Bo_W

    def _check_spatial_force(self, context: Any, force: Any) -> None:
        place = f"{self._spatial_force_port.GetFullDescription()} carries, at time {context.store.flat[0]} s,"
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
