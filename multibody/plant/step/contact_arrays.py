"""What a plant knows of contact once it is finalized, and what it tells of the contacts of a step."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId
from merganser.geometry.hydroelastic.layout import COMPLIANT_KINDS
from merganser.geometry.proximity.layout import contact_dtype
from merganser.multibody import kernels
from merganser.multibody.contact import make_trees
from merganser.multibody.contact.contact_pairs import OF_FACE, OF_KIND
from merganser.multibody.contact.hydroelastic_pairs import SPRINGS_OF_TRIANGLES, TRIANGLES
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES, PlantTrees, friction_dtype, limit_dtype
from merganser.multibody.contact.plant_step import calc_forces
from merganser.multibody.contact.step_records import SOLVED, StepResults
from merganser.multibody.kernels import layout
from merganser.multibody.plant.step.contact_sources import acting_contacts, sources_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyTree

if TYPE_CHECKING:
    from merganser.multibody.plant.step.step_buffers import StepBuffers

__all__ = [
    "ContactModelArrays",
    "ContactSample",
    "DeformableSample",
    "SurfaceSample",
    "Touching",
    "contacts_and_forces",
    "joints_with_limits_left_out",
    "sample_of_contacts",
    "sample_of_step",
    "touching_of",
]

Array = NDArray[Any]

_NO_ROWS = np.zeros((0, 6))
_LIMIT_PERIOD = 0.07  # of a joint on the spring that holds its limit in continuous time [s]
_LIMIT_LENGTH = 1e-3  # travel at which the damping of that spring is critical [rad or m]


class Touching(NamedTuple):
    """What touches at one time.

    Attributes:
        candidates: pairs of geometries by number that may touch, shape [num_candidates, 2].
        contacts: points at which they do, records of contact_dtype.
        contact_pairs: what comes of these and of the faces, records of contact_pair_dtype.
        surface_pairs, corners, faces, owners: contact surfaces, see step_records.py.
    """

    candidates: Array
    contacts: Array
    contact_pairs: Array
    surface_pairs: Array
    corners: Array
    faces: Array
    owners: Array


class SurfaceSample(NamedTuple):
    """The contact surfaces of one computation of the dynamics.

    Attributes:
        pairs: rows of geometries M and N that may have a surface, shape [num_pairs, 2].
        corners, faces, owners: of the faces, the row of its pair first in owners, see geometry/hydroelastic/engine.py.
        sources: the face of each contact pair that was made of one.
        forces: of these contact pairs, on the body of M, as those below.
        is_triangle: whether faces are to be told as triangles.
        is_compliant: of each geometry.
    """

    pairs: Array
    corners: Array
    faces: Array
    owners: Array
    sources: Array
    forces: Array
    is_triangle: bool
    is_compliant: Array


class DeformableSample(NamedTuple):
    """The contacts of deformable bodies in a step.

    Attributes:
        geometry_ids: of all geometries by the numbers in
        pairs: A, that of a deformable body, and B of each pair that may touch, shape [num_pairs, 2].
        corners, faces, owners: of the faces of contact surfaces, the row of its pair first in owners, see
            geometry/hydroelastic/engine.py; normals point out of A.
        sources: the face of each contact.
        forces: of each contact, on A, see plant_layout.py.
    """

    geometry_ids: list[GeometryId]
    pairs: Array
    corners: Array
    faces: Array
    owners: Array
    sources: Array
    forces: Array


class ContactSample(NamedTuple):
    """The contacts of one computation of the dynamics; nobody changes it afterwards.

    What a step of AutoDiffXd finds stays in lanes until somebody reads it, see `merged`.

    Attributes:
        geometry_ids: of all geometries, and
        bodies: the indices of their bodies; both by the numbers in
        geometries: A, then B of each contact, whose normal points from B into A; shape [num_contacts, 2].
        contacts: the geometric contact of which each was made, records of contact_dtype; of several the deepest.
        forces: on the body of A in W [N], speeds of approach and of slip [m/s] after a discrete step, and p_WC [m], at
            which the force acts; shape [num_contacts, NUM_FORCE_VALUES].
        tau: generalized forces of all contacts, shape [num_v].
        tau_joints: generalized forces of joint limits and constraints of coordinates, shape [num_v].
        row_forces: of loop joints and constraints between bodies, [t; f] of each row, see kernels/constraints/.
        statistics: of the solver, the numbers of result_dtype; None for a continuous plant.
        surfaces: contact surfaces; None if there are none.
        deformables: contacts of deformable bodies; None if there are none.
        F_Bo_W: all forces on the bodies in lanes; None where the sample of the dynamics has them.
    """

    geometry_ids: list[GeometryId]
    bodies: Array
    geometries: Array
    contacts: Array
    forces: Array
    tau: Array
    tau_joints: Array
    row_forces: Array
    statistics: tuple[Any, ...] | None = None
    surfaces: SurfaceSample | None = None
    deformables: DeformableSample | None = None
    F_Bo_W: Any = None

    def merged(self) -> ContactSample:
        """The same with arrays of AutoDiffXd in place of those in lanes."""
        return self._replace(
            forces=np.asarray(self.forces), tau=np.asarray(self.tau), tau_joints=np.asarray(self.tau_joints),
            row_forces=np.asarray(self.row_forces),
        )  # fmt: skip


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
        self.frictions = _frictions_of(tree)
        self.contacts_of_kinds = acting_contacts(tree, self.tree_of_mobod)
        self.sources, self.source_numbers = sources_of(tree, self.contacts_of_kinds)
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
            tree, num_v = self._tree, self._tree.num_velocities()
            parameters, q = tree.make_default_parameters(), tree.default_positions()
            position = np.zeros(len(tree.topology), layout.position_dtype(np.float64))
            scratch, M = np.zeros(len(tree.topology), layout.scratch_dtype(np.float64)), np.zeros((num_v, num_v))
            kernels.position_kinematics.interpreted(tree.topology, parameters, q, position)
            kernels.mass_matrix.interpreted(tree.topology, parameters, position, scratch, M)
            held, share = (self._of_limits(values) for values in (M.diagonal(), _free_shares(M)))
            omega = 2.0 * np.pi / _LIMIT_PERIOD
            self._limit_springs = held * share**0.5 * omega**2, share**0.5 / (omega * _LIMIT_LENGTH)
        return self._limit_springs

    def _of_limits(self, values: Array) -> Array:
        """Values of velocities for each limit; the mean of a ball's three."""
        places = zip(self.limits["v"].tolist(), self.limits["num_v"].tolist())
        return np.array([values[v : v + num_v].mean() for v, num_v in places])


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


