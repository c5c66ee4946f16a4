"""The data of a plant that all its parts read, what it knows of contact, and pydrake's names of how it models that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem
from merganser.framework.common.enumeration import Enumeration
from merganser.geometry import GeometryId
from merganser.multibody.contact import make_trees
from merganser.multibody.contact.contact_kinds import ContactKind, contact_source_dtype, set_contact_kind
from merganser.multibody.contact.plant_layout import PlantTrees, friction_dtype, limit_dtype
from merganser.multibody.kernels.transmissions.records import BODY
from merganser.multibody.tree import MultibodyTree
from merganser.multibody.tree.finalized_transmissions import (
    LIMIT_LENGTH,
    LIMIT_PERIOD,
    complete_transmissions,
    default_masses,
)

Array = NDArray[Any]


class PlantModel:
    """The elements of a plant, and what follows from them; frozen by Finalize().

    Args:
        system: the plant as a system with ports, state and parameters.
        tree: the elements.
        time_step: period of the discrete update [s]; 0 for a continuous plant.

    Attributes:
        system, tree, time_step: as given.
        quaternions: where in q quaternions start, and of which joint they are.
        pitches: which positions are pitch angles, and of which joint they are; pitch_indices: these positions.
        force_sizes: numbers of bodies and of velocities.
        default_setters: put other state than q and v of a Context at its defaults.
        contact: trees and limits of contact problems, once it is frozen.
    """

    contact: ContactModelArrays
    pitch_indices: NDArray[np.int64]

    def __init__(self, system: LeafSystem, tree: MultibodyTree, time_step: float) -> None:
        self.system, self.tree, self.time_step = system, tree, time_step
        self.quaternions: dict[int, str] = {}
        self.pitches: dict[int, str] = {}
        self.force_sizes = 0, 0
        self.default_setters: list[Callable[[Any], None]] = []

    @property
    def is_discrete(self) -> bool:
        """Whether the state is discrete."""
        return self.time_step > 0.0

    def set_explicit_products(self, use_explicit_velocity_products: bool) -> None:
        """Chooses how discrete steps take the forces of velocity products C(q, v) v: Coriolis, gyroscopic and such.

        By default at the mean u = (v + v+) / 2 of the velocities before and after the step, with all that constrains it
        (kernels/velocity_products.py): second order if v is seen as the velocity half a step before q, and
        little change of energy while bodies turn by less than about 0.1 rad in a step. Explicit ones,
        M (v+ - v) = h (tau - C(q, v) v), are pydrake's, and 1.1 to 1.95 times as fast: they feed energy into bodies
        that tumble, a share of about x^2 a step for bodies that turn by x radians in one. Continuous plants have
        no such choice, and take no notice.

        Raises:
            RuntimeError: the plant is finalized already.
        """
        if self.tree.is_finalized():
            raise RuntimeError(
                f"SetUseExplicitVelocityProducts(): plant '{self.path()}' is finalized already. Call it before "
                "Finalize()."
            )
        self.tree.has_explicit_products = bool(use_explicit_velocity_products)

    def freeze(self, equal: PlantModel | None = None) -> None:
        """Stores the data of the finalized tree, or shares those of an equal plant."""
        tree = self.tree
        self.force_sizes = tree.num_bodies(), tree.num_velocities()
        self.contact = ContactModelArrays(tree) if equal is None else equal.contact
        for joint in tree.joints:
            if joint.kind.quaternion_start is not None:
                self.quaternions[joint.position_start() + joint.kind.quaternion_start] = joint.name()
            if joint.kind.pitch_position is not None:
                self.pitches[joint.position_start() + joint.kind.pitch_position] = joint.name()
        self.pitch_indices = np.array(list(self.pitches), dtype=np.int64)

    def moves(self, mobods: Array) -> Array:
        """Which of some mobods can move, shape as given."""
        is_mobile: Array = self.contact.tree_of_mobod[mobods] >= 0
        return is_mobile

    def path(self) -> str:
        """The path of the plant in its diagram, for messages."""
        return self.system.GetSystemPathname()

    def require_finalized(self, what: str) -> None:
        """Refuses `what` before Finalize() with RuntimeError."""
        if not self.tree.is_finalized():
            raise RuntimeError(
                f"Plant '{self.path()}': {what} needs a finalized plant; call Finalize() once all elements have been "
                "added."
            )


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
        sources, source_numbers: the same as records, see ../contact/contact_kinds.py.
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
        self._limit_springs: tuple[Array, Array] | None = None

    def limit_springs(self, tree: MultibodyTree) -> tuple[Array, Array]:
        """Stiffness and dissipation of the springs that hold each joint of the tree at its limits in continuous time.

        In the default configuration a joint feels one inertia where the others are held and a smaller one where they
        are free. The stiffness gives the geometric mean of both the period above; the damping is critical for the
        smaller one at the length above. So a joint comes to rest on its limit without ringing, and no mode is so fast
        that it costs an integrator most of its steps: arms that fall into their limits take no more than about twice
        those of the same arms without limits.
        """
        if self._limit_springs is None:
            M = default_masses(tree)
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


class ContactModel(Enumeration):
    """Which contacts are surfaces of hydroelastic contact, and which are points."""

    kHydroelastic = 0  # surfaces only; pairs of shapes that allow none are refused
    kPoint = 1  # points only
    kHydroelasticWithFallback = 2  # surfaces where shapes allow them, points elsewhere

    kHydroelasticsOnly = 0
    kPointContactOnly = 1


class DiscreteContactApproximation(Enumeration):
    """How the step of a discrete plant approximates compliance and friction of contacts."""

    kTamsi = 0
    kSap = 1
    kSimilar = 2
    kLagged = 3


class DiscreteContactSolver(Enumeration):
    """The solver of contact forces of a discrete step."""

    kTamsi = 0
    kSap = 1
