"""Whether a robot is free of collisions at many configurations, in one compiled call.

For each q: the poses X_WB of all bodies, those of geometries, X_WG = X_WB X_BG, and of the pairs that may collide the
first that is nearer than its padding. Of most pairs boxes say that they are apart. What cannot move is placed once.

Poses and boxes of several configurations are computed side by side (framework/native/memory/simd.py), as many as a
vector register holds numbers, where many are given; then each configuration by itself looks at the pairs whose boxes
are near. One configuration, and what is left where lanes part, takes the same text, compiled for numbers.

These are the kernels that answer queries of a plant and its SceneGraph, at their addresses, on arrays of this object:
the Context keeps its positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, bind, kernel, kernel_address
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.framework.native.memory.simd import any_of, forget_leave, has_left, in_all_lanes, in_lanes, num_lanes
from merganser.framework.native.memory.tape import call_asking_kernel, call_quiet_kernel
from merganser.geometry.proximity.broad_phase import box_gap, height_above_plane, set_box, turned_box_gap
from merganser.geometry.proximity.layout import HALF_SPACE, work_dtype
from merganser.geometry.proximity.narrow_phase import is_nearer, set_relative_pose
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays, layout
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.planning.checking.body_pairs import BodyPairs
from merganser.multibody.planning.checking.edge_checks import Unanswered

Array = NDArray[Any]
_WORTH_LANES = 64  # configurations


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
    is_nearer: Any


class Model(NamedTuple):
    """Constant arrays: of the plant, and of the geometries that may collide, those that move before all others.

    Attributes:
        topology, parameters: of the plant, see the kernels.
        quaternion_starts: where in q quaternions start.
        mobods: to which each geometry is fixed, shape [n].
        X_BG: shape [n, 4, 4].
        geometries, hulls: see ProximityArrays.
        num_moving: how many geometries move.
        pairs: of geometries that may collide, shape [num_pairs, 2].
        limits: signed distances of these pairs that count as collision, shape [num_pairs] [m].
    """

    topology: Any
    parameters: Any
    quaternion_starts: Any
    mobods: Any
    X_BG: Any
    geometries: Any
    hulls: Any
    num_moving: int
    pairs: Any
    limits: Any


class Room(NamedTuple):
    """Work arrays of lanes, or of numbers.

    Attributes:
        row: a configuration, of numbers, shape [num_q].
        numbers: of the next three, lane by lane, shape [num_q + 13, number of lanes].
        q: configurations.
        X_AB: a relative pose, shape [12].
        gap: of the boxes of a pair, shape [1] [m].
        position: records of the bodies.
        X_WG, boxes: of the geometries, shapes [n, 4, 4] and [n, 6].
        work: of numbers, see the kernels.
    """

    row: Any
    numbers: Any
    q: Any
    X_AB: Any
    gap: Any
    position: Any
    X_WG: Any
    boxes: Any
    work: Any


@kernel
def sweep_configurations(
    # Model:
    codes: Any,  # a Codes
    model: Any,  # a Model
    # In:
    configurations_in: Any,  # shape [N, num_q]
    stops: bool,  # whether to end with the first that is in collision
    # Work:
    room: Any,  # a Room
    # Out:
    is_free_out: Any,  # bool, shape [N]
) -> int:
    """Returns how many are answered: all up to a block that kernels do not take, or in which lanes part."""
    geometries, pairs, numbers = model.geometries, model.pairs, room.numbers
    num_q, width = room.row.shape[0], numbers.shape[1]
    for first in range(0, configurations_in.shape[0], width):
        # Lanes that are left over do what the last one does.
        size = min(width, configurations_in.shape[0] - first)
        for lane in range(width):
            q = configurations_in[first + min(lane, size - 1)]
            if not call_asking_kernel(codes.write_checked, (model.quaternion_starts, room.row, q)):
                return first
            for n in range(num_q):
                numbers[n, lane] = room.row[n]
            if lane < size:
                is_free_out[first + lane] = True

        # X_WG = X_WB X_BG, and boxes
        if width > 1:
            forget_leave()
        count = model.num_moving if first > 0 else geometries.shape[0]
        call_quiet_kernel(codes.poses, (model.topology, model.parameters, room.q, room.position))
        placed = model.mobods[:count], model.X_BG[:count], room.position, room.X_WG[:count]
        if not call_asking_kernel(codes.geometry_poses, placed):
            return first
        for n in range(count):
            set_box(geometries[n], room.X_WG, n, 0.0, room.boxes)
        if width > 1 and has_left():
            return first

        num_wanted, num_free = size, size
        for p in range(pairs.shape[0]):
            i, j, limit = pairs[p, 0], pairs[p, 1], model.limits[p]
            a, b = geometries[i], geometries[j]
            if a.kind == HALF_SPACE and b.kind != HALF_SPACE:
                gap = height_above_plane(room.X_WG, i, room.boxes, j)
            elif b.kind == HALF_SPACE and a.kind != HALF_SPACE:
                gap = height_above_plane(room.X_WG, j, room.boxes, i)
            else:
                gap = box_gap(room.boxes, i, j)
            if not any_of(gap <= limit):
                continue
            set_relative_pose(room.X_WG, i, j, room.X_AB)
            if a.kind != HALF_SPACE and b.kind != HALF_SPACE:
                gap = max(gap, turned_box_gap(a, b, room.X_AB))
            room.gap[0] = gap
            for lane in range(num_wanted):
                if is_free_out[first + lane] and numbers[num_q + 12, lane] <= limit:
                    for n in range(12):
                        room.work[0].X_AB[n] = numbers[num_q + n, lane]
                    if call_asking_kernel(codes.is_nearer, (geometries, model.hulls, i, j, limit, room.work)):
                        is_free_out[first + lane] = False
                        num_free -= 1
                        if stops:  # what is behind it does not matter any longer
                            num_wanted = num_free = lane
                            break
            if num_free == 0:
                break
        if num_wanted < size:
            return first + num_wanted + 1
    num_configurations: int = configurations_in.shape[0]
    return num_configurations


class ConfigurationSweep:
    """Answers for one Context, in one thread at a time.

    Args:
        workspace: of the plant in the Context, of floats; its positions are not written.
        arrays: the geometries that may collide, a ProximityArrays.
        geometry: where they are fixed.
    """

    def __init__(self, workspace: Any, arrays: Any, geometry: SweptGeometry) -> None:
        self._w, self._arrays, self._geometry = workspace, arrays, geometry
        self._configuration, self._is_free = workspace.q[np.newaxis], np.zeros(1, bool)
        self._work = np.zeros(1, work_dtype)
        self._least: Array | None = None
        self._alone: Any = None
        self._here: Any = None
        self._together: Any = None
        self._parameters: Any = None  # of the function for lanes

    def is_free_here(self, least: Array) -> bool | None:
        """Whether nothing collides at the positions in the Context; None if kernels cannot decide.

        Args:
            least: signed distances of bodies that count as collision, shape [num_bodies, num_bodies] [m].
        """
        self._bind(least)
        return bool(self._is_free[0]) if self._here() else None

    def count_answers(self, configurations: Array, stops: bool, least: Array, is_free_out: Array) -> int:
        """Answers for configurations, contiguous, shape [N, nq], up to one that kernels do not take.

        Args:
            configurations: where to look.
            stops: whether to end with the first that is in collision.
            least: as of `is_free_here`.
            is_free_out: gets the answers, bool, shape [N].

        Returns:
            How many there are.
        """
        self._bind(least)
        count, size = 0, len(configurations)
        together = self._bound_in_lanes() if size >= _WORTH_LANES else None
        while True:
            if together is not None:
                count += together(configurations[count:], stops, is_free_out[count:])
            end = size if together is None else min(count + num_lanes(), size)
            if count == size or (stops and count and not is_free_out[count - 1]):
                return count
            count += self._alone(configurations[count:end], stops, is_free_out[count:end])
            if count < end:
                return count

    def _bind(self, least: Array) -> None:
        """Makes the functions, if the distances have changed."""
        if self._least is least:
            return
        w, arrays, (bodies, mobods, X_BG) = self._w, self._arrays, self._geometry
        pairs = arrays.all_pairs
        limits = least[bodies[pairs[:, 0]], bodies[pairs[:, 1]]]
        pairs, limits = pairs[limits > -np.inf], limits[limits > -np.inf]
        moves = np.zeros(len(w.topology), bool)
        for mobod in range(1, len(moves)):
            moves[mobod] = w.topology["num_v"][mobod] > 0 or moves[w.topology["parent"][mobod]]
        chosen, pairs = np.unique(pairs, return_inverse=True)
        order = np.argsort(~moves[mobods[chosen]], kind="stable")
        chosen, pairs = chosen[order], np.argsort(order)[pairs].reshape(-1, 2)
        self._model = Model(
            w.topology, w.parameters, w.quaternion_starts, mobods[chosen], X_BG[chosen], arrays.geometries[chosen],
            arrays.hulls, int(moves[mobods[chosen]].sum()), np.ascontiguousarray(pairs), limits,
        )  # fmt: skip
        room = self._make_room(1)
        before, rows = (_codes(self._model, room), self._model), self._configuration
        self._here = bind(sweep_configurations, *before, rows, False, room, self._is_free)
        self._alone, self._together = _bound_for_many(*before, room), None
        self._least = least

    def _bound_in_lanes(self) -> Any:
        """The function for configurations side by side; None as long as it is not compiled, or without lanes."""
        if self._together is None and num_lanes() and not self._w.topology["code"].any():
            self._parameters = in_all_lanes(self._w.parameters)
            model, room = self._model._replace(parameters=self._parameters), self._make_room(num_lanes())
            sweep = sweep_configurations, Codes(0, 0, 0, 0), model, self._configuration, False, room, self._is_free
            calls = *_calls(model, room), sweep
            are_compiled = [hasattr(call[0], "code") and may_use_compiled(call[0], 1, *call[1:]) for call in calls]
            if all(are_compiled):
                self._together = _bound_for_many(_codes(model, room), model, room)
        if self._together is not None:  # they may have changed
            self._parameters.view(float).reshape(-1, num_lanes())[:] = self._w.parameters.view(float)[:, np.newaxis]
        return self._together

    def _make_room(self, width: int) -> Room:
        num_q, n = len(self._w.q), len(self._model.mobods)
        number = np.dtype(float) if width == 1 else in_lanes(np.dtype(float))
        numbers = np.zeros((num_q + 13, width))
        q, X_AB, gap = np.split(numbers.reshape(-1).view(number).reshape(-1), [num_q, num_q + 12])
        position = np.zeros(len(self._w.topology), layout.position_dtype(number))
        return Room(
            np.zeros(num_q), numbers, q, X_AB, gap, position, np.zeros((n, 4, 4), number), np.zeros((n, 6), number),
            self._work,
        )  # fmt: skip


def _bound_for_many(codes: Codes, model: Model, room: Room) -> Any:
    given = Given(np.zeros((1, len(room.row)))), Given(False), room, Given(np.zeros(1, bool))
    return bind(sweep_configurations, codes, model, *given, releases_lock=True)


def _calls(model: Model, room: Room) -> Codes:
    """The kernels, each with what it is called with."""
    return Codes(
        (checked_arrays.write_checked, model.quaternion_starts, room.row, room.row),
        (kernels.poses, model.topology, model.parameters, room.q, room.position),
        (geometry_poses, model.mobods, model.X_BG, room.position, room.X_WG),
        (is_nearer, model.geometries, model.hulls, 0, 0, 0.0, room.work),
    )


def _codes(model: Model, room: Room) -> Codes:
    return Codes(*(kernel_address(*call) if hasattr(call[0], "code") else call[0] for call in _calls(model, room)))


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
        count = sweep.count_answers(configurations, stops, self._pairs.least_distances(), is_free_out)
        self._sweeps.give_back(sweep)
        return count