def _frictions_of(tree: MultibodyTree) -> Array:
    rows = [
        (tree.mobod_of_joint[joint.index()], k, joint.velocity_start() + k)
        for joint in tree.joints
        if joint._may_have_friction
        for k in range(joint.num_velocities())
    ]
    return np.array(rows, friction_dtype)


def joints_with_limits_left_out(tree: MultibodyTree) -> list[str]:
    """Names of joints whose limits bound nothing that a velocity moves alone, as roll, pitch and yaw."""
    return [
        joint.name()
        for joint in tree.joints
        if not joint.kind.has_equal_rates()
        and np.isfinite(np.concatenate([joint.position_lower_limits(), joint.position_upper_limits()])).any()
    ]


def touching_of(out: StepResults) -> Touching:
    """What a step has found to touch; views into its arrays."""
    num_candidates, num_contacts, num_pairs, _, _, num_surfaces, num_faces = out.found.tolist()
    return Touching(
        out.candidates[: num_candidates - num_surfaces], out.contacts[:num_contacts], out.contact_pairs[:num_pairs],
        out.surface_pairs[:num_surfaces], out.corners[:num_faces], out.faces[:num_faces], out.owners[:num_faces],
    )  # fmt: skip


def sample_of_contacts(
    buffers: StepBuffers,
    touching: Touching,
    forces: Any,
    tau: Any,
    tau_joints: Any,
    row_forces: Any = _NO_ROWS,
    statistics: Any = None,
) -> ContactSample:
    """What there is to tell about contact pairs whose forces are known."""
    ids, bodies, pairs, surfaces = buffers.geometry_ids(), buffers.bodies, touching.contact_pairs, None
    if len(touching.surface_pairs):
        forces = np.asarray(forces)
        of_faces = slice(*np.searchsorted(pairs["origin"], [OF_FACE, OF_KIND]).tolist())
        surfaces = _sample_of_surfaces(buffers, touching, pairs["source"][of_faces], forces[of_faces])
        pairs, forces = np.delete(pairs, of_faces), np.delete(forces, of_faces, axis=0)
    if len(pairs) and pairs["phi"].max() > 0.0:  # what might have touched, and did not, is not told of
        forces = np.asarray(forces)
        is_told = (pairs["phi"] <= 0.0) | (forces[:, :3] != 0.0).any(axis=1)
        pairs, forces = pairs[is_told], forces[is_told]
    num_points = int(np.searchsorted(pairs["origin"], OF_KIND)) if buffers.has_sources() else len(pairs)
    contacts = touching.contacts.take(pairs["source"][:num_points])  # a quarter of the time of [...]
    geometries = touching.candidates.take(contacts["pair"], axis=0)
    if buffers.has_sources():
        arrays = buffers.contact_arrays()
        own, sides = _contacts_of_kinds(arrays, pairs[num_points:])
        contacts, geometries = np.concatenate([contacts, own]), np.concatenate([geometries, len(ids) + sides])
        ids, bodies = ids + arrays.source_ids, np.concatenate([bodies, arrays.source_bodies])
    return ContactSample(
        ids, bodies, geometries, contacts, forces, tau, tau_joints, row_forces, statistics, surfaces
    )


