"""Whether a robot is free of collisions at many configurations, in one compiled call.

For each q: the poses X_WB of all bodies, those of geometries, X_WG = X_WB X_BG, the pairs whose boxes overlap, and
of these pairs the first that is nearer than its padding. These are the kernels that answer queries of a plant and its
SceneGraph, at their addresses, on arrays of this object: the Context keeps its positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, bind, kernel, kernel_address
from merganser.framework.native.memory.tape import call_asking_kernel, call_kernel, call_quiet_kernel
from merganser.geometry.proximity.broad_phase import CELLS_A_GEOMETRY, find_candidates
from merganser.geometry.proximity.layout import work_dtype
from merganser.geometry.proximity.narrow_phase import is_any_nearer
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays, layout
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.planning.checking.body_pairs import BodyPairs
from merganser.multibody.planning.checking.edge_checks import Unanswered

Array = NDArray[Any]


class SweptGeometry(NamedTuple):
    """Where the geometries of a plant that may collide are fixed.

    Attributes:
        bodies: by BodyIndex, to which each is fixed, shape [n].
        mobods: the same by their places in the plant's records, shape [n].
        X_BG: shape [n, 4, 4].
    """

    bodies: Array
    mobods: Array
    X_BG: Array


class Codes(NamedTuple):
    """Addresses of kernels; without a compiler the kernels."""

    write_checked: Any
    poses: Any
    geometry_poses: Any
    find_candidates: Any
    is_any_nearer: Any


class Model(NamedTuple):
    """Constant arrays; see the kernels."""

    topology: Any
    parameters: Any
    quaternion_starts: Any
    mobods: Any
    X_BG: Any
    geometries: Any
    hulls: Any
    frames: Any
    filtered: Any
    bodies: Any


class Room(NamedTuple):
    """Output arrays; see the kernels."""

    q: Any
    position: Any
    X_WG: Any
    boxes: Any
    grid: Any
    pairs: Any
    work: Any
    num_pairs: Any


@kernel
def sweep_configurations(
    # Model:
    codes: Any,  # a Codes
    model: Any,  # a Model
    least: Any,  # signed distances of bodies that count as collision, shape [num_bodies, num_bodies] [m]
    margin: float,  # the greatest of these, at least 0 [m]
    # In:
    configurations_in: Any,  # shape [N, num_q]
    stops: bool,  # whether to end with the first that is in collision
    # Work:
    room: Any,  # a Room
    # Out:
    is_free_out: Any,  # bool, shape [N]
) -> int:
    """Returns how many are answered: all up to one that kernels do not take, or that needs more pairs."""
    num_configurations: int = configurations_in.shape[0]
    shapes = model.geometries, model.frames, model.filtered
    for k in range(num_configurations):
        room.num_pairs[0] = 0
        if not call_asking_kernel(codes.write_checked, (model.quaternion_starts, room.q, configurations_in[k])):
            return k
        call_quiet_kernel(codes.poses, (model.topology, model.parameters, room.q, room.position))
        if not call_asking_kernel(codes.geometry_poses, (model.mobods, model.X_BG, room.position, room.X_WG)):
            return k
        search = room.X_WG, margin, room.boxes, room.grid, room.pairs
        room.num_pairs[0] = call_kernel(codes.find_candidates, (*shapes, *search))
        if room.num_pairs[0] > room.pairs.shape[0]:
            return k
        pairs = room.X_WG, room.pairs, room.num_pairs[0], room.work
        is_hit = call_asking_kernel(codes.is_any_nearer, (model.geometries, model.hulls, model.bodies, least, *pairs))
        is_free_out[k] = not is_hit
        if is_hit and stops:
            return k + 1
    return num_configurations


class ConfigurationSweep:
    """Answers for one Context, in one thread at a time.

    Args:
        workspace: of the plant in the Context, of floats; its positions are not written.
        arrays: the geometries that may collide, a ProximityArrays.
        geometry: where they are fixed.
    """

    def __init__(self, workspace: Any, arrays: Any, geometry: SweptGeometry) -> None:
        w, n = workspace, len(geometry.bodies)
        self._configuration = w.q[np.newaxis]
        self._model = Model(
            w.topology, w.parameters, w.quaternion_starts, geometry.mobods, geometry.X_BG,
            arrays.geometries, arrays.hulls, arrays.frames, arrays.filtered, geometry.bodies,
        )  # fmt: skip
        self._room = Room(
            np.zeros_like(w.q), w.make_records(len(w.topology), layout.position_dtype), np.tile(np.eye(4), (n, 1, 1)),
            np.zeros((n, 6)), np.zeros((CELLS_A_GEOMETRY + 2) * n + 2, np.int64),
            np.zeros((4 * n + 16, 2), np.int64), np.zeros(1, work_dtype), np.zeros(1, np.int64),
        )  # fmt: skip
        self._is_free = np.zeros(1, bool)
        self._least: Array | None = None
        self._many: Any = None
        self._here: Any = None

    def is_free_here(self, least: Array, margin: float) -> bool | None:
        """Whether nothing collides at the positions in the Context; None if kernels cannot decide.

        Args:
            least: signed distances of bodies that count as collision, shape [num_bodies, num_bodies] [m].
            margin: the greatest of these, at least 0 [m].
        """
        while True:
            self._bind(least, margin)
            if self._here():
                return bool(self._is_free[0])
            if not self._has_grown():
                return None

    def count_answers(self, configurations: Array, stops: bool, least: Array, margin: float, is_free_out: Array) -> int:
        """Answers for configurations, contiguous, shape [N, nq], up to one that kernels do not take.

        Args:
            configurations: where to look.
            stops: whether to end with the first that is in collision.
            least, margin: as of `is_free_here`.
            is_free_out: gets the answers, bool, shape [N].

        Returns:
            How many there are.
        """
        count = 0
        while True:
            self._bind(least, margin)
            left = configurations[count:], stops, is_free_out[count:]
            count += self._many(*left)
            is_done = count == len(configurations) or (stops and count > 0 and not is_free_out[count - 1])
            if is_done or not self._has_grown():
                return count

    def _has_grown(self) -> bool:
        """Grows the capacity for pairs, if it was too small."""
        count = int(self._room.num_pairs[0])
        if count <= len(self._room.pairs):
            return False
        self._room = self._room._replace(pairs=np.zeros((2 * count, 2), np.int64))
        self._least = None
        return True

    def _bind(self, least: Array, margin: float) -> None:
        """Makes the functions, if the distances or the capacity have changed."""
        if self._least is least:
            return
        model, room = self._model, self._room
        codes = _codes(model, room, least)
        before, rows = (codes, model, least, float(margin)), self._configuration
        self._here = bind(sweep_configurations, *before, rows, False, room, self._is_free)
        self._many = bind(
            sweep_configurations, *before, Given(np.zeros((1, rows.shape[1]))), Given(False), room,
            Given(self._is_free), releases_lock=True,
        )  # fmt: skip
        self._least = least


def _codes(model: Model, room: Room, least: Array) -> Codes:
    geometries, shapes = model.geometries, (model.geometries, model.frames, model.filtered)
    calls = Codes(
        (checked_arrays.write_checked, model.quaternion_starts, room.q, room.q),
        (kernels.poses, model.topology, model.parameters, room.q, room.position),
        (geometry_poses, model.mobods, model.X_BG, room.position, room.X_WG),
        (find_candidates, *shapes, room.X_WG, 0.0, room.boxes, room.grid, room.pairs),
        (is_any_nearer, geometries, model.hulls, model.bodies, least, room.X_WG, room.pairs, 0, room.work),
    )
    return Codes(*(kernel_address(*call) if hasattr(call[0], "code") else call[0] for call in calls))


class Sweeps:
    """The sweeps of one Context: as many as threads use at a time.

    Args:
        workspace: of the plant in the Context, of floats.
        proximity: the ProximityLayout of the Context.
        geometry: where its geometries are fixed.

    Attributes:
        workspace, proximity: as given.
    """

    def __init__(self, workspace: Any, proximity: Any, geometry: SweptGeometry) -> None:
        self.workspace, self.proximity = workspace, proximity
        self._geometry = geometry
        self._waiting: list[ConfigurationSweep] = []

    def take(self) -> ConfigurationSweep:
        """Takes a free sweep, or makes one."""
        try:
            return self._waiting.pop()
        except IndexError:
            return ConfigurationSweep(self.workspace, self.proximity.arrays, self._geometry)

    def give_back(self, sweep: ConfigurationSweep) -> None:
        """Keeps a sweep for reuse."""
        self._waiting.append(sweep)


class SweepProbe:
    """See Probe.

    Args:
        sweeps: of a Context.
        pairs: of its checker.
    """

    def __init__(self, sweeps: Sweeps, pairs: BodyPairs) -> None:
        self._sweeps, self._pairs = sweeps, pairs

    def are_free(self, configurations: Array) -> Array:
        """See Probe."""
        is_free = np.zeros(len(configurations), bool)
        if self._answer(configurations, False, is_free) < len(configurations):
            raise Unanswered
        return is_free

    def count_free(self, configurations: Array) -> int:
        """See Probe."""
        is_free = np.zeros(len(configurations), bool)
        count = self._answer(configurations, True, is_free)
        if count and not is_free[count - 1]:
            return count - 1
        if count < len(configurations):
            raise Unanswered
        return count

    def _answer(self, configurations: Array, stops: bool, is_free_out: Array) -> int:
        sweep = self._sweeps.take()
        count = sweep.count_answers(configurations, stops, *self._pairs.least_distances(), is_free_out)
        self._sweeps.give_back(sweep)
        return count
