"""The arrays of one plant in one Context: views into the Context's numbers, and room for the kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.store import CacheSlot, Store
from merganser.framework.native import Given, Result, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays, layout
from merganser.multibody.kernels.mobilizers import quaternion_starts

__all__ = ["GIVEN", "Workspace"]

Array = NDArray[Any]

_NO_QUATERNIONS = np.zeros(0, np.int64)
GIVEN: Any = object()  # see Workspace.prepare()


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
        position, velocity, scratch: records of the kinematics and room for the algorithms.
        tau: generalized forces, shape [num_velocities].
        net_actuation: what the actuators exert, in the order of u, after the dynamics have been computed.
        sensitivity: records for derivatives in closed form, made when they are first used.
        drives: the PD controllers that the discrete step is to solve for (drives.py), None if there are none.
        room_for_drives: the last of these, to be used again.
        contact: room for the contact problem (contact_arrays.py), made when it is first used.
        contact_sample: what touched when the dynamics were last computed; None if nothing did.
        room_for_samples: what the operation of the native plan writes, see native_code.py.
        F_applied: spatial forces on the bodies at Bo in W, in the order of mobods, shape [num_mobods, 6].
        q_shape, v_shape, x_shape, M_shape, J_shape: shapes of vectors of positions, velocities, both, of the mass
            matrix, and of the Jacobian of a spatial velocity.
        point: room for one position.
        total_mass: room for one mass.
        quaternion_starts: where in q quaternions start.
        run_position, run_kinematics, run_velocity: bring kinematics up to date, without arguments.
        run_poses, run_rest: the same for the poses alone, and for the rest of the position kinematics.
        run_mass_matrix, run_jacobian, run_point_jacobian, run_center_of_mass_jacobian, run_bias_accelerations,
            run_point_bias, run_inverse_dynamics, run_state_inverse_dynamics, run_derivatives: call kernels with what
            is missing, see _RUNS, and return new arrays where there is a Result; inverse dynamics without
            gravity.
        write_q, write_v, write_x, write_point: write a vector into q, v, x or `point`, if it is an array of float64 of
            that shape with values that may stand there, and return True; otherwise nothing is written, and what they
            return is false. With other scalar types they never write.
        room_F: workspace of kernels, as F_applied; no value outlives a call.
        zeros_v, zeros_F, zero_gravity: constants for algorithms that leave something out; never written.
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
        has_applied_forces: whether F_applied is not zero.
        codes: compiled kernels, specialized to float64 where that is the scalar type.
        constants: constants of the force elements (kernels/layout.py), a view into the Context.
        frames: poses of the offset frames (kernels/layout.py), a view into the Context.
        loops: arrays of the loop joints (loop_arrays.py), made when they are first used.
        places: of frames that have been used, the mobod of the body B and the view X_BF, see kinematics.py.
        frame_poses: the array in which the port `geometry_pose` gives poses, and what writes it; made when first used.
        poses: of bodies that have been used, what copies R_WB and p_WoBo_W; with float64 only.
    """

    __slots__ = (
        "F_applied", "J_shape", "M_shape", "codes", "constants", "contact", "contact_sample", "down",
        "drives", "dtype", "frame_poses", "frames", "gravity", "has_applied_forces", "held",
        "held_parameters", "is_float", "is_numeric",
        "kinematics_clearing", "loops", "net_actuation", "parameter_bit", "parameters", "places", "point",
        "pose_bit", "pose_clearing", "poses", "position", "position_bit", "position_clearing", "position_slot", "q",
        "q_node", "q_shape", "quaternion_starts", "room_F", "room_for_drives", "room_for_samples",
        "run_bias_accelerations",
        "run_center_of_mass_jacobian", "run_derivatives", "run_inverse_dynamics", "run_jacobian", "run_kinematics",
        "run_mass_matrix", "run_point_bias", "run_point_jacobian", "run_poses", "run_position", "run_rest",
        "run_state_inverse_dynamics", "run_velocity", "scalar", "scratch", "sensitivity", "store", "tau", "topology",
        "total_mass", "v", "v_node", "v_shape", "velocity", "velocity_bit", "velocity_clearing", "velocity_slot",
        "write_point", "write_q", "write_v", "write_x", "x", "x_shape", "zero_gravity", "zeros_F", "zeros_v",
    )  # fmt: skip

    run_position: Callable[[], Any]
    run_poses: Callable[[], Any]
    run_rest: Callable[[], Any]
    run_kinematics: Callable[[], Any]
    run_velocity: Callable[[], Any]
    run_mass_matrix: Callable[[], Array]
    run_inverse_dynamics: Callable[..., Array]
    run_state_inverse_dynamics: Callable[..., Array]
    run_derivatives: Callable[[Array], int]
    run_jacobian: Callable[..., Any]
    run_point_jacobian: Callable[..., Array]
    run_center_of_mass_jacobian: Callable[..., Array]
    run_bias_accelerations: Callable[..., Any]
    run_point_bias: Callable[..., Array]
    write_q: Callable[[Any], bool | None]
    write_v: Callable[[Any], bool | None]
    write_x: Callable[[Any], bool | None]
    write_point: Callable[[Any], bool | None]

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
        self.has_applied_forces = False
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
        self.net_actuation = np.zeros(0, self.dtype)
        self.drives: Any = None
        self.room_for_drives: Any = None
        self.room_for_samples: Any = None
        self.contact: Any = None
        self.contact_sample: Any = None
        self.sensitivity: Any = None
        self.frame_poses: tuple[Array | None, Any] = None, None
        self.F_applied = np.zeros((num_mobods, 6), self.dtype)
        self.zeros_v = np.zeros(num_v, self.dtype)
        self.zeros_F = np.zeros((num_mobods, 6), self.dtype)
        self.room_F = np.zeros((num_mobods, 6), self.dtype)
        self.zero_gravity = np.zeros(3, self.dtype)
        self.loops: Any = None
        # What the dynamics keep, loop joints and constraints: LoopArrays, and the parameters that these were made of.
        self.held: Any = None
        self.held_parameters: tuple[Any, ...] = ()
        self.constants: Any = None  # these two are set by the plant
        self.frames: Any = None
        self.codes: dict[Any, Any] = {}
        self.places: dict[Any, tuple[int, Array]] = {}
        self.poses: dict[Any, Callable[[], tuple[Array, Array]]] = {}
        self.q_shape, self.v_shape, self.x_shape, self.M_shape = (num_q,), (num_v,), x.shape, (num_v, num_v)
        self.J_shape, self.point, self.total_mass = (6, num_v), np.zeros(3), np.zeros(1, self.dtype)
        self.q_node = self.v_node = 0
        self.quaternion_starts: Array = quaternion_starts(topology)

    def __getattr__(self, name: str) -> Any:
        """Makes a function that calls a kernel when it is first asked for: few Contexts need all of them."""
        if name in _ROOMS:
            room, has_quaternions = _ROOMS[name]
            starts = self.quaternion_starts if has_quaternions else _NO_QUATERNIONS
            self._prepare_writing(name, getattr(self, room), starts)
        elif name in _POSITION_PARTS and not self.is_float:
            setattr(self, name, self.run_position)
        elif name in _RUNS:
            self.prepare(name, *_RUNS[name](self))
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self, name)

    def prepare(self, name: str, kernel: Any, *arguments: Any, owner: Any = None) -> None:
        """Makes attribute `name` a function that calls a kernel.

        Args:
            name: of the attribute.
            owner: whose attribute it is; the workspace by default.
            kernel: what it calls.
            arguments: those of the kernel; GIVEN for each that the function takes, all in one row, and a Result in
                place of an array that the function makes and returns, as bind() does.
        """
        owner = self if owner is None else owner
        first = next((i for i, a in enumerate(arguments) if a is GIVEN or isinstance(a, Result)), len(arguments))
        before, after = arguments[:first], [a for a in arguments[first:] if a is not GIVEN]
        if any(a is GIVEN for a in arguments[len(arguments) - len(after) :]):
            raise ValueError(f"{name}: the GIVEN arguments must stand in one row.")
        results = [i for i, a in enumerate(after) if isinstance(a, Result)]
        has_status = kernel.interpreted.__annotations__["return"] != "None"

        def run_first(*given: Any) -> Any:
            left = iter(given)
            run = bind(kernel, *(Given(next(left)) if a is GIVEN else a for a in arguments))
            setattr(owner, name, run)
            return run(*given)

        def run_always(*given: Any) -> Any:
            if not results:
                return self.call(kernel, *before, *given, *after)
            values = after.copy()
            for i in results:
                values[i] = np.empty(after[i].shape, self.dtype)
            status = self.call(kernel, *before, *given, *values)
            if len(results) == 1 and not has_status:
                return values[results[0]]
            made = tuple(values[i] for i in results)
            return (status, *made) if has_status else made

        setattr(owner, name, run_first if self.is_float else run_always)

    def _prepare_writing(self, name: str, room: Array, quaternion_starts: Array) -> None:
        def write_first(given: Any) -> Any:
            write = bind(checked_arrays.write_checked, quaternion_starts, room, Given(room, is_checked=True))
            setattr(self, name, write)
            return write(given)

        setattr(self, name, write_first if self.is_float else _write_nothing)

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
            code = self.codes[kernel] = bind(kernel, *map(Given, arguments))
            return code
        if self.dtype == np.complex128:
            from merganser.multibody.plant.gradient_code import may_use_compiled

            if may_use_compiled(kernel, len(self.topology), *arguments):
                self.codes[kernel] = kernel
                return kernel
        return kernel.interpreted