def _contacts_of_kinds(arrays: ContactModelArrays, pairs: Array) -> tuple[Array, Array]:
    """Pairs of contacts of kinds as contacts of geometries, and the rows of their sides A and B."""
    contacts = np.zeros(len(pairs), contact_dtype)
    contacts["depth"], contacts["share"] = -pairs["phi"], 1.0
    contacts["p_WC"], contacts["nhat_BA_W"] = pairs["p_WC"], pairs["nhat_BA_W"]
    rows = np.searchsorted(arrays.sources["first_pair"], pairs["source"], side="right") - 1
    return contacts, 2 * rows[:, np.newaxis] + np.arange(2)


def _sample_of_surfaces(buffers: StepBuffers, touching: Touching, sources: Array, forces: Array) -> SurfaceSample:
    geometry = buffers.model.contact.geometry
    is_triangle = geometry.points in (SPRINGS_OF_TRIANGLES, TRIANGLES)
    return SurfaceSample(
        touching.surface_pairs.copy(), touching.corners.copy(), touching.faces.copy(), touching.owners.copy(),
        sources.copy(), forces, is_triangle, np.isin(geometry.bodies["kind"], COMPLIANT_KINDS),
    )  # fmt: skip


def sample_of_step(buffers: StepBuffers, w: Workspace, out: StepResults, F_applied: Array) -> ContactSample | None:
    """What there is to tell about the contacts of a step; None if it had no constraints.

    Args:
        buffers: of the step; receives in F_Bo_W all forces on the bodies.
        w: workspace of the Context.
        out: what the step has left.
        F_applied: forces on the bodies but those of contacts and constraints, shape [num_mobods, 6].
    """
    if not out.found[SOLVED]:
        return None
    contact, touching, num_v = buffers.model.contact, touching_of(out), len(w.v)
    tau, tau_joints = np.empty(num_v), np.empty(num_v)
    forces = np.empty((len(touching.contact_pairs), NUM_FORCE_VALUES))
    row_forces = np.empty((len(contact.constraint_rows), 6))
    w.call(
        calc_forces, contact.trees, contact.constraint_rows, buffers.time_step, F_applied, out.position,
        out.v_next, touching.contact_pairs, out.problem, out.impulses, buffers.F_Bo_W, tau, tau_joints, forces,
        row_forces,
    )  # fmt: skip
    sample = sample_of_contacts(buffers, touching, forces, tau, tau_joints, row_forces, out.statistics.item())
    return sample if buffers.soft is None else buffers.soft.add_contacts(sample, w, out)


def contacts_and_forces(
    buffers: StepBuffers, w: Workspace, out: StepResults, F_applied: Array
) -> tuple[ContactSample | None, Array]:
    """What a step has held, None if there was nothing, and all forces on the bodies, shape [num_mobods, 6].

    Args:
        buffers, w, out, F_applied: as of `sample_of_step`.
    """
    sample = sample_of_step(buffers, w, out, F_applied)
    return sample, (F_applied if sample is None else buffers.F_Bo_W).copy()
