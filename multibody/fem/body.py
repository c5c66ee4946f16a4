"""A deformable body by itself: its mesh and material as arrays, and its free motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes import VolumeMesh
from merganser.geometry.meshes.volume_mesh import first_flaw, tetrahedron_volumes
from merganser.multibody.fem.assembly import elastic_energy, elastic_forces
from merganser.multibody.fem.config import DeformableBodyConfig, MaterialModel, lame_parameters
from merganser.multibody.fem.layout import (
    NOT_CONVERGED,
    NOT_FINITE,
    SINGULAR_MATRIX,
    BodyArrays,
    Elements,
    StepWork,
    element_dtype,
    material_dtype,
    patch_work_dtype,
    point_dtype,
    report_dtype,
)
from merganser.multibody.fem.materials import table
from merganser.multibody.fem.newton import free_motion
from merganser.multibody.fem.patches import make_patches
from merganser.multibody.fem.pattern import make_pattern

Array = NDArray[Any]


class FemBody:
    """A deformable body: a mesh of tetrahedra at rest, a material, and nodes that are held.

    Positions, velocities and forces are in W, three numbers for each node in the order of the mesh's vertices.

    Args:
        mesh: at rest, its vertices in W.
        config: its material.
        is_held: of each node, whether it stays where it is, shape [num_nodes]; none by default.
        name: what messages call the body.

    Raises:
        RuntimeError: a tetrahedron is flat or inside out, a vertex belongs to none, or the material is not stable at
            rest.
    """

    def __init__(
        self,
        mesh: VolumeMesh,
        config: DeformableBodyConfig,
        is_held: NDArray[np.bool_] | None = None,
        name: str = "deformable body",
    ) -> None:
        self.name, self.mesh, self.config = name, mesh, config
        self.num_nodes = mesh.num_vertices()
        held = np.zeros(self.num_nodes, np.bool_) if is_held is None else np.asarray(is_held, np.bool_)
        self.is_held: NDArray[np.bool_] = held
        material = _make_material(config, config.averages_volume(), name)
        elements = _make_elements(mesh, name)
        patches = make_patches(elements, mesh.vertex_array(), config.averages_volume())
        of_unknowns = make_pattern(elements, patches, np.asarray(mesh.vertex_array(), np.float64), held)
        self.arrays = BodyArrays(elements, material, *of_unknowns, patches)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In another process, functions of a program's own material have other addresses."""
        vars(self).update(state)
        material = _make_material(self.config, bool(self.arrays.material["is_averaged"]), self.name)
        self.arrays = self.arrays._replace(material=material)

    def make_work(self) -> StepWork:
        """Room for steps, of which each thread needs its own."""
        pattern, n = self.arrays.pattern, 3 * self.num_nodes
        size = int(pattern.panel_start[len(self.arrays.trees)])
        direction = np.zeros(self.num_unknowns())
        return StepWork(
            np.zeros(self.mesh.num_elements(), point_dtype(np.float64)),
            np.zeros(len(self.arrays.patches), patch_work_dtype), np.zeros((9, 9)), np.zeros(size), np.zeros(n),
            direction, np.zeros(n), np.zeros(n), np.zeros(1, report_dtype)[0],
        )  # fmt: skip

    def num_unknowns(self) -> int:
        """How many unknowns there are, those of missing nodes included, see pattern.py."""
        return int(self.arrays.trees["num_v"].sum())

    def node_masses(self) -> Array:
        """What each node has of the mass [kg], shape [num_nodes]."""
        masses = np.zeros(self.num_nodes)
        share = self.arrays.material["density"] * self.arrays.elements["volume"] / 4.0
        np.add.at(masses, self.arrays.elements["nodes"], share[:, np.newaxis])
        return masses

    def element_masses(self) -> Array:
        """The masses of the tetrahedra [kg], shape [num_elements]."""
        return np.asarray(self.arrays.material["density"] * self.arrays.elements["volume"])

    def step(
        self,
        time_step: float,
        q: ArrayLike,
        v: ArrayLike,
        force: ArrayLike,
        work: StepWork | None = None,
        time: float = 0.0,
        held: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Returns positions and velocities after a step, see newton.py.

        Args:
            time_step: h [s].
            q, v: before the step [m], [m/s], shape [3 num_nodes].
            force: from outside [N], shape [3 num_nodes].
            work: room; by default it is made.
            time: before the step, for messages [s].
            held: where held nodes are put [m], shape [3 num_nodes], of which nothing else is read; by default where
                q has them.

        Raises:
            RuntimeError: there is no solution to be found.
        """
        q_in, v_in, f = (np.array(a, np.float64).reshape(3 * self.num_nodes) for a in (q, v, force))
        moves = np.repeat(~self.is_held, 3)
        v_in[~moves] = 0.0
        q_held = q_in if held is None else np.where(moves, q_in, np.asarray(held, np.float64).reshape(-1))
        room = self.make_work() if work is None else work
        q_out, v_out = np.empty_like(q_in), np.empty_like(v_in)
        status = free_motion(time_step, self.arrays, q_in, q_held, v_in, f, room, q_out, v_out, room.report)
        if status != 0:
            self.raise_failure(int(status), time, time_step, room)
        return q_out, v_out

    def elastic_energy(self, q: ArrayLike) -> float:
        """The energy of deformation [J]; of linear corotated materials as seen from rotations at q."""
        work, energy = self.make_work(), np.zeros(2)
        q_in = np.array(q, np.float64).reshape(3 * self.num_nodes)
        elastic_forces(self.arrays, q_in, work, np.empty(3 * self.num_nodes))  # for the rotations
        elastic_energy(self.arrays, q_in, work, energy)
        return float(energy[0])

    def elastic_forces(self, q: ArrayLike) -> Array:
        """The forces of deformation on nodes [N], shape [3 num_nodes]."""
        forces = np.empty(3 * self.num_nodes)
        elastic_forces(self.arrays, np.array(q, np.float64).reshape(3 * self.num_nodes), self.make_work(), forces)
        return forces

    def deformed_points(self, q: ArrayLike) -> Array:
        """Strain and stress of the tetrahedra: records of point_dtype, shape [num_elements]."""
        work, forces = self.make_work(), np.empty(3 * self.num_nodes)
        elastic_forces(self.arrays, np.array(q, np.float64).reshape(3 * self.num_nodes), work, forces)
        return work.points

    def raise_failure(self, status: int, time: float, time_step: float, work: StepWork) -> None:
        """Raises an error that says why a step has no solution.

        Args:
            status: of layout.py.
            time: before the step [s].
            time_step: its length [s].
            work: as the step has left it.
        """
        F = work.points["F"]
        with np.errstate(all="ignore"):
            growth = np.nan_to_num(np.linalg.det(F), nan=-np.inf)
        worst = int(growth.argmin())
        where = f"Deformable body '{self.name}' at time {time:g} s, step {time_step:g} s"
        element = f"tetrahedron {worst}, of the vertices {self.arrays.elements['nodes'][worst].tolist()},"
        if status == NOT_CONVERGED:
            raise RuntimeError(
                f"{where}: Newton's method does not converge: forces of {work.report['residual']:.3g} N are left, "
                f"where {work.report['tolerance']:.3g} N were to be reached. Most deformed is {element} whose volume "
                f"is {growth[worst]:.3g} times that at rest. Take a smaller time step, a finer mesh or more "
                "stiffness_damping."
            )
        if status == SINGULAR_MATRIX:
            raise RuntimeError(
                f"{where}: its motion is not determined: the mass of an element is in its center, so that a body of a "
                "few tetrahedra may turn about these without any. Give it a finer mesh, or hold more of its vertices. "
                f"Most deformed is {element} whose volume is {growth[worst]:.3g} times that at rest."
            )
        assert status == NOT_FINITE
        raise RuntimeError(
            f"{where}: forces are not finite; first look at {element} at positions, velocities and external forces "
            "before the step, and at the stiffness of the material."
        )


def _make_elements(mesh: VolumeMesh, name: str) -> Elements:
    """Records of tetrahedra at rest."""
    corners, p = mesh.tetrahedron_array(), np.asarray(mesh.vertex_array(), np.float64)
    if not np.isfinite(p).all():
        v = int(np.flatnonzero(~np.isfinite(p).all(axis=1))[0])
        raise RuntimeError(f"Deformable body '{name}': vertex {v} of its mesh is at {p[v]}, which is not finite.")
    flaw = first_flaw(mesh)
    if flaw:
        raise RuntimeError(f"Deformable body '{name}': of its mesh, {flaw}.")
    alone = np.setdiff1d(np.arange(len(p)), corners)
    if len(alone):
        raise RuntimeError(
            f"Deformable body '{name}': vertex {alone[0]} of its mesh belongs to no tetrahedron. Remove it."
        )
    edges = p[corners[:, 1:]] - p[corners[:, :1]]  # D^T, of the edges from the first corner
    elements = np.zeros(len(corners), element_dtype)
    elements["nodes"], elements["volume"] = corners, tetrahedron_volumes(p, corners)
    elements["gradients"][:, 1:] = np.linalg.inv(edges).transpose(0, 2, 1)  # dN_a/dX, rows of D^-1
    elements["gradients"][:, 0] = -elements["gradients"][:, 1:].sum(axis=1)
    return elements


def _make_material(config: DeformableBodyConfig, is_averaged: bool, name: str) -> Any:
    """The record of a material that is stable at rest."""
    model = config.material_model()
    kind = table.kind_of(config)
    material = np.zeros(1, material_dtype)[0]
    table.set_material_kind(material, kind)
    material["mu"], material["lambda"] = lame_parameters(config)
    material["constants"][: len(config.constants())] = config.constants()
    material["density"] = config.mass_density()
    material["mass_damping"] = config.mass_damping_coefficient()
    material["stiffness_damping"] = config.stiffness_damping_coefficient()
    material["tolerance"] = config.relative_tolerance()
    title = f"MaterialModel.{model.name}" if isinstance(model, MaterialModel) else f"kind '{kind.name}'"
    if is_averaged and kind.set_growth is None:
        raise RuntimeError(
            f"Deformable body '{name}': a material of {title} has no set_growth, so that its elements cannot change "
            "their volume together. Give it one, or leave set_averages_volume() False."
        )
    stiffness = _least_stiffness(material)
    if not stiffness > 0.0:
        where = (
            f"is stable at rest for {kind.stable_for}; given {config.poissons_ratio():g}. Take another material, or a "
            "greater ratio."
            if kind.stable_for
            else f"must resist all strains at rest; one has a stiffness of {stiffness:.3g} Pa. Mend its set_derivative."
        )
        raise RuntimeError(f"Deformable body '{name}': a material of {title} {where}")
    material["is_averaged"] = is_averaged
    return material


def _least_stiffness(material: Any) -> float:
    """The stiffness of the strain that a material at rest resists least [Pa]."""
    point, derivative = np.zeros(1, point_dtype(np.float64))[0], np.empty((9, 9))
    point["F"] = np.eye(3)
    for calc in (table.start, table.prepare, table.set_growth):
        calc(material, point)
    table.set_derivative(material, point, derivative)
    units = np.eye(9).reshape(9, 3, 3)
    strains = (units + units.transpose(0, 2, 1)).reshape(9, 9)[[0, 4, 8, 1, 2, 5]]
    strains /= np.linalg.norm(strains, axis=1, keepdims=True)
    return float(np.linalg.eigvalsh(strains @ derivative @ strains.T)[0])
