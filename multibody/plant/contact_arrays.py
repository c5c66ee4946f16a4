"""What a plant hands to the contact solver: arrays of the model, and room for one step in a Context."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId
from merganser.geometry.proximity.layout import contact_dtype
from merganser.multibody import kernels
from merganser.multibody.contact import integer_workspace_size, make_trees, workspace_size
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, material_dtype
from merganser.multibody.contact.layout import constraint_dtype, result_dtype, row_dtype
from merganser.multibody.contact.plant_layout import (
    NUM_FORCE_VALUES,
    ConstraintSources,
    PlantTrees,
    ProblemArrays,
    drive_dtype,
    limit_dtype,
    link_dtype,
)
from merganser.multibody.contact.plant_step import end_step
from merganser.multibody.kernels import layout
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyTree

__all__ = [
    "NOTHING_TOUCHES",
    "ContactModelArrays",
    "ContactRoom",
    "ContactSample",
    "Touching",
    "conclude_step",
    "end_step_arguments",
    "joints_with_limits_left_out",
    "sample_of_contacts",
]

Array = NDArray[Any]

_LIMIT_PERIOD = 0.07  # of a joint on the spring that holds its limit in continuous time [s]
_LIMIT_LENGTH = 1e-3  # travel at which the damping of that spring is critical [rad or m]
_SMALL_ISLAND = 32  # up to so many trees, the workspace is enough for any pattern


class Touching(NamedTuple):
    """What touches at one time.

    Attributes:
        candidates: pairs of geometries by number that may touch, shape [num_candidates, 2].
        contacts: points at which they do, records of contact_dtype.
        contact_pairs: what comes of these, records of contact_pair_dtype.
    """

    candidates: Array
    contacts: Array
    contact_pairs: Array


NOTHING_TOUCHES = Touching(np.zeros((0, 2), np.int64), np.zeros(0, contact_dtype), np.zeros(0, contact_pair_dtype))


class ContactSample(NamedTuple):
    """The contacts of one computation of the dynamics; nobody changes it afterwards.

    Attributes:
        geometry_ids: of all geometries, and
        bodies: the indices of their bodies; both by the numbers in
        geometries: A, then B of each contact, whose normal points from B into A; shape [num_contacts, 2].
        contacts: the geometric contact of which each was made, records of contact_dtype; of several the deepest.
        forces: on the body of A in W [N], speeds of approach and of slip [m/s] after a discrete step, and p_WC [m], at
            which the force acts; shape [num_contacts, NUM_FORCE_VALUES].
        tau: generalized forces of all contacts, shape [num_v].
        tau_joints: generalized forces of joint limits and couplers, shape [num_v].
        statistics: of the solver, the numbers of result_dtype; None for a continuous plant.
    """

    geometry_ids: list[GeometryId]
    bodies: Array
    geometries: Array
    contacts: Array
    forces: Array
    tau: Array
    tau_joints: Array
    statistics: tuple[Any, ...] | None = None


class ContactModelArrays:
    """What is known once a tree is finalized.

    Attributes:
        trees: of the contact problem, records of tree_dtype; the world and what is welded to it separate them.
        tree_of_mobod, tree_of_velocity: which tree each belongs to, -1 for none.
        plant_trees: all of these, as kernels take them.
        matrix_size: numbers of all blocks of the mass matrix.
        most_velocities: of one tree.
        limits: positions with a finite limit whose rates are velocities, records of limit_dtype.
        limit_list: the same as tuples.
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
        self.limit_list: list[tuple[int, int, float, float]] = self.limits.tolist()
        self._tree = tree
        self._limit_springs: tuple[Array, Array] | None = None

    def limit_springs(self) -> tuple[Array, Array]:
        """Stiffness and dissipation of the springs that hold each joint at its limits in continuous time.

        In the default configuration a joint feels one inertia where the others are held and a smaller one where they
        are free. The stiffness gives the geometric mean of both the period above; the damping is critical for the
        smaller one at the length above. So a joint comes to rest on its limit without ringing, and no mode is so fast
        that it costs an integrator most of its steps: arms that fall into their limits take no more than about twice
        those of the same arms without limits.
        """
        if self._limit_springs is None:
            tree, num_v = self._tree, self._tree.num_velocities()
            parameters, q = tree.make_default_parameters(), tree.default_positions()
            position = np.zeros(len(tree.topology), layout.position_dtype(np.float64))
            scratch, M = np.zeros(len(tree.topology), layout.scratch_dtype(np.float64)), np.zeros((num_v, num_v))
            kernels.position_kinematics.interpreted(tree.topology, parameters, q, position)
            kernels.mass_matrix.interpreted(tree.topology, parameters, position, scratch, M)
            held, omega = M.diagonal()[self.limits["v"]], 2.0 * np.pi / _LIMIT_PERIOD
            share = _free_shares(M)[self.limits["v"]]
            self._limit_springs = held * share**0.5 * omega**2, share**0.5 / (omega * _LIMIT_LENGTH)
        return self._limit_springs


