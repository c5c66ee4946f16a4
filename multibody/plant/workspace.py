"""The arrays of one plant in one Context: views into the Context's numbers, and buffers for the kernels."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.store import CacheSlot, Store
from merganser.framework.native import Given, Result, bind
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers import quaternion_starts
from merganser.multibody.plant.kernel_calls import KernelCalls

__all__ = ["Workspace"]

Array = NDArray[Any]



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
        step_buffers: what steps in Python work with (step_buffers.py), made when it is first used.
        motion: of a continuous plant that an integrator moves by steps, see step/motion.py; None if none does.
        deformables: what steps of deformable bodies work with (step/deformable_steps.py); None if there are none.
        sample_buffers: what the operation of the native plan writes, see native_code.py.
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
        position_slot, velocity_slot: as given; they tell whether the kinematics are up to date.
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
        loops: arrays of the loop joints (constraint_arrays.py), made when they are first used.
        places: of frames that have been used, the mobod of the body B and the view X_BF, see kinematics.py.
        frame_poses: the array in which the port `geometry_pose` gives poses, and what writes it; made when first used.
        poses: of bodies that have been used, what copies R_WB and p_WoBo_W; with float64 only.
    """

    __slots__ = (
        "F_applied",
        "F_buffer",
        "J_shape",
        "M_shape",
        "calls",
        "codes",
        "constants",
        "down",
        "dtype",
        "frame_poses",
        "frames",
        "gravity",
        "is_float",
        "is_numeric",
        "kinematics_clearing",
        "loops",
        "motion",
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
        "sample_buffers",
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
        self.sample_buffers: Any = None
        self.step_buffers: Any = None
        self.motion: Any = None
        self.sensitivity: Any = None
        self.frame_poses: tuple[Array | None, Any] = None, None
        self.F_applied = np.zeros((num_mobods, 6), self.dtype)
        self.zeros_v = np.zeros(num_v, self.dtype)
        self.nothing = np.zeros(0, self.dtype)
        self.zeros_F = np.zeros((num_mobods, 6), self.dtype)
        self.F_buffer = np.zeros((num_mobods, 6), self.dtype)
        self.zero_gravity = np.zeros(3, self.dtype)
        self.loops: Any = None
        self.constants: Any = None  # these two are set by the plant
        self.frames: Any = None
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

    def _choose_code(self, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        if self.is_float:
            if kernel not in _float_codes:
                _float_codes[kernel] = bind(kernel, *map(Given, arguments))
            code = self.codes[kernel] = _float_codes[kernel]
            return code
        if self.dtype == np.complex128:
            from merganser.framework.interpreted_first import may_use_compiled

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
