"""Controllers that know the dynamics of their plant.

InverseDynamics has the generalized forces that a desired acceleration takes, InverseDynamicsController is made of it;
with a JointStiffnessController joints behave like springs and dampers about a desired state. In the native plan their
output is an operation (kernels/operations.py).
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers import PidController
from merganser.framework import Context, Diagram, DiagramBuilder, InputPort, LeafOutputPort, LeafSystem, OutputPort
from merganser.framework.core.context.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.framework.native.compiler.when_to_compile import OptionalCode, want
from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.framework.primitives import Adder, ConstantVectorSource, SparseMatrixGain
from merganser.multibody import kernels
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant, require_plant


class InverseDynamics(LeafSystem):
    """Generalized forces for a desired acceleration, or against gravity only; limits of actuators do not count.

    With the state (q, v) at input port 'estimated_state' and vd_d at 'desired_acceleration', output port
    'generalized_force' gives

        tau = M(q) vd_d + C(q, v) v - tau_g(q) - tau_app(q, v),                 (1)

    where tau_app are the forces of force elements and damping; or, in the mode kGravityCompensation, which has no port
    for accelerations,

        tau = -tau_g(q).                                                        (2)

    By the recursive Newton-Euler algorithm (Featherstone 2008, section 5.3).

    Args:
        plant: finalized; it is not copied.
        mode: what to compensate for.
        plant_context: parameters of the plant, copied; by default those of its default context.

    Raises:
        RuntimeError: the plant is not finalized.
        ValueError: the context belongs to another plant.
    """

    class InverseDynamicsMode(enum.IntEnum):
        """Purpose of the generalized forces."""

        kInverseDynamics = 0
        kGravityCompensation = 1

        __str__ = enum.Enum.__str__

    kInverseDynamics = InverseDynamicsMode.kInverseDynamics
    kGravityCompensation = InverseDynamicsMode.kGravityCompensation

    def __init__(
        self,
        plant: MultibodyPlant,
        mode: InverseDynamicsMode = InverseDynamicsMode.kInverseDynamics,
        plant_context: Context | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(mode, InverseDynamics.InverseDynamicsMode):
            raise TypeError(f"InverseDynamics: mode must be an InverseDynamicsMode, got {mode!r}.")
        self._model = ScratchPlant(self, plant, plant_context)
        self._mode = mode
        self._state = self.DeclareVectorInputPort("estimated_state", plant.num_multibody_states())
        needs = {self._state.ticket()}
        self._acceleration: InputPort | None = None
        if not self.is_pure_gravity_compensation():
            self._acceleration = self.DeclareVectorInputPort("desired_acceleration", plant.num_velocities())
            needs.add(self._acceleration.ticket())
        self._force = self.DeclareVectorOutputPort("generalized_force", plant.num_velocities(), self._calc_force, needs)
        mode_name = "GRAVITY_COMPENSATION" if self.is_pure_gravity_compensation() else "INVERSE_DYNAMICS"
        self._force.cache_entry().use_native(ControllerCode(self._model, mode_name))

    def is_pure_gravity_compensation(self) -> bool:
        """Returns whether only gravity is compensated for."""
        return self._mode is InverseDynamics.InverseDynamicsMode.kGravityCompensation

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self._state

    def get_input_port_desired_acceleration(self) -> InputPort:
        """Returns the input port of the desired acceleration, shape [num_velocities].

        Raises:
            RuntimeError: the mode is kGravityCompensation.
        """
        if self._acceleration is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' compensates for gravity only and has no input port "
                "'desired_acceleration'; make it with InverseDynamics.kInverseDynamics."
            )
        return self._acceleration

    def get_output_port_generalized_force(self) -> LeafOutputPort:
        """Returns the output port of the generalized forces, shape [num_velocities]."""
        return self._force

    def _calc_force(self, context: Context, output: Any) -> None:
        model = self._model
        plant_context = model.at(context, self._state.Eval(context))
        if self._acceleration is None:
            output.SetFromVector(-model.plant.CalcGravityGeneralizedForces(plant_context))  # (2)
            return
        forces = model.force_elements(plant_context)
        vd_d = self._acceleration.Eval(context)
        output.SetFromVector(model.plant.CalcInverseDynamics(plant_context, vd_d, forces))  # (1)


class InverseDynamicsController(Diagram):
    """Computed torque: a PID controller asks for accelerations, inverse dynamics gives the forces for them.

        vd_command = kp (q_d - q) + ki integral(q_d - q) + kd (v_d - v) + vd_d,
        generalized_force = inverse_dynamics(q, v, vd_command),     actuation = B^-1 generalized_force

    (Lynch and Park 2017, section 11.4). Input ports are 'estimated_state', 'desired_state' and, if asked for,
    'desired_acceleration' vd_d; output ports are 'actuation' and 'generalized_force'. Forces of constraints and
    contact are not accounted for.

    Args:
        robot: the model, finalized and fully actuated; it is not copied.
        kp: proportional gains, shape [n].
        ki: integral gains, shape [n].
        kd: derivative gains, shape [n].
        has_reference_acceleration: whether there is a port for vd_d, which else is zero.
        plant_context: parameters of the model, copied; by default those of its default context.

    Raises:
        RuntimeError: the robot is not finalized or not fully actuated, or gains are not of its size.
    """

    def __init__(
        self,
        robot: MultibodyPlant,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        has_reference_acceleration: bool,
        plant_context: Context | None = None,
    ) -> None:
        super().__init__()
        name = "InverseDynamicsController"
        require_plant(robot, name)
        B_inverse = require_fully_actuated(robot, name)
        n = robot.num_positions()
        gains = [checked_gains(gain, n, f"{name}: {what}") for what, gain in (("kp", kp), ("ki", ki), ("kd", kd))]
        self._robot, self._has_acceleration = robot, bool(has_reference_acceleration)
        builder = DiagramBuilder()
        dynamics = builder.AddNamedSystem(
            "InverseDynamics", InverseDynamics(robot, InverseDynamics.kInverseDynamics, plant_context)
        )
        self._pid = builder.AddNamedSystem("pid", PidController(*gains))
        adder = builder.AddNamedSystem("+", Adder(2, n))
        to_actuators = builder.AddNamedSystem("B⁻¹", SparseMatrixGain(B_inverse))
        builder.ExportInput(self._pid.get_input_port_estimated_state(), "estimated_state")
        builder.ConnectInput("estimated_state", dynamics.get_input_port_estimated_state())
        builder.ExportInput(self._pid.get_input_port_desired_state(), "desired_state")
        builder.Connect(self._pid.get_output_port_control(), adder.get_input_port(0))
        if self._has_acceleration:
            builder.ExportInput(adder.get_input_port(1), "desired_acceleration")
        else:
            rest = builder.AddNamedSystem("desired_acceleration=0", ConstantVectorSource(np.zeros(n)))
            builder.Connect(rest.get_output_port(), adder.get_input_port(1))
        builder.Connect(adder.get_output_port(), dynamics.get_input_port_desired_acceleration())
        builder.Connect(dynamics.get_output_port_generalized_force(), to_actuators.get_input_port())
        builder.ExportOutput(to_actuators.get_output_port(), "actuation")
        builder.ExportOutput(dynamics.get_output_port_generalized_force(), "generalized_force")
        builder.BuildInto(self)

    def set_integral_value(self, context: Context, value: ArrayLike) -> None:
        """Sets the integrals of the position errors.

        Args:
            context: of this controller.
            value: shape [n].
        """
        self.GetMutableSubsystemContext(self._pid, context).SetContinuousState(value)

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self.get_input_port(0)

    def get_input_port_desired_state(self) -> InputPort:
        """Returns the input port of the desired state (q_d, v_d)."""
        return self.get_input_port(1)

    def get_input_port_desired_acceleration(self) -> InputPort:
        """Returns the input port of the desired acceleration vd_d.

        Raises:
            RuntimeError: the controller was made without it.
        """
        if not self._has_acceleration:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has no input port 'desired_acceleration'; make it with "
                "has_reference_acceleration=True."
            )
        return self.get_input_port(2)

    def get_output_port_control(self) -> OutputPort:
        """Returns the output port of the actuation."""
        return self.get_output_port(0)

    def get_output_port_generalized_force(self) -> OutputPort:
        """Returns the output port of the generalized forces."""
        return self.get_output_port(1)

    def get_multibody_plant_for_control(self) -> MultibodyPlant:
        """Returns the model of the robot."""
        return self._robot


class JointStiffnessController(LeafSystem):
    """Stiffness and damping at the joints, with gravity and force elements compensated for.

        actuation = B^-1 [-tau_g(q) - tau_app(q, v) + kp (q_d - q) + kd (v_d - v)]                 (1)

    so that the robot moves by M(q) vdot + C(q, v) v + kp (q - q_d) + kd (v - v_d) = tau_ext (Hogan 1985). tau_app
    are the forces of force elements and damping. Input ports are 'estimated_state' and 'desired_state', the output port
    is 'actuation'.

    Args:
        plant: finalized and fully actuated, with qdot = v; it is not copied.
        kp: stiffness of the joints, shape [n].
        kd: damping of the joints, shape [n].

    Raises:
        RuntimeError: the plant is not like that, or gains are not of its size.
    """

    def __init__(self, plant: MultibodyPlant, kp: ArrayLike, kd: ArrayLike) -> None:
        super().__init__()
        name = "JointStiffnessController"
        require_plant(plant, name)
        self._B_inverse = require_fully_actuated(plant, name)
        if not plant.IsVelocityEqualToQDot():
            raise RuntimeError(
                f"{name}: velocities of plant '{plant.GetSystemPathname()}' must be the rates of its positions."
            )
        n = plant.num_positions()
        self._kp, self._kd = checked_gains(kp, n, f"{name}: kp"), checked_gains(kd, n, f"{name}: kd")
        self._model = ScratchPlant(self, plant, None)
        self._state = self.DeclareVectorInputPort("estimated_state", 2 * n)
        self._desired = self.DeclareVectorInputPort("desired_state", 2 * n)
        needs = {self._state.ticket(), self._desired.ticket()}
        self._actuation = self.DeclareVectorOutputPort("actuation", n, self._calc_actuation, needs)
        gains = self._kp, self._kd, self._B_inverse
        self._actuation.cache_entry().use_native(ControllerCode(self._model, "STIFFNESS", gains))

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self._state

    def get_input_port_desired_state(self) -> InputPort:
        """Returns the input port of the desired state (q_d, v_d)."""
        return self._desired

    def get_output_port_actuation(self) -> LeafOutputPort:
        """Returns the output port of the actuation, in the order of the plant's actuation port."""
        return self._actuation

    def get_multibody_plant(self) -> MultibodyPlant:
        """Returns the plant."""
        return self._model.plant

    def _calc_actuation(self, context: Context, output: Any) -> None:
        x, n = self._state.Eval(context), len(self._kp)
        plant_context = self._model.at(context, x)
        applied = self._model.plant.CalcGeneralizedForces(plant_context, self._model.force_elements(plant_context))
        error = self._desired.Eval(context) - x
        force = -applied + self._kp * error[:n] + self._kd * error[n:]
        output.SetFromVector(left_to_right_product(self._B_inverse, force))  # (1)


