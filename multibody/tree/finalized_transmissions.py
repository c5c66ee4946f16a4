"""What records of tendons and muscles leave open until a tree is finalized: trees, resting lengths, springs of limits.

Lengths and moment arms are those of the default configuration.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.laws import muscle
from merganser.multibody.kernels.transmissions import transmission_motion
from merganser.multibody.kernels.transmissions.records import COORDINATE
from merganser.multibody.tree.transmission import Transmission
from merganser.multibody.tree.tree import MultibodyTree

Array = NDArray[Any]

LIMIT_PERIOD = 0.07  # of a joint or tendon on the spring that holds its limit in continuous time [s]
LIMIT_LENGTH = 1e-3  # travel at which the damping of that spring is critical [rad or m]
_FREE = np.pi  # how far joints without limits are moved to find the range of a muscle [rad or m]


def complete_transmissions(tree: MultibodyTree, tree_of_mobod: Array, tree_of_velocity: Array) -> bool:
    """Writes into the records of a tree what was left open: trees, resting lengths, springs of limits, muscles.

    Args:
        tree: finalized; its transmission_records and law_records are changed.
        tree_of_mobod, tree_of_velocity: to which tree of the contact problem they belong, -1 for none.

    Returns:
        Whether any transmission has a spring, armature, limits or friction.

    Raises:
        RuntimeError: a transmission is along more than two trees, or masses are too large to compute with.
    """
    records = tree.transmission_records
    for i, transmission in enumerate(tree.transmissions):
        nodes = tree.transmission_nodes[records["first"][i] : records["end"][i]]
        records["tree_0"][i], records["tree_1"][i] = _trees_of(transmission, nodes, tree_of_mobod, tree_of_velocity)
        if np.isnan(records["rest_lower"][i]):
            q = tree.default_positions()
            for joint, position in transmission._rest_positions.items():
                q[tree.joints.get(joint).position_start()] = position
            rest = float(_Length(tree, i).at(q)[0])
            records["rest_lower"][i] = records["rest_upper"][i] = rest
            transmission._springs = transmission._springs | {"rest_lower": rest, "rest_upper": rest}
    is_bounded = np.isfinite(records["lower"]) | np.isfinite(records["upper"])
    for i in np.flatnonzero(is_bounded).tolist():
        arms = _Length(tree, i).at(tree.default_positions())[1]
        mobility, omega = arms @ _accelerations(tree, arms), 2.0 * np.pi / LIMIT_PERIOD
        records["limit_stiffness"][i] = omega**2 / mobility if mobility > 0.0 else omega**2
        records["limit_dissipation"][i] = 1.0 / (omega * LIMIT_LENGTH)
    _complete_muscles(tree)
    acts = [records[name] > 0.0 for name in ("stiffness", "damping", "friction", "armature")]
    return bool(np.any([*acts, is_bounded]))


def _trees_of(
    transmission: Transmission, nodes: Array, tree_of_mobod: Array, tree_of_velocity: Array
) -> tuple[int, int]:
    """The trees whose velocities may change the length of a transmission; -1 for none."""
    of_bodies = [tree_of_mobod[nodes[name][nodes[name] > 0]] for name in ("mobod", "side_mobod")]
    of_coordinates = tree_of_velocity[nodes["v"][nodes["what"] == COORDINATE]]
    trees = np.unique(np.concatenate([*of_bodies, of_coordinates]))
    found: list[int] = trees[trees >= 0].tolist()
    if len(found) > 2:
        raise RuntimeError(
            f"Finalize(): transmission '{transmission.name()}' is along {len(found)} parts that move by themselves, "
            "but it can be along two. Split it, or weld the parts to one base."
        )
    first, second, *_ = (*found, -1, -1)
    return (first if found or not (tree_of_velocity >= 0).any() else 0), second


def _complete_muscles(tree: MultibodyTree) -> None:
    """Writes lengths and peak forces of muscles that say how to find them, see MuscleCurves."""
    of_laws = [(actuator.name(), law) for actuator in tree.actuators if (law := actuator.law()) is not None]
    for record, (name, law) in zip(tree.law_records, of_laws):
        if law.muscle is None:
            continue
        place, c = int(record["positions"][0]), record["constants"]
        i = place - tree.num_positions()
        if np.isnan(c[muscle.LENGTHS]):
            c[muscle.LENGTHS : muscle.LENGTHS + 2] = found = np.sort(record["gear"] * _range_of(tree, i, place))
            if found[0] == found[1]:
                raise RuntimeError(
                    f"Finalize(): the length of muscle '{name}' is {found[0]:g} m wherever joints of one velocity "
                    "are, so that it has no range. Give its MuscleCurves a length_range."
                )
        if c[muscle.PEAK_FORCE] < 0.0:
            arms = np.zeros(tree.num_velocities())
            if i < 0:
                arms[record["velocities"][0]] = 1.0
            else:
                arms = _Length(tree, i).at(tree.default_positions())[1]
            acceleration = abs(record["gear"]) * np.linalg.norm(_accelerations(tree, arms))
            c[muscle.PEAK_FORCE] = -c[muscle.PEAK_FORCE] / acceleration if acceleration > 0.0 else 0.0


def _range_of(tree: MultibodyTree, i: int, place: int) -> Array:
    """The shortest and the longest length of transmission i, or of a joint, where joints are within their limits."""
    from scipy.optimize import minimize

    lower, upper, q_0 = tree.position_lower_limits(), tree.position_upper_limits(), tree.default_positions()
    lower, upper = np.where(np.isfinite(lower), lower, q_0 - _FREE), np.where(np.isfinite(upper), upper, q_0 + _FREE)
    if i < 0:
        return np.array([lower[place], upper[place]])
    joints = [joint for joint in tree.joints if joint.num_velocities() == 1]
    q_of, v_of = np.array([(j.position_start(), j.velocity_start()) for j in joints], np.int64).reshape(-1, 2).T
    along = _Length(tree, i)
    if not joints:
        return np.full(2, along.at(q_0)[0])

    def signed_length(moved: Array, sign: float) -> tuple[float, Array]:
        q = q_0.copy()
        q[q_of] = moved
        length, arms = along.at(q)
        return sign * length, sign * arms[v_of]

    def least(sign: float) -> float:
        found = [minimize(signed_length, q[q_of], (sign,), jac=True, bounds=bounds).fun for q in starts]
        return float(min(found))

    # From the default configuration and from the middle of the limits, as there may be several extremes.
    bounds, starts = list(zip(lower[q_of], upper[q_of])), (np.clip(q_0, lower, upper), 0.5 * (lower + upper))
    return np.array([least(1.0), -least(-1.0)])


def default_masses(tree: MultibodyTree) -> Array:
    """The mass matrix in the default configuration, shape [num_v, num_v]."""
    num_v, size, parameters = tree.num_velocities(), len(tree.topology), tree.make_default_parameters()
    position, scratch = np.zeros(size, layout.position_dtype()), np.zeros(size, layout.scratch_dtype())
    M = np.zeros((num_v, num_v))
    kernels.position_kinematics.interpreted(tree.topology, parameters, tree.default_positions(), position)
    kernels.mass_matrix.interpreted(tree.topology, parameters, position, scratch, M)
    for i in np.flatnonzero(tree.transmission_records["armature"]).tolist():
        arms = _Length(tree, i).at(tree.default_positions())[1]
        M += tree.transmission_records["armature"][i] * np.outer(arms, arms)
    return M


def _accelerations(tree: MultibodyTree, arms: Array) -> Array:
    """M^-1 J^T in the default configuration."""
    M = default_masses(tree)
    if not (np.isfinite(M).all() and np.isfinite(arms).all()):
        raise RuntimeError(
            "Finalize(): the mass matrix or the moment arms of a tendon are not finite in the default configuration. "
            "Masses or lengths of the model are too large to compute with."
        )
    accelerations: Array = np.linalg.lstsq(M, arms, rcond=None)[0]
    return accelerations


class _Length:
    """The length of transmission i, by the bodies alone that its path is on, and those inboard of them."""

    def __init__(self, tree: MultibodyTree, i: int) -> None:
        self._record, self._num_v = tree.transmission_records[i : i + 1].copy(), tree.num_velocities()
        self._nodes = tree.transmission_nodes[self._record["first"][0] : self._record["end"][0]].copy()
        self._record["first"], self._record["end"], self._record["armature"] = 0, len(self._nodes), 0.0
        needed, parents = {0}, tree.topology["parent"]
        for mobod in {*self._nodes["mobod"].tolist(), *self._nodes["side_mobod"].tolist()} - {-1}:
            while mobod not in needed:
                needed.add(mobod)
                mobod = int(parents[mobod])
        rows = np.array(sorted(needed))
        self._topology, self._parameters = tree.topology[rows].copy(), tree.make_default_parameters()[rows]
        self._topology["parent"] = np.searchsorted(rows, np.maximum(self._topology["parent"], 0))
        for name in ("mobod", "side_mobod"):
            self._nodes[name] = np.where(self._nodes[name] < 0, -1, np.searchsorted(rows, self._nodes[name]))
        self._position = np.zeros(len(rows), layout.position_dtype())
        self._at_rest = np.zeros(len(rows), layout.velocity_dtype()), np.zeros(len(rows), layout.scratch_dtype())

    def at(self, q: Array) -> tuple[float, Array]:
        """The length, and the moment arms, at positions q of the plant."""
        num_q, num_v = len(q), self._num_v
        lengths, rates, arms = np.zeros(num_q + 1), np.zeros(num_v + 2), np.zeros((1, num_v))
        kernels.position_kinematics.interpreted(self._topology, self._parameters, q, self._position)
        given = self._topology, self._record, self._nodes, q, np.zeros(num_v), self._position, *self._at_rest
        transmission_motion.interpreted(*given, lengths, rates, arms)
        return float(lengths[num_q]), arms[0]
