"""Meshes and materials of deformable bodies."""

from __future__ import annotations

import numpy as np

from merganser.geometry import Box, VolumeMesh
from merganser.geometry.deformable.moving_meshes import make_reference_mesh
from merganser.multibody.fem import DeformableBodyConfig, MaterialModel
from merganser.multibody.fem.body import FemBody


def bar_mesh(size=(0.4, 0.1, 0.1), cells=(4, 2, 2), seed: int | None = None) -> VolumeMesh:
    """A bar from the plane x = 0 along x; its inner vertices perhaps moved at random."""
    size, cells = np.array(size, float), np.array(cells)
    mesh = make_reference_mesh(Box(*cells.astype(float)), 1.0)  # of unit cells
    grid = mesh.vertex_array() + cells / 2.0
    vertices = grid * size / cells - [0.0, size[1] / 2.0, size[2] / 2.0]
    if seed is not None:
        inner = ((grid > 0.1) & (grid < cells - 0.1)).all(axis=1)
        vertices[inner] += np.random.default_rng(seed).uniform(-0.1, 0.1, (inner.sum(), 3)) * size / cells
    return VolumeMesh(mesh.tetrahedron_array(), vertices)


def config(
    model=MaterialModel.kLinearCorotated, E=1e5, nu=0.3, density=1000.0, mass_damping=0.0, damping=0.0,
    averages_volume=False,
):  # fmt: skip
    """A material."""
    material = DeformableBodyConfig()
    material.set_material_model(model)
    material.set_youngs_modulus(E)
    material.set_poissons_ratio(nu)
    material.set_mass_density(density)
    material.set_mass_damping_coefficient(mass_damping)
    material.set_stiffness_damping_coefficient(damping)
    material.set_averages_volume(averages_volume)
    return material


def clamped_bar(material: DeformableBodyConfig, **measures) -> FemBody:
    """A bar that is held at x = 0."""
    mesh = bar_mesh(**measures)
    return FemBody(mesh, material, mesh.vertex_array()[:, 0] < 1e-9, "bar")


def stiffness_matrix(body: FemBody) -> np.ndarray:
    """-df/dq at rest, from differences of forces, which are exact for linear materials."""
    q = body.mesh.vertex_array().ravel()
    columns = [body.elastic_forces(q + unit) for unit in np.eye(len(q))]
    return -(np.array(columns).T - body.elastic_forces(q)[:, np.newaxis])


def mass_matrix(body: FemBody) -> np.ndarray:
    """M of elements.py, equation (4)."""
    n = body.num_nodes
    M = np.zeros((n, n))
    for element in body.arrays.elements:
        nodes = element["nodes"]
        M[np.ix_(nodes, nodes)] += body.arrays.material["density"] * element["volume"] / 16.0
    return np.kron(M, np.eye(3))
