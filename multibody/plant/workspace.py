"""The arrays of one plant in one Context: views into the Context's numbers, and buffers for the kernels.

What a plant computes most often are kernels that are bound to these arrays: called in 50 ns instead of a microsecond.
Few Contexts need all of them, and what is bound must be compiled first, so that each is bound when it is first needed:
`w.calls.mass_matrix()`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.store import CacheSlot, Store
from merganser.framework.native import Given, Result, bind
from merganser.multibody import kernels
from merganser.multibody.dynamics.records import Multipliers
from merganser.multibody.kernels import checked_arrays, layout
from merganser.multibody.kernels.constraints import constraint_value_dtype
from merganser.multibody.kernels.mobilizers import quaternion_starts

Array = NDArray[Any]
_NO_QUATERNIONS = np.zeros(0, np.int64)


class KernelCalls:
    """Kernels that are bound to a workspace, each when it is first asked for.

    Args:
        w: the workspace.
    """

    def __init__(self, w: Workspace) -> None:
        self._w = w

    # ------------------------------------------------------------------ kinematics

    @cached_property
    def poses(self) -> Callable[[], Any]:
        """Computes the poses alone; with other scalars than floats all position kinematics."""
        return self._w.bound(kernels.poses) if self._w.is_float else self.position

    @cached_property
    def rest(self) -> Callable[[], Any]:
        """Computes the rest of the position kinematics; with other scalars than floats all of it."""
        return self._w.bound(kernels.hinges_and_inertias) if self._w.is_float else self.position

    @cached_property
    def position(self) -> Callable[[], Any]:
        """Computes position kinematics."""
        return self._w.bound(kernels.position_kinematics)

    @cached_property
    def velocity(self) -> Callable[[], Any]:
        """Computes velocity kinematics from those of positions."""
        return self._w.bound(kernels.velocity_kinematics)

    @cached_property
    def kinematics(self) -> Callable[[], Any]:
        """Computes both."""
        return self._w.bound(kernels.kinematics)

    @cached_property
    def pose_matrices(self) -> Callable[[Array, Array], None]:
        """Takes mobods and the buffer for the matrices of their poses, shape [n, 4, 4]."""
        matrices = Given(np.zeros((1, 4, 4), self._w.dtype))
        return self._w.bound(kernels.pose_matrices, **self._members(), X_WB_out=matrices)

    @cached_property
    def center_of_mass(self) -> Callable[[Array], Array]:
        """Takes mobods; returns p_WoScm_W and the mass, shape [4]."""
        return self._w.bound(kernels.center_of_mass, **self._members(), p_and_mass_out=Result((4,)))

    def _members(self) -> dict[str, Given]:
        return {"members": Given(np.zeros(1, np.int64))}

    # ------------------------------------------------------------------ Jacobians and accelerations

    def _places(self) -> dict[str, Given]:
        """What kernels of Jacobians are given: B (see arguments.py), points fixed to it, A and the place of E."""
        mobod, X = Given(0), Given(np.eye(3, 4, dtype=self._w.dtype))
        points = Given(np.zeros(3, self._w.dtype))
        return {"mobod_B": mobod, "X_BF_in": X, "points_in": points, "mobod_A": mobod, "mobod_D": mobod, "X_DE_in": X}

    @cached_property
    def point_jacobian(self) -> Callable[..., Array]:
        """Takes the places and one point; returns the Jacobian of a spatial velocity, shape [6, nv]."""
        return self._w.bound(kernels.jacobian, **self._places(), J_out=Result(self._w.J_shape))

    @cached_property
    def jacobian(self) -> Callable[..., None]:
        """Takes the places, any number of points, and the buffer for the result."""
        w = self._w
        return w.bound(kernels.jacobian, **self._places(), J_out=Given(np.zeros(w.J_shape, w.dtype)))

    @cached_property
    def body_jacobians(self) -> Callable[[Array, Array], None]:
        """Takes mobods and the buffer for the Jacobians of their spatial velocities, shape [n, 6, nv]."""
        J_out = Given(np.zeros((1, *self._w.J_shape), self._w.dtype))
        return self._w.bound(kernels.body_jacobians, **self._members(), J_out=J_out)

    @cached_property
    def center_of_mass_jacobian(self) -> Callable[..., Array]:
        """Takes mobods, A and the place of E; returns J, shape [3, nv], and leaves the mass in w.total_mass."""
        w, places = self._w, self._places()
        E = {name: places[name] for name in ("mobod_A", "mobod_D", "X_DE_in")}
        given = {**self._members(), **E, "J_out": Result((3, *w.v_shape)), "mass_out": w.total_mass}
        return w.bound(kernels.center_of_mass_jacobian, **given)

    @cached_property
    def point_bias(self) -> Callable[..., Array]:
        """Takes the places and one point; returns alpha_AB_E and a_ABp_E for vdot = 0, shape [2, 3]."""
        return self._accelerations(Result((2, 3)))

    @cached_property
    def point_accelerations(self) -> Callable[..., None]:
        """Takes the places, any number of points, and the buffer for the same."""
        return self._accelerations(Given(np.zeros((2, 3), self._w.dtype)))

    def _accelerations(self, A_out: Any) -> Callable[..., Any]:
        w = self._w
        given = {"vdot_in": w.zeros_v, **self._places(), "A_WB_W_work": w.F_buffer, "A_out": A_out}
        return w.bound(kernels.point_accelerations, **given)

    # ------------------------------------------------------------------ dynamics

    @cached_property
    def mass_matrix(self) -> Callable[[], Array]:
        """Returns M, shape [nv, nv]."""
        return self._w.bound(kernels.mass_matrix, M_out=Result(self._w.M_shape))

    @cached_property
    def gravity_forces(self) -> Callable[[], Array]:
        """Returns tau_g, shape [nv]."""
        return self._w.bound(kernels.gravity_forces, tau_g_out=Result(self._w.v_shape))

    @cached_property
    def inverse_dynamics(self) -> Callable[[Array, Array], Array]:
        """Takes vdot and forces on the bodies; returns tau without gravity, from kinematics that are up to date."""
        return self._inverse_dynamics(kernels.inverse_dynamics)

    @cached_property
    def state_inverse_dynamics(self) -> Callable[[Array, Array], Array]:
        """Does the same, kinematics included."""
        return self._inverse_dynamics(kernels.state_inverse_dynamics)

    def _inverse_dynamics(self, kernel: Any) -> Callable[..., Any]:
        w = self._w
        forces = {"vdot_in": Given(w.zeros_v), "F_applied_in": Given(w.zeros_F)}
        return w.bound(kernel, gravity_in=w.zero_gravity, **forces, tau_out=Result(w.v_shape))

    # ------------------------------------------------------------------ writing

    # These write a vector into q, v, x or `point`, if it is an array of float64 of that shape with values that may be
    # there, and return True; otherwise nothing is written, and what they return is false. With other scalar types they
    # never write.

    @cached_property
    def write_q(self) -> Callable[[Any], Any]:
        return self._writing(self._w.q, self._w.quaternion_starts)

    @cached_property
    def write_v(self) -> Callable[[Any], Any]:
        return self._writing(self._w.v)

    @cached_property
    def write_x(self) -> Callable[[Any], Any]:
        return self._writing(self._w.x, self._w.quaternion_starts)

    @cached_property
    def write_point(self) -> Callable[[Any], Any]:
        return self._writing(self._w.point)

    def _writing(self, vector: Array, quaternion_starts: Array = _NO_QUATERNIONS) -> Callable[[Any], Any]:
        """What writes a vector into `vector`, if no quaternion of it is zero."""
        if not self._w.is_float:
            return _write_nothing
        return bind(checked_arrays.write_checked, quaternion_starts, vector, Given(vector, is_checked=True))


def _write_nothing(given: Any) -> None:
    """For scalar types whose values Python checks."""


# What parameters of kernels are attributes of a workspace, and which.
_ATTRIBUTES = {
    f"{name}{ending}": name
    for name in ("topology", "parameters", "gravity", "q", "v", "x", "position", "velocity", "scratch")
    for ending in ("", "_in", "_out", "_io", "_work")
}


class Workspace:
    """What the kernels work on.

    Args:
        topology: records of the mobilized bodies.
        x: the state, a view into the Context.
        num_q: how much of x are positions.
        parameters: numbers of the parameter records, a view into the Context.
        gravity: acceleration of gravity, a view into the Context.
        position_slot: cache slot of the position kinematics in the Context.
        velocity_slot: cache slot of the velocity kinematics in the Context.
        pose_slot: cache slot of the poses in the position kinematics in the Context.
        parameter_slot: cache slot of what only depends on parameters in the Context.
        scalar: scalar type of the plant.

    Attributes:
        q, v, x: generalized positions, velocities and both, as views into the Context.
        parameters: parameter records (kernels/layout.py), a view into the Context.
        gravity: acceleration of gravity in the world frame [m/s^2], shape [3], a view into the Context.
        position, velocity, scratch: records of the kinematics and buffers for the algorithms.
        tau: generalized forces, shape [num_velocities].
        sensitivity: records for derivatives in closed form, made when they are first used.
        step_buffers: what the dynamics work with (step_buffers.py), made when it is first used.
        variable_steps: of a continuous plant that an integrator moves, see step/variable_steps.py; None if none does.
        deformable_works: of each deformable body room for its motion, which all steps in a Context share.
        F_applied: spatial forces on the bodies at Bo in W, in the order of mobods, shape [num_mobods, 6].
        q_shape, v_shape, x_shape, M_shape, J_shape: shapes of vectors of positions, velocities, both, of the mass
            matrix, and of the Jacobian of a spatial velocity.
        point: buffer for one position.
        total_mass: buffer for one mass.
        quaternion_starts: where in q quaternions start.
        calls: kernels that are bound to these arrays.
        F_buffer: workspace of kernels, as F_applied; no value outlives a call.
        zeros_v, zeros_F, zero_gravity: constants for algorithms that leave something out; never written.
        nothing: an empty vector.
        position_slot, velocity_slot: as given; they say whether the kinematics are up to date.
        pose_bit, position_bit, velocity_bit, parameter_bit: bits of the slots. Where the position kinematics are up to
            date, so are the poses, whatever the bit of the poses says.
        pose_clearing, position_clearing, velocity_clearing: what remains of the mask of what is out of date once they
            are not.
        kinematics_clearing: what remains of the mask of what is out of date once all kinematics are up to date.
        store: all values of the Context and of those around it.
        scalar: as given.
        dtype: what arrays of the Context are made of; complex128 for derivatives along one direction.
        is_float: whether that is float64.
        is_numeric: whether they are numbers, not objects.
        down: for each node of the plant, the mask of cache entries that depend on it (see LeafLayout).
        q_node, v_node: the nodes of positions and velocities in `down`, set by the plant.
        codes: compiled kernels, specialized to float64 where that is the scalar type.
        constants: constants of the force elements (kernels/layout.py), a view into the Context.
        frames: poses of the offset frames (kernels/layout.py), a view into the Context.
        activations: of actuators, a view into the Context.
        loops: Multipliers of the loop joints, made when they are first used.
        places: of frames that have been used, the mobod of the body B and the view X_BF, see kinematics.py.
        frame_poses: the array in which the port `geometry_pose` gives poses, and what writes it; made when first used.
        poses: of bodies that have been used, what copies R_WB and p_WoBo_W; with float64 only.
    """

    __slots__ = (
        "F_applied",
        "F_buffer",
        "J_shape",
        "M_shape",
        "activations",
        "calls",
        "codes",
        "constants",
        "deformable_works",
        "down",
        "dtype",
        "frame_poses",
        "frames",
        "gravity",
        "is_float",
        "is_numeric",
        "kinematics_clearing",
        "loops",
        "nothing",
        "parameter_bit",
        "parameters",
        "places",
        "point",
        "pose_bit",
        "pose_clearing",
        "poses",
        "position",
        "position_bit",
        "position_clearing",
        "position_slot",
        "q",
        "q_node",
        "q_shape",
        "quaternion_starts",
        "scalar",
        "scratch",
        "sensitivity",
        "step_buffers",
        "store",
        "tau",
        "topology",
        "total_mass",
        "v",
        "v_node",
        "v_shape",
        "variable_steps",
        "velocity",
        "velocity_bit",
        "velocity_clearing",
        "velocity_slot",
        "x",
        "x_shape",
        "zero_gravity",
        "zeros_F",
        "zeros_v",
    )  # fmt: skip

    def __init__(
        self,
        topology: Array,
        x: Array,
        num_q: int,
        parameters: Array,
        gravity: Array,
        position_slot: CacheSlot,
        velocity_slot: CacheSlot,
        pose_slot: CacheSlot,
        parameter_slot: CacheSlot,
        scalar: type[Any],
    ) -> None:
        num_mobods, num_v = len(topology), len(x) - num_q
        self.store: Store = position_slot.store
        self.scalar = scalar
        self.dtype: np.dtype[Any] = x.dtype
        self.is_float = x.dtype == np.float64
        self.is_numeric = x.dtype != object
        self.down: list[int] = position_slot.context.layout.down_nodes
        if not self.is_numeric and scalar.__name__ == "Expression":  # terms of symbols multiply with each pass
            topology = topology.copy()
            topology[0]["has_explicit_products"] = 1
        self.topology = topology
        self.x, self.q, self.v = x, x[:num_q], x[num_q:]
        self.parameters = self.view_records(parameters, layout.parameter_dtype)
        self.gravity = gravity
        self.position_slot, self.velocity_slot = position_slot, velocity_slot
        self.position_bit, self.velocity_bit = position_slot.bit, velocity_slot.bit
        self.pose_bit = pose_slot.bit
        # Other scalars than float64 have no code of their own for poses.
        self.pose_clearing = ~(pose_slot.bit if self.is_float else pose_slot.bit | position_slot.bit)
        self.position_clearing, self.velocity_clearing = ~(pose_slot.bit | position_slot.bit), ~velocity_slot.bit
        self.parameter_bit = parameter_slot.bit
        self.kinematics_clearing = self.position_clearing & self.velocity_clearing
        self.position = self.make_records(num_mobods, layout.position_dtype)
        self.velocity = self.make_records(num_mobods, layout.velocity_dtype)
        self.scratch = self.make_records(num_mobods, layout.scratch_dtype)
        self.tau = np.zeros(num_v, self.dtype)
        self.step_buffers: Any = None
        self.deformable_works: Any = None
        self.variable_steps: Any = None
        self.sensitivity: Any = None
        self.frame_poses: tuple[Array | None, Any] = None, None
        self.F_applied = np.zeros((num_mobods, 6), self.dtype)
        self.zeros_v = np.zeros(num_v, self.dtype)
        self.nothing = np.zeros(0, self.dtype)
        self.zeros_F = np.zeros((num_mobods, 6), self.dtype)
        self.F_buffer = np.zeros((num_mobods, 6), self.dtype)
        self.zero_gravity = np.zeros(3, self.dtype)
        self.loops: Any = None
        self.constants: Any = None  # these three are set by the plant
        self.frames: Any = None
        self.activations: Any = None
        self.codes: dict[Any, Any] = {}
        self.calls = KernelCalls(self)
        self.places: dict[Any, tuple[int, Array]] = {}
        self.poses: dict[Any, Callable[[], tuple[Array, Array]]] = {}
        self.q_shape, self.v_shape, self.x_shape, self.M_shape = (num_q,), (num_v,), x.shape, (num_v, num_v)
        self.J_shape, self.point, self.total_mass = (6, num_v), np.zeros(3), np.zeros(1, self.dtype)
        self.q_node = self.v_node = 0
        self.quaternion_starts: Array = quaternion_starts(topology)

    def bound(self, kernel: Any, **arguments: Any) -> Callable[..., Any]:
        """A function that calls a kernel with these arguments.

        Args:
            kernel: what it calls.
            arguments: those of the kernel, by their names; a Given for each that the function takes, in the order of
                the kernel, and a Result in place of an array that the function makes and returns, as bind() does. What
                is not given is the attribute of that name, as `position` for `position_out`.

        Raises:
            TypeError: a name is none of the kernel, or one is missing.
        """
        left = (_ATTRIBUTES.keys() & set(_parameter_names(kernel))) - arguments.keys()
        ordered = _in_order(kernel, arguments | {name: getattr(self, _ATTRIBUTES[name]) for name in left})
        return bind(kernel, *ordered) if self.is_float else functools.partial(self._call_bound, kernel, ordered)

    def _call_bound(self, kernel: Any, arguments: tuple[Any, ...], *given: Any) -> Any:
        """What a bound kernel does, with other scalars than floats."""
        left, made, values = iter(given), [], []
        for argument in arguments:
            if isinstance(argument, Given):
                values.append(next(left))
            elif isinstance(argument, Result):
                made.append(np.empty(argument.shape, self.dtype))
                values.append(made[-1])
            else:
                values.append(argument)
        status = self.call(kernel, *values)
        if kernel.interpreted.__annotations__["return"] != "None":
            made.insert(0, status)
        return made[0] if len(made) == 1 else tuple(made) or None

    def write_state(self, x: Array) -> bool:
        """Writes x = [q; v] of this scalar type into the Context, unless it has quaternions; returns whether it did."""
        if len(self.quaternion_starts):
            return False
        self.x[:] = x
        return True

    def view_records(self, numbers: Array, dtype_of: Callable[[Any], np.dtype[Any]]) -> Any:
        """Numbers of the Context, shape [n], as records of the dtype that `dtype_of` makes of a scalar type."""
        return numbers.view(_dtype_of_records(dtype_of, self.dtype))

    def make_records(self, size: int, dtype_of: Callable[[Any], np.dtype[Any]]) -> Any:
        """New records, all zero, of the dtype that `dtype_of` makes of a scalar type."""
        return np.zeros(size, _dtype_of_records(dtype_of, self.dtype))

    def make_multipliers(self, rows: Array) -> Multipliers:
        """New arrays for rows of constraints, records of kernels/constraints/records.py, shape [num_rows]."""
        num_rows, num_v = len(rows), len(self.v)
        M, Y = np.zeros((num_v, num_v), self.dtype), np.zeros((num_rows + 1, num_v), self.dtype)
        C, order = np.zeros((num_rows, num_rows), self.dtype), np.zeros((2, num_rows), np.int64)
        values = self.make_records(num_rows, constraint_value_dtype)
        return Multipliers(rows, M, Y, C, order, values, np.zeros_like(Y[:-1]), np.zeros_like(self.zeros_F))

    def make_numbers(self, size: int) -> Any:
        """Numbers that kernels write, all zero."""
        return np.zeros(size, self.dtype)

    def pose_of(self, mobod: int) -> tuple[Array, Array]:
        """Copies of R_WB and p_WoBo_W of a mobod, from position kinematics that are up to date."""
        record = self.position[mobod]
        return record["R_WB"].copy(), record["p_WoBo_W"].copy()

    def velocity_of(self, mobod: int) -> Array:
        """A copy of V_WB_W of a mobod, from velocity kinematics that are up to date."""
        V_WB_W: Array = self.velocity[mobod]["V_WB_W"].copy()
        return V_WB_W

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel, compiled or interpreted as suits the scalar type.

        Array arguments must be contiguous and of this workspace's scalar type: with float64 they are not
        checked.
        """
        code = self.codes.get(kernel)
        if code is None:
            code = self._choose_code(kernel, arguments)
        return code(*arguments)

    def call_on_values(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel with the values of its arguments, which may have derivatives."""
        is_complex = (getattr(argument, "dtype", None) == np.complex128 for argument in arguments)
        values = (a.real.copy() if is_one else a for a, is_one in zip(arguments, is_complex))
        return kernel.interpreted(*values)

    def _choose_code(self, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        if self.is_float:
            if kernel not in _float_codes:
                _float_codes[kernel] = bind(kernel, *map(Given, arguments))
            code = self.codes[kernel] = _float_codes[kernel]
            return code
        if self.dtype == np.complex128:
            from merganser.framework.native.compiler.when_to_compile import may_use_compiled

            if may_use_compiled(kernel, len(self.topology), *arguments):
                self.codes[kernel] = kernel
                return kernel
        return kernel.interpreted


_float_codes: dict[Any, Any] = {}  # of kernels that are given all arguments, which is the same for all workspaces


@functools.cache
def _dtype_of_records(dtype_of: Callable[[Any], np.dtype[Any]], scalar: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of records of a scalar type; to make it again takes 20 us."""
    return dtype_of(scalar)


def _in_order(kernel: Any, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a kernel in its order."""
    names = _parameter_names(kernel)
    if set(names) != arguments.keys():
        wrong = sorted(set(names) ^ arguments.keys())
        raise TypeError(f"{kernel.interpreted.__name__}() takes {', '.join(names)}; missing or unknown: {wrong}.")
    return tuple(arguments[name] for name in names)


@functools.cache
def _parameter_names(kernel: Any) -> tuple[str, ...]:
    """The names of a kernel's parameters; to find them takes 20 us."""
    return tuple(inspect.signature(kernel.interpreted).parameters)