# ---------------------------------------------------------------------- checks, and compiled code

Array = NDArray[Any]


def require_fully_actuated(plant: MultibodyPlant, name: str) -> Array:
    """Returns the inverse of the actuation matrix, shape [n, n], of a plant with n positions, velocities and actuators.

    Raises:
        RuntimeError: the numbers differ.
    """
    numbers = plant.num_positions(), plant.num_velocities(), plant.num_actuated_dofs()
    if len(set(numbers)) > 1:
        raise RuntimeError(
            f"{name}: plant '{plant.GetSystemPathname()}' must have as many positions as velocities and actuated "
            f"degrees of freedom; it has {numbers[0]}, {numbers[1]} and {numbers[2]}."
        )
    B = plant.MakeActuationMatrix()
    if np.linalg.matrix_rank(B) < len(B):
        raise RuntimeError(
            f"{name}: some degree of freedom of plant '{plant.GetSystemPathname()}' has no actuator, and some has two."
        )
    return np.linalg.inv(B)


def checked_gains(gains: ArrayLike, size: int, what: str) -> Array:
    """Gains as a vector of `size` elements.

    Raises:
        RuntimeError: there are more or less of them, or one is not finite.
    """
    values = np.asarray(gains, dtype=float).reshape(-1)
    if values.size != size or not np.isfinite(values).all():
        raise RuntimeError(f"{what} must be {size} finite numbers, one for each position; got {values.tolist()}.")
    return values