def _write_nothing(given: Any) -> None:
    """For scalar types whose values Python checks."""


@functools.cache
def _dtype_of_records(dtype_of: Callable[[Any], np.dtype[Any]], scalar: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of records of a scalar type; to make it again takes 20 us."""
    return dtype_of(scalar)


def _model(w: Workspace) -> tuple[Array, Array]:
    return w.topology, w.parameters


_PLACES = (GIVEN, GIVEN, GIVEN, GIVEN, GIVEN, GIVEN)  # of B, the points, A and E
_FORCES = (GIVEN, GIVEN)  # vdot and F_applied
_POSITION_PARTS = ("run_poses", "run_rest")  # which other scalars than floats do together
# The kernels that a workspace calls, with their arguments; see Workspace.prepare.
_RUNS: dict[str, Callable[[Workspace], tuple[Any, ...]]] = {
    "run_position": lambda w: (kernels.position_kinematics, *_model(w), w.q, w.position),
    "run_poses": lambda w: (kernels.poses, *_model(w), w.q, w.position),
    "run_rest": lambda w: (kernels.hinges_and_inertias, *_model(w), w.q, w.position),
    "run_kinematics": lambda w: (kernels.kinematics, *_model(w), w.q, w.v, w.position, w.velocity),
    "run_velocity": lambda w: (kernels.velocity_kinematics, *_model(w), w.position, w.q, w.v, w.velocity),
    "run_mass_matrix": lambda w: (kernels.mass_matrix, *_model(w), w.position, w.scratch, Result(w.M_shape)),
    "run_jacobian": lambda w: (kernels.jacobian, w.topology, w.position, *_PLACES, GIVEN),
    "run_point_jacobian": lambda w: (kernels.jacobian, w.topology, w.position, *_PLACES, Result(w.J_shape)),
    "run_center_of_mass_jacobian": lambda w: (
        kernels.center_of_mass_jacobian, w.topology, w.position, *(GIVEN,) * 4, w.scratch, Result((3, *w.v_shape)),
        w.total_mass,
    ),
    "run_bias_accelerations": lambda w: (
        kernels.point_accelerations, w.topology, w.position, w.velocity, w.zeros_v, *_PLACES, GIVEN, GIVEN,
    ),
    "run_point_bias": lambda w: (  # alpha_AB_E and a_ABp_E
        kernels.point_accelerations, w.topology, w.position, w.velocity, w.zeros_v, *_PLACES, w.room_F, Result((2, 3)),
    ),
    "run_inverse_dynamics": lambda w: (
        kernels.inverse_dynamics, *_model(w), w.zero_gravity, w.position, w.velocity, *_FORCES, w.scratch,
        Result(w.v_shape),
    ),
    "run_state_inverse_dynamics": lambda w: (
        kernels.state_inverse_dynamics, *_model(w), w.zero_gravity, w.q, w.v, *_FORCES, w.position, w.velocity,
        w.scratch, Result(w.v_shape),
    ),
    "run_derivatives": lambda w: (
        kernels.state_derivatives, *_model(w), w.gravity, w.x, w.tau, w.F_applied, w.position, w.velocity, w.scratch,
        GIVEN,
    ),
}  # fmt: skip
# What writes a vector into which array, and whether that has quaternions.
_ROOMS = {"write_q": ("q", True), "write_v": ("v", False), "write_x": ("x", True), "write_point": ("point", False)}
