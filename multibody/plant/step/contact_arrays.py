"""What a plant knows of contact once it is finalized, and what follows for its tendons and muscles."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId
from merganser.multibody import kernels
from merganser.multibody.contact import make_trees
from merganser.multibody.contact.contact_kinds import ContactKind, contact_source_dtype, set_contact_kind
from merganser.multibody.contact.plant_layout import PlantTrees, friction_dtype, limit_dtype
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.laws import muscle
from merganser.multibody.kernels.transmissions import transmission_motion
from merganser.multibody.kernels.transmissions.records import BODY, COORDINATE
from merganser.multibody.tree import MultibodyTree, Transmission

Array = NDArray[Any]

LIMIT_PERIOD = 0.07  # of a joint or tendon on the spring that holds its limit in continuous time [s]
LIMIT_LENGTH = 1e-3  # travel at which the damping of that spring is critical [rad or m]
_FREE = np.pi  # how far joints without limits are moved to find the range of a muscle [rad or m]


@dataclass(frozen=True, eq=False)
class ContactOfKind:
    """A contact of two bodies, of a kind that a program brings.

    Attributes:
        kind: what makes its pairs.
        bodies: indices of A and B.
        ids: what contact results call the two sides.
        num_pairs: at how many places they may touch.
        numbers: for the kind.
    """

    kind: ContactKind
    bodies: tuple[int, int]
    ids: tuple[GeometryId, GeometryId]
    num_pairs: int
    numbers: tuple[float, ...]


class ContactModelArrays:
    """What is known once a tree is finalized.

    Attributes:
        trees: of the contact problem, records of tree_dtype; the world and what is welded to it separate them.
        tree_of_mobod, tree_of_velocity: which tree each belongs to, -1 for none.
        plant_trees: all of these, as kernels take them.
        matrix_size: numbers of all blocks of the mass matrix.
        most_velocities: of one tree.
        limits: finite ones of positions whose rates are velocities, and of rotations of balls; records of limit_dtype.
        frictions: velocities of joints that may have dry friction, records of friction_dtype.
        transmissions: records of the tree, with the trees that each moves.
        has_adhesion: whether any of them pulls at what its body touches.
        has_tendons: whether any of them has a spring, limits or friction.
        contacts_of_kinds: those of which a body can move.
        sources, source_numbers: the same as records, see ../../contact/contact_kinds.py.
        source_ids, source_bodies: of their sides A and B, one contact after the other.
        most_pairs_of_kinds: at how many places they may touch.
    """

    def __init__(self, tree: MultibodyTree) -> None:
        topology = tree.topology
        roots = _roots_of_trees(topology)
        sizes: list[int] = []
        self.tree_of_mobod = np.full(len(topology), -1, np.int64)
        self.tree_of_velocity = np.full(tree.num_velocities(), -1, np.int64)
        starts: list[int] = []
        for root in roots:
            members = topology[root : int(topology["subtree_end"][root])]
            size = int(members["num_v"].sum())
            if size:
                start = int(members["v_start"][members["num_v"] > 0].min())
                self.tree_of_mobod[root : int(topology["subtree_end"][root])] = len(sizes)
                self.tree_of_velocity[start : start + size] = len(sizes)
                sizes.append(size)
                starts.append(start)
        self.trees = make_trees(sizes)
        self.trees["v_start"] = starts
        self.plant_trees = PlantTrees(topology, self.trees, self.tree_of_mobod, self.tree_of_velocity)
        self.matrix_size = int((self.trees["num_v"] ** 2).sum())
        self.most_velocities = max(sizes, default=0)
        self.limits = _limits_of(tree)
        rows = [
            (tree.mobod_of_joint[joint.index()], k, joint.velocity_start() + k)
            for joint in tree.joints
            if joint._may_have_friction
            for k in range(joint.num_velocities())
        ]
        self.frictions = np.array(rows, friction_dtype)
        self.transmissions = tree.transmission_records
        self.has_adhesion = bool((tree.transmission_nodes["what"] == BODY).any())
        self.has_tendons = complete_transmissions(tree, self.tree_of_mobod, self.tree_of_velocity)
        self.contacts_of_kinds = [
            contact
            for contact in tree.contacts
            if any(self.tree_of_mobod[tree.mobod_of_body[body]] >= 0 for body in contact.bodies)
        ]
        self.sources, self.source_numbers = _sources_of(tree, self.contacts_of_kinds)
        self.most_pairs_of_kinds = int(self.sources["num_pairs"].sum())
        self.source_ids: list[GeometryId] = [id for contact in self.contacts_of_kinds for id in contact.ids]
        self.source_bodies = np.array([body for contact in self.contacts_of_kinds for body in contact.bodies], np.int64)
        self._tree = tree
        self._limit_springs: tuple[Array, Array] | None = None

    def of_copy(self, tree: MultibodyTree) -> ContactModelArrays:
        """The same for a copy of the tree."""
        copied = copy.copy(self)
        copied._tree = tree
        return copied

    def limit_springs(self) -> tuple[Array, Array]:
        """Stiffness and dissipation of the springs that hold each joint at its limits in continuous time.

        In the default configuration a joint feels one inertia where the others are held and a smaller one where they
        are free. The stiffness gives the geometric mean of both the period above; the damping is critical for the
        smaller one at the length above. So a joint comes to rest on its limit without ringing, and no mode is so fast
        that it costs an integrator most of its steps: arms that fall into their limits take no more than about twice
        those of the same arms without limits.
        """
        if self._limit_springs is None:
            M = default_masses(self._tree)
            try:  # inertia that each velocity feels where all others are free, over that where they are held
                shares = 1.0 / np.maximum(np.linalg.inv(M).diagonal() * M.diagonal(), 1.0)
            except np.linalg.LinAlgError:  # without inertia in some direction, which the dynamics will report
                shares = np.ones(len(M))
            places = list(zip(self.limits["v"].tolist(), self.limits["num_v"].tolist()))  # three of a ball
            held, share = (np.array([values[v : v + n].mean() for v, n in places]) for values in (M.diagonal(), shares))
            omega = 2.0 * np.pi / LIMIT_PERIOD
            self._limit_springs = held * share**0.5 * omega**2, share**0.5 / (omega * LIMIT_LENGTH)
        return self._limit_springs


def _roots_of_trees(topology: Array) -> list[int]:
    """The innermost bodies that can move; what is welded to the world belongs to no tree."""
    is_anchored = np.zeros(len(topology), bool)
    is_anchored[0] = True
    roots: list[int] = []
    for i in range(1, len(topology)):
        if is_anchored[topology["parent"][i]]:
            is_anchored[i] = topology["num_v"][i] == 0
            if not is_anchored[i]:
                roots.append(i)
    return roots


def _limits_of(tree: MultibodyTree) -> Array:
    rows: list[tuple[int, int, int, float, float]] = []
    for joint in tree.joints:
        if np.isfinite(joint._rotation_limit):
            rows.append((joint.position_start(), joint.velocity_start(), 3, -np.inf, joint._rotation_limit))
        if not joint.kind.has_equal_rates():
            continue
        limits = zip(joint.position_lower_limits().tolist(), joint.position_upper_limits().tolist())
        for k, (lower, upper) in enumerate(limits):
            if np.isfinite(lower) or np.isfinite(upper):
                rows.append((joint.position_start() + k, joint.velocity_start() + k, 1, lower, upper))
    return np.array(rows, limit_dtype)


def joints_with_limits_left_out(tree: MultibodyTree) -> list[str]:
    """Names of joints whose limits bound nothing that a velocity moves alone, as roll, pitch and yaw."""
    return [
        joint.name()
        for joint in tree.joints
        if not joint.kind.has_equal_rates()
        and np.isfinite(np.concatenate([joint.position_lower_limits(), joint.position_upper_limits()])).any()
    ]


def _sources_of(tree: MultibodyTree, contacts: list[ContactOfKind]) -> tuple[Array, Array]:
    """Contacts of kinds as records of contact_source_dtype, and all their numbers."""
    sources = np.zeros(len(contacts), contact_source_dtype)
    first_pair = first_number = 0
    for source, contact in zip(sources, contacts):
        set_contact_kind(source, contact.kind)
        source["mobod_A"], source["mobod_B"] = (tree.mobod_of_body[body] for body in contact.bodies)
        source["first_pair"], source["num_pairs"] = first_pair, contact.num_pairs
        source["first_number"], source["num_numbers"] = first_number, len(contact.numbers)
        first_pair, first_number = first_pair + contact.num_pairs, first_number + len(contact.numbers)
    return sources, np.array([number for contact in contacts for number in contact.numbers], float)


# ---------------------------------------------------------------------- tendons and muscles


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