_CONTROLLER = OptionalCode("merganser.multibody.kernels.operations", "CONTROLLER", "plant_controller")


class _Buffers:
    """What the operation works on, in one Context."""

    def __init__(self, w: Any, gains: Sequence[Array]) -> None:
        self.workspace, nothing = w, np.zeros(0)
        kp, kd, B_inverse = gains or (nothing, nothing, np.zeros((0, 0)))
        self.gains = kp, kd, np.ascontiguousarray(B_inverse)
        self.position, self.velocity, self.scratch = w.position.copy(), w.velocity.copy(), w.scratch.copy()
        self.F_applied, self.F_work = np.zeros_like(w.zeros_F), np.zeros_like(w.zeros_F)
        self.tau_applied, self.tau, self.no_gravity = np.zeros_like(w.v), np.zeros_like(w.v), np.zeros(3)


class ControllerCode:
    """The output of a controller as an operation; not for plants with constraints in continuous time.

    Args:
        model: the plant, with a context in each Context of the controller.
        mode: which controller, one of the names in kernels/operations.py.
        gains: kp, kd and the inverse of the actuation matrix, for joint stiffness only.
    """

    operation = ""

    def __init__(self, model: ScratchPlant, mode: str, gains: Sequence[Array] = ()) -> None:
        self._model, self._mode, self._gains = model, mode, tuple(gains)
        want(_CONTROLLER)
        self._codes: weakref.WeakKeyDictionary[Any, tuple[NativeCode, _Buffers]] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return ControllerCode, (self._model, self._mode, self._gains)  # a copy of a system has no contexts yet

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation in a Context; None without one, or if it is not compiled."""
        plant = self._model.plant
        is_known = not (plant._dynamics.has_multipliers or plant._tree.has_armature())
        if not is_known or context.store.flat.dtype != np.float64:
            return None
        from merganser.multibody.kernels import operations as o

        if not _CONTROLLER.is_usable():
            return None
        if context not in self._codes:
            buffers = _Buffers(plant._views.workspace(self._model.context(context)), self._gains)
            self._codes[context] = NativeCode(o.CONTROLLER, self._arguments(o, buffers)), buffers
        return self._codes[context][0]

    def _arguments(self, o: Any, buffers: _Buffers) -> tuple[Any, ...]:
        """The integers of the operation."""
        plant, w, mode = self._model.plant, buffers.workspace, getattr(o, self._mode)
        elements, num_q, num_v = plant._tree.elements, len(w.q), len(w.v)
        commands = {o.INVERSE_DYNAMICS: Placed(InputOf(1), (num_v,)), o.STIFFNESS: Placed(InputOf(1), (2 * num_v,))}
        forces = {
            o.INVERSE_DYNAMICS: kernels.inverse_dynamics,
            o.GRAVITY_COMPENSATION: kernels.gravity_forces,
            o.STIFFNESS: kernels.generalized_forces,
        }
        kp, kd, B_inverse = buffers.gains
        record = o.ControllerRecord(
            mode=mode,
            kinematics=hinted_address(kernels.kinematics),
            force_elements=hinted_address(kernels.force_elements) if len(elements) else 0,
            forces=hinted_address(forces[mode]),
            topology=w.topology, parameters=w.parameters, gravity=w.gravity, elements=elements, constants=w.constants,
            quaternions=w.quaternion_starts,
            q=Placed(InputOf(0), (num_q,)),
            v=Placed(InputOf(0), (num_v,), num_q),
            command=commands.get(mode, Placed(0, (0,))),
            result=Placed(OUTPUT, (num_v,)),
            position=buffers.position, velocity=buffers.velocity, scratch=buffers.scratch, F_applied=buffers.F_applied,
            F_work=buffers.F_work, tau_applied=buffers.tau_applied, tau=buffers.tau, no_gravity=buffers.no_gravity,
            kp=kp, kd=kd, B_inverse=B_inverse,
        )  # fmt: skip
        return FAILURE, *integers_of(record)