def _free_shares(M: Array) -> Array:
    """Inertia that each velocity feels where all others are free, 1 / (M^-1)_ii, over M_ii, where they are held."""
    try:
        products = np.linalg.inv(M).diagonal() * M.diagonal()
    except np.linalg.LinAlgError:  # without inertia in some direction, of which the dynamics will tell
        return np.ones(len(M))
    return 1.0 / np.maximum(products, 1.0)


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
    rows: list[tuple[int, int, float, float]] = []
    for joint in tree.joints:
        if not joint.kind.has_equal_rates():
            continue
        limits = zip(joint.position_lower_limits().tolist(), joint.position_upper_limits().tolist())
        for k, (lower, upper) in enumerate(limits):
            if np.isfinite(lower) or np.isfinite(upper):
                rows.append((joint.position_start() + k, joint.velocity_start() + k, lower, upper))
    return np.array(rows, limit_dtype)


def joints_with_limits_left_out(tree: MultibodyTree) -> list[str]:
    """Names of joints whose limits bound nothing that a velocity moves alone, as roll, pitch and yaw."""
    return [
        joint.name()
        for joint in tree.joints
        if not joint.kind.has_equal_rates()
        and np.isfinite(np.concatenate([joint.position_lower_limits(), joint.position_upper_limits()])).any()
    ]


