"""Views of a plant's numbers in a Context: state, parameters, and the arrays that kernels work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, LeafContext, Value, ValueProducer
from merganser.framework.core.context.dependencies import Q, V, Z
from merganser.framework.core.inside import state_node
from merganser.multibody.kernels import layout
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Actuator
from merganser.multibody.tree.coordinates import num_parameter_records

Array = NDArray[Any]
Calc = Callable[[Any, Any], None]  # of a cache entry


class StateViews:
    """Access to a plant's numbers in a Context.

    Functions without `mutable` in their names give views to read from; those with it say first that what depends on
    these numbers is out of date. All of them raise ValueError for the Context of another system, and TypeError for what
    is no Context.

    Args:
        model: of the plant.

    Attributes:
        state_node: of the state of a discrete plant, see framework/core/context/dependencies.py; else 0.
        parameter_group, gravity_group, rotor_group, constant_group, frame_group: which numeric parameters are the
            records of the mobilized bodies, gravity, rotors, constants of force elements, and poses of frames.
        activation_group, activation_node: which discrete state the activations of actuators are, and its node.
        num_activations: of actuators.
        num_parameters: how many numbers the first of these groups has.
        position_entry, velocity_entry, pose_entry, parameter_entry: numbers of cache entries.
    """

    def __init__(self, model: PlantModel) -> None:
        self._model, self._system = model, model.system
        self.state_node = self.num_parameters = self.num_activations = self.activation_group = 0
        self.activation_node: int = Z
        self.parameter_group = self.gravity_group = self.rotor_group = self.constant_group = self.frame_group = -1
        self.position_entry = self.velocity_entry = self.pose_entry = self.parameter_entry = -1

    # ------------------------------------------------------------------ declarations

    def declare_state(self) -> None:
        """Declares the state x = [q; v], and activations of actuators."""
        tree, system = self._model.tree, self._model.system
        num_q, num_v = tree.num_positions(), tree.num_velocities()
        num_a = self.num_activations = tree.num_activations()
        x0 = np.concatenate([tree.default_positions(), np.zeros(num_v)])
        if self._model.is_discrete:
            system.DeclareDiscreteState(BasicVector(x0))
            self.state_node = state_node(system, 0)
            if num_a:
                self.activation_group = int(system.DeclareDiscreteState(BasicVector(np.zeros(num_a))))
                self.activation_node = state_node(system, self.activation_group)
        else:
            system.DeclareContinuousState(BasicVector(np.concatenate([x0, np.zeros(num_a)])), num_q, num_v, num_a)
        if num_a:
            self._model.default_setters.append(self._set_default_activations)
        self.num_parameters = num_parameter_records(tree.topology) * layout.parameter_dtype().itemsize // 8

    def declare_parameters(self) -> None:
        """Declares what can be changed in a Context beside the state."""
        tree = self._model.tree
        num_constants = len(tree.elements) * layout.constant_dtype().itemsize // 8
        num_frame_numbers = len(tree._offset_frames) * layout.frame_dtype().itemsize // 8
        declare = self._model.system.DeclareNumericParameter
        self.parameter_group = declare(BasicVector(np.zeros(self.num_parameters)))
        self.gravity_group = declare(BasicVector(tree.gravity_vector()))
        self.rotor_group = declare(BasicVector(tree.default_rotors()))
        self.constant_group = declare(BasicVector(np.zeros(num_constants)))
        self.frame_group = declare(BasicVector(np.zeros(num_frame_numbers)))

    def declare_entries(self, calc_position: Calc, calc_velocity: Calc, calc_poses: Calc) -> None:
        """Declares the cache entries of kinematics, whose values are in the workspace.

        Args:
            calc_position, calc_velocity, calc_poses: bring them up to date.
        """
        system = self._model.system
        q, v = system.q_ticket(), system.v_ticket()
        if self._model.is_discrete:
            q = v = system.xd_ticket()
        parameters = system.pn_ticket()

        def declare(name: str, calc: Calc, prerequisites: set[Any]) -> Any:
            return system.DeclareCacheEntry(name, ValueProducer(Value, calc), prerequisites)

        position = declare("position kinematics", calc_position, {q, parameters})
        velocity = declare("velocity kinematics", calc_velocity, {position.ticket(), v})
        # These have no values. Bits say whether the poses are up to date where the position kinematics are not, and
        # whether anything has been derived from the parameters as they are.
        poses = declare("poses", calc_poses, {q, parameters})
        derived = declare("parameters", _calc_nothing, {parameters})
        self.position_entry, self.velocity_entry = position.cache_index(), velocity.cache_index()
        self.pose_entry, self.parameter_entry = poses.cache_index(), derived.cache_index()

    # ------------------------------------------------------------------ arrays

    def workspace(self, context: Context) -> Workspace:
        """The arrays of this plant in its own context.

        Raises:
            ValueError: the context belongs to another system.
            TypeError: it is not a Context.
        """
        try:
            # A Context of this system is a LeafContext.
            w: Workspace | None = context.workspace if context.system is self._system else None  # type: ignore[attr-defined]
        except AttributeError:
            w = None
        if w is None:
            w = self._make_workspace(context)
        if w.store.reader is not None:
            w.store.note_read(context, 0)
        return w

    def _make_workspace(self, context: Context) -> Workspace:
        model = self._model
        model.system.ValidateContext(context)
        assert isinstance(context, LeafContext)
        model.require_finalized("a computation")
        state, parameters = context.peek_state(), context.peek_parameters()
        x = (state.get_discrete_state(0) if model.is_discrete else state.get_continuous_state().get_vector()).value()
        num_x = model.tree.num_positions() + model.tree.num_velocities()
        activations = x[num_x:]
        if self.num_activations and model.is_discrete:
            activations = state.get_discrete_state(self.activation_group).value()

        def numbers(group: int) -> Array:
            values: Array = parameters.get_numeric_parameter(group).value()
            return values

        groups = self.parameter_group, self.gravity_group, self.constant_group, self.frame_group
        w = self._workspace_of(context, context.store.scalar, x[:num_x], activations, *map(numbers, groups))
        context.workspace = w
        return w

    def _workspace_of(
        self, context: LeafContext, scalar: type[Any], x: Array, activations: Array, parameters: Array, gravity: Array,
        constants: Array, frames: Array,
    ) -> Workspace:  # fmt: skip
        """The arrays for computations with these numbers."""
        tree = self._model.tree
        entries = self.position_entry, self.velocity_entry, self.pose_entry, self.parameter_entry
        position, velocity, poses, derived = (context.slots[entry] for entry in entries)
        w = _workspace_class(scalar)(
            tree.topology, x, tree.num_positions(), parameters, gravity, position, velocity, poses, derived, scalar
        )
        w.q_node, w.v_node = self.state_node or Q, self.state_node or V
        w.activations = activations
        w.constants = w.view_records(constants, layout.constant_dtype)
        w.frames = w.view_records(frames, layout.frame_dtype)
        return w

    def workspace_on_values(self, context: Context, parameters: Sequence[Array]) -> Workspace:
        """The arrays for computations with floats in the Context of another scalar type.

        Args:
            context: of the plant.
            parameters: from values_of_parameters(), of which it has views. The caller writes the state.
        """
        assert isinstance(context, LeafContext)
        w = self.workspace(context)
        return self._workspace_of(context, float, np.zeros(len(w.x)), np.zeros(len(w.activations)), *parameters)

    def values_of_parameters(self, context: Context) -> list[Array] | None:
        """Copies of the values that kernels find in numeric parameters of AutoDiffXd; None if one has derivatives."""
        from merganser.framework.autodiff.blocks import values_and_gradient  # programs of floats go without

        parameters = context.peek_parameters()
        groups = self.parameter_group, self.gravity_group, self.constant_group, self.frame_group
        numbers = [values_and_gradient(parameters.get_numeric_parameter(group).value().tolist()) for group in groups]
        if any(derivatives is not None for _, derivatives in numbers):
            return None
        return [values.copy() for values, _ in numbers]

    def q(self, context: Context) -> Array:
        """Positions, shape [num_positions]."""
        return self.workspace(context).q

    def v(self, context: Context) -> Array:
        """Velocities, shape [num_velocities]."""
        return self.workspace(context).v

    def mutable_q(self, context: Context) -> Array:
        """Positions to be changed."""
        w = self.workspace(context)
        w.store.change(w.down[w.q_node], context)
        return w.q

    def mutable_v(self, context: Context) -> Array:
        """Velocities to be changed."""
        w = self.workspace(context)
        w.store.change(w.down[w.v_node], context)
        return w.v

    def mutable_activations(self, context: Context) -> Array:
        """Activations of actuators to be changed."""
        w = self.workspace(context)
        w.store.change(w.down[self.activation_node], context)
        return w.activations

    def _set_default_activations(self, context: Context) -> None:
        self.mutable_activations(context)[:] = 0.0

    def parameters(self, context: Context) -> Array:
        """Records of the mobilized bodies, see kernels/layout.py."""
        return self.workspace(context).parameters

    def mutable_parameters(self, context: Context) -> Array:
        """Records of the mobilized bodies to be changed."""
        w = self.workspace(context)
        context.get_mutable_numeric_parameter(self.parameter_group)
        return w.parameters

    def mutable_gravity(self, context: Context) -> Array:
        """The acceleration of gravity to be changed [m/s^2], shape [3]."""
        w = self.workspace(context)
        context.get_mutable_numeric_parameter(self.gravity_group)
        return w.gravity

    def mutable_constants(self, context: Context) -> Any:
        """Constants of the force elements to be changed, see kernels/layout.py."""
        w = self.workspace(context)
        context.get_mutable_numeric_parameter(self.constant_group)
        return w.constants

    def frames(self, context: Context) -> Any:
        """Poses of the offset frames, see kernels/layout.py."""
        return self.workspace(context).frames

    def mutable_frames(self, context: Context) -> Any:
        """Poses of the offset frames to be changed."""
        w = self.workspace(context)
        context.get_mutable_numeric_parameter(self.frame_group)
        return w.frames

    # ------------------------------------------------------------------ rotors

    def rotors(self, context: Context) -> Array:
        """Gear ratios and rotor inertias [kg m^2] of the actuators in the context, shape [2, num_actuators]."""
        self.workspace(context)
        rotors: Array = context.get_numeric_parameter(self.rotor_group).value()
        return rotors.reshape(2, -1)

    def set_rotor(self, context: Context, actuator: Actuator, row: int, value: Any) -> None:
        """Sets one of the rotors(), and what the joint of the actuator feels of its rotors."""
        rotors = self.rotors(context)
        context.get_mutable_numeric_parameter(self.rotor_group)
        rotors[row, actuator.input_start()] = value
        tree, joint = self._model.tree, actuator.joint()
        felt = sum(a.calc_reflected_inertia(context) for a in tree.actuators if a._driven is joint)
        place = tree.mobod_of_joint[joint.index()]
        self.mutable_parameters(context)["reflected_inertia"][place] = felt + joint._default_armature


def _workspace_class(T: type[Any]) -> type[Workspace]:
    """The kind of workspace for a scalar type; those for others than floats are imported when they are needed."""
    if T is float:
        return Workspace
    from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace, SymbolicWorkspace

    return AutoDiffWorkspace if T.__name__ == "AutoDiffXd" else SymbolicWorkspace


def _calc_nothing(context: Context, output: Any) -> None:
    """For a cache entry without a value."""