class ContactRoom:
    """Arrays of one step in one Context, which grow as needed.

    Attributes:
        materials: of the geometries, records of material_dtype, for the layout below.
        layout, penetration_allowance: the ProximityLayout and the allowance [m] that they are made for.
        has_own_geometry: whether all geometries are fixed to bodies of the plant, at X_BG to materials_mobods.
        is_foreign: which of them others than the plant move, shape [num_geometries]; has_foreign_geometry: any.
        links: records of link_dtype; kinds of those that are switched off are NO_LINK.
        drives: PD controllers, records of drive_dtype.
        controllers: whose these are; None at first.
        matrix, is_locked, v_next: see contact/layout.py.
        constraints, rows, jacobian, counts: see contact/plant_layout.py.
        contact_pairs: room for records of contact_pair_dtype.
        statistics: of the solver's last call, a record of result_dtype.
        run_limits: adds the forces of joint limits in continuous time to its argument; made when it is first used.
        is_beyond_limits: whether there were any, which are in tau_joints then.
    """

    def __init__(self, model: ContactModelArrays, num_mobods: int, num_v: int) -> None:
        self.model = model
        self.materials = np.zeros(0, material_dtype)
        self.bodies: Array = np.zeros(0, np.int64)
        self.layout: Any = None
        self.penetration_allowance = 0.0
        self.materials_mobods: Array = np.zeros(0, np.int64)
        self.X_BG, self.X_WG = np.zeros((0, 4, 4)), np.zeros((0, 4, 4))
        self.has_own_geometry = self.has_foreign_geometry = False
        self.is_foreign = np.zeros(0, bool)
        self.links = np.zeros(0, link_dtype)
        self.link_source: Any = None
        self.drives = np.zeros(0, drive_dtype)
        self.controllers: Any = None
        self.matrix = np.zeros(model.matrix_size)
        self.is_locked = np.zeros(num_v, np.int64)
        self.v_next = np.zeros(num_v)
        self.tau, self.tau_joints = np.zeros(num_v), np.zeros(num_v)
        self.F_Bo_W = np.zeros((num_mobods, 6))
        self.counts = np.zeros(5, np.int64)
        self.constraints, self.rows = np.zeros(0, constraint_dtype), np.zeros(0, row_dtype)
        self.jacobian, self.impulses = np.zeros(0), np.zeros(0)
        self.contact_pairs = np.zeros(0, contact_pair_dtype)
        self.statistics: Any = np.zeros(1, result_dtype)[0]
        num_trees = len(model.trees)
        n = min(num_trees, _SMALL_ISLAND)
        self.pairs = n * (n - 1) // 2 + 4 * num_trees
        self.factor = min(num_v**2, 64 * num_v + 4096)
        self.work, self.integer_work = np.zeros(0), np.zeros(0, np.int64)
        self._sizes = (-1, -1, -1)  # of the problem for which the two above have been made
        self.run_limits: Any = None
        self.is_beyond_limits = False

    def twin(self) -> ContactRoom:
        """Another one that has arrays of its own for what the sample of a step is made of, and shares all others."""
        other = copy.copy(self)
        other.v_next, other.counts = np.zeros_like(self.v_next), np.zeros_like(self.counts)
        other.constraints, other.jacobian = np.zeros_like(self.constraints), np.zeros_like(self.jacobian)
        other.impulses, other.contact_pairs = np.zeros_like(self.impulses), np.zeros_like(self.contact_pairs)
        other.statistics = np.zeros(1, result_dtype)[0]
        return other

    def sources(self, contact_pairs: Array, links: Array, drives: Array) -> ConstraintSources:
        """Of what the constraints of a step are made."""
        return ConstraintSources(contact_pairs, self.model.limits, links, drives)

    def problem(self) -> ProblemArrays:
        """The arrays in which the problem is written."""
        return ProblemArrays(self.constraints, self.rows, self.jacobian, self.counts)

    def geometry_ids(self) -> list[GeometryId]:
        """The geometries that may touch."""
        ids: list[GeometryId] = [] if self.layout is None else self.layout.geometry_ids
        return ids

    def reserve(self, num_contacts: int, num_others: int, num_other_rows: int) -> None:
        """Makes room for contacts and for other constraints."""
        num_constraints, num_rows = num_contacts + num_others, 3 * num_contacts + num_other_rows
        if num_constraints > len(self.constraints):
            self.constraints = np.zeros(2 * num_constraints, constraint_dtype)
        if num_rows > len(self.rows):
            self.rows, self.impulses = np.zeros(2 * num_rows, row_dtype), np.zeros(2 * num_rows)
            self.jacobian = np.zeros(4 * num_rows * self.model.most_velocities)

    def reserve_contact_pairs(self, count: int) -> None:
        """Makes room for contact pairs."""
        if count > len(self.contact_pairs):
            self.contact_pairs = np.zeros(2 * count, contact_pair_dtype)

    def reserve_work(self, num_constraints: int, num_rows: int, jacobian_size: int) -> None:
        """Makes room for the solver."""
        sizes = num_constraints, num_rows, jacobian_size
        if all(new <= old for new, old in zip(sizes, self._sizes)):
            return
        num_trees = len(self.model.trees)
        numbers = workspace_size(len(self.v_next), num_rows, len(self.matrix), jacobian_size, self.factor)
        if numbers > len(self.work):
            self.work = np.zeros(numbers + numbers // 2)
        integers = integer_workspace_size(num_trees, num_constraints, self.pairs)
        if integers > len(self.integer_work):
            self.integer_work = np.zeros(integers + integers // 2, np.int64)
        self._sizes = sizes

    def grow(self, statistics: Any) -> None:
        """Takes over what the solver has said it needs, in a record of result_dtype."""
        self.pairs = max(self.pairs, int(statistics["blocks_needed"]))
        self.factor = max(self.factor, int(statistics["factor_needed"]))
        self._sizes = (-1, -1, -1)


def sample_of_contacts(
    room: ContactRoom, touching: Touching, forces: Array, tau: Array, tau_joints: Array, statistics: Any = None
) -> ContactSample:
    """What there is to tell about contact pairs whose forces are known."""
    contacts = touching.contacts.take(touching.contact_pairs["source"])  # a quarter of the time of [...]
    geometries = touching.candidates.take(contacts["pair"], axis=0)
    return ContactSample(room.geometry_ids(), room.bodies, geometries, contacts, forces, tau, tau_joints, statistics)


def conclude_step(
    room: ContactRoom, w: Workspace, time_step: float, q: Array, F_applied: Array, position: Array, touching: Touching,
    x_next: Array,
) -> ContactSample:  # fmt: skip
    """Writes the next state, from what start_step and the solver have left in `room`.

    Args:
        room: of the step; receives in F_Bo_W all forces on the bodies.
        w: workspace of the Context.
        time_step: h [s].
        q: positions before the step.
        F_applied: forces on the bodies but those of contacts and links, shape [num_mobods, 6].
        position: kinematics at q.
        touching: of which the contact pairs are those that start_step has got.
        x_next: the next state.

    Returns:
        What there is to tell about the contacts.
    """
    num_v, num_pairs = len(w.v), len(touching.contact_pairs)
    tau, tau_joints, forces = np.empty(num_v), np.empty(num_v), np.empty((num_pairs, NUM_FORCE_VALUES))
    given = q, F_applied, position, touching.contact_pairs
    results = x_next, room.F_Bo_W, tau, tau_joints, forces
    w.call(end_step, *end_step_arguments(room, time_step, given, results))
    return sample_of_contacts(room, touching, forces, tau, tau_joints, room.statistics.item())


def end_step_arguments(
    room: ContactRoom, time_step: float, given: tuple[Array, ...], results: tuple[Array, ...]
) -> tuple[Any, ...]:
    """Those of the kernel end_step.

    Args:
        room, time_step: as of `conclude_step`.
        given: q, F_applied, position and the contact pairs.
        results: the last arguments of the kernel.
    """
    q, F_applied, position, contact_pairs = given
    return (
        room.model.plant_trees, room.links, time_step, q, room.v_next, F_applied, position, contact_pairs,
        room.problem(), room.impulses, *results,
    )  # fmt: skip
