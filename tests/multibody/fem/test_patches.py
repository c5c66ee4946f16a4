"""Patches of elements with one growth of volume: they do not lock, and are otherwise as bodies without."""

import numpy as np
import pytest
from soft_bodies import bar_mesh, clamped_bar, config

from merganser.geometry import Ellipsoid, VolumeMesh
from merganser.geometry.deformable.moving_meshes import make_reference_mesh
from merganser.multibody.fem import MaterialModel
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.layout import MOST_PATCH_NODES, report_dtype
from merganser.multibody.fem.linearization import Linearization, stress_derivatives
from merganser.multibody.fem.newton import factor_tangent, free_motion
from merganser.multibody.linear.factorization import solve

EACH = pytest.mark.parametrize("model", list(MaterialModel), ids=lambda model: model.name)
STATIC = 1e9  # a step so long that inertia is nothing [s]


def balanced(body: FemBody, force: np.ndarray) -> np.ndarray:
    """Where the nodes of a linear body are at rest under a force [m], shape [n, 3]."""
    q, _ = body.step(STATIC, body.mesh.vertex_array(), np.zeros(3 * body.num_nodes), force)
    return q.reshape(-1, 3)


# ---------------------------------------------------------------------- what they are


def test_cells_of_six_tetrahedra_are_one_patch_each_and_others_have_few_small_ones() -> None:
    body = clamped_bar(config(averages_volume=True))
    nodes = body.mesh.vertex_array()[body.arrays.patches["nodes"][:, :8]]
    assert len(body.arrays.patches) == 4 * 2 * 2 and (body.arrays.patches["num_nodes"] == 8).all()
    assert np.ptp(nodes, axis=1) == pytest.approx(np.tile([0.1, 0.05, 0.05], (16, 1)))
    blob = FemBody(make_reference_mesh(Ellipsoid(0.05, 0.03, 0.1), 0.06), config(averages_volume=True))
    patches, elements = blob.arrays.patches, blob.arrays.elements
    count = np.bincount(elements["patch"], minlength=len(patches))
    assert count.sum() == len(elements) and count.min() >= 3 and len(elements) / len(patches) > 5.0
    assert patches["num_nodes"].max() <= MOST_PATCH_NODES
    assert patches["volume"].sum() == pytest.approx(elements["volume"].sum())
    for element in elements:
        assert (patches[element["patch"]]["nodes"][element["seat"]] == element["nodes"]).all()


def test_materials_have_no_patches_unless_they_are_asked_for() -> None:
    body = clamped_bar(config())
    assert not config().averages_volume() and len(body.arrays.patches) == 0
    assert "mean volumes" in repr(config(averages_volume=True)) and "mean volumes" not in repr(config())


# ---------------------------------------------------------------------- equations


@EACH
def test_forces_are_derivatives_of_the_energy_and_the_tangent_is_theirs(model: MaterialModel) -> None:
    mesh = bar_mesh(cells=(2, 1, 1))
    body, h = FemBody(mesh, config(model, nu=0.45, averages_volume=True), mesh.vertex_array()[:, 0] < 1e-9), 1e3
    random, work = np.random.default_rng(3), body.make_work()
    q = (mesh.vertex_array() + random.uniform(-5e-3, 5e-3, mesh.vertex_array().shape)).ravel()
    moves = np.repeat(~body.is_held, 3)
    dq = np.where(moves, 1e-6 * random.normal(size=q.size), 0.0)
    slope = (body.elastic_energy(q + dq) - body.elastic_energy(q - dq)) / 2.0
    assert body.elastic_forces(q) @ dq == pytest.approx(-slope, rel=1e-6)
    still, n = np.zeros_like(q), body.mesh.num_elements()
    of_step, at_rest = (Linearization(body, time_step, q, still, still) for time_step in (h, None))
    change = body.elastic_forces(q + dq) - body.elastic_forces(q - dq)
    assert at_rest.by_q @ dq == pytest.approx(-0.5 * change, abs=1e-5 * abs(change).max())
    # The factor of Newton's method is of the same matrix.
    stress_derivatives(body.arrays, q, q, 0, work, np.empty((n, 3, 3)), np.empty((n, 9, 9)))
    assert factor_tangent(body.arrays, h, 0, 0, q, work) == 0
    unknowns = (body.arrays.unknown[~body.is_held, np.newaxis] + np.arange(3)).ravel()
    work.direction[unknowns] = (of_step.by_v_next @ dq)[moves]
    solve(body.arrays.trees, body.arrays.pattern, len(body.arrays.trees), work.panels, work.direction)
    assert work.direction[unknowns] == pytest.approx(dq[moves], abs=1e-8 * abs(dq).max())


@EACH
def test_patches_of_uniform_deformation_have_the_forces_of_their_elements(model: MaterialModel) -> None:
    mesh, F = bar_mesh(cells=(4, 3, 3), seed=1), np.eye(3) + 0.2 * np.random.default_rng(4).normal(size=(3, 3))
    uniform = mesh.vertex_array() @ F.T
    forces = [FemBody(mesh, config(model, averages_volume=k)).elastic_forces(uniform) for k in (False, True)]
    assert forces[1] == pytest.approx(forces[0], abs=1e-12 * abs(forces[0]).max())


def test_a_patch_whose_surface_is_held_finds_the_uniform_deformation() -> None:
    mesh = bar_mesh(cells=(4, 3, 3), seed=1)
    p = mesh.vertex_array()
    inner = ((p > p.min(axis=0) + 1e-9) & (p < p.max(axis=0) - 1e-9)).all(axis=1)
    body = FemBody(mesh, config(MaterialModel.kNeoHookean, nu=0.49, averages_volume=True), ~inner)
    uniform = p @ (np.eye(3) + 0.05 * np.random.default_rng(4).normal(size=(3, 3))).T
    start = uniform + inner[:, np.newaxis] * np.random.default_rng(5).uniform(-2e-3, 2e-3, p.shape)
    q, _ = body.step(1e6, start, np.zeros(p.size), np.zeros(p.size))
    assert q.reshape(-1, 3) == pytest.approx(uniform, abs=1e-9)


# ---------------------------------------------------------------------- no locking


def bending_error(n: int, nu: float, averages_volume: bool, model: MaterialModel = MaterialModel.kLinear) -> float:
    """How much less than Timoshenko's beam a clamped bar bends, of n cells across."""
    L, a, E, F = 0.4, 0.05, 1e6, 1e-3
    exact = F * L**3 / (3.0 * E * a**4 / 12.0) + F * L / (5.0 / 6.0 * a**2 * E / (2.0 * (1.0 + nu)))
    material = config(model, E, nu, averages_volume=averages_volume)
    body = clamped_bar(material, size=(L, a, a), cells=(8 * n, n, n))
    at_end = body.mesh.vertex_array()[:, 0] > L - 1e-9
    force = np.zeros((body.num_nodes, 3))
    force[at_end, 2] = F / at_end.sum()
    return float(1.0 - balanced(body, force)[at_end, 2].mean() / exact)


def test_a_bar_bends_at_a_poissons_ratio_near_a_half_as_at_zero_and_converges() -> None:
    errors = [bending_error(n, 0.49, True) for n in (1, 2, 4)]
    assert errors[2] == pytest.approx(bending_error(4, 0.0, False), abs=0.01)  # 17 %
    assert bending_error(2, 0.4999, True) == pytest.approx(errors[1], abs=0.005)
    assert bending_error(2, 0.49, False) > 0.85
    assert errors[1] / errors[2] > 2.2  # about second order, from above
    assert bending_error(1, 0.49, True, MaterialModel.kCorotated) == pytest.approx(errors[0], abs=1e-3)


def test_cooks_membrane_is_bent_as_the_plane_solution_says() -> None:
    """A trapezoid, held at the left, sheared at the right by F = E t at nu = 0.49.

    The right side moves by 24.27 in the mean, by 32 x 32 cells of quadratic triangles in plane stress, which for nu =
    1/3 give the 23.96 of the literature in its middle (R. Cook, 1974).
    """

    def deflection(n: int, averages_volume: bool, t: float = 4.0) -> float:
        grid = bar_mesh((1.0, 1.0, 1.0), (n, n, 1))
        x, y, z = grid.vertex_array().T + np.array([[0.0], [0.5], [0.5]])
        p = np.stack([48.0 * x, 44.0 * x + y * (44.0 - 28.0 * x), t * z], axis=1)
        material = config(MaterialModel.kLinear, 1.0, 0.49, averages_volume=averages_volume)
        body = FemBody(VolumeMesh(grid.tetrahedron_array(), p), material, x < 1e-9)
        at_end, force = x > 1.0 - 1e-9, np.zeros((len(p), 3))
        share = np.where((y > 1e-9) & (y < 1.0 - 1e-9), 1.0, 0.5)[at_end]
        force[at_end, 1] = t * share / share.sum()
        return float((balanced(body, force) - p)[at_end, 1] @ share / share.sum())

    errors = [1.0 - deflection(n, True) / 24.27 for n in (4, 8, 16)]
    assert abs(errors[2]) < 0.1
    assert errors[0] > 1.7 * errors[1] > 3.0 * errors[2]
    assert 1.0 - deflection(8, False) / 24.27 > 0.6


def test_a_block_pressed_between_plates_is_not_held_up_by_its_elements() -> None:
    """Both faces stick to their plates; rubber of nu = 0.49 bulges out of the sides."""

    def force(n: int, averages_volume: bool) -> float:
        mesh = bar_mesh((0.05, 0.1, 0.1), (n, 2 * n, 2 * n))
        x = mesh.vertex_array()[:, 0]
        material = config(MaterialModel.kCorotated, 1e6, 0.49, averages_volume=averages_volume)
        body = FemBody(mesh, material, (x < 1e-9) | (x > 0.05 - 1e-9))
        pressed = mesh.vertex_array() * [0.95, 1.0, 1.0]
        q, _ = body.step(1e6, pressed, np.zeros(pressed.size), np.zeros(pressed.size))
        return float(body.elastic_forces(q).reshape(-1, 3)[x > 0.05 - 1e-9, 0].sum())

    assert 928.5 < force(3, True) < 1.1 * 928.5  # of five cells across
    assert force(2, False) > 2.5 * force(2, True)


# ---------------------------------------------------------------------- motion


def test_free_motion_keeps_momentum_and_is_the_same_interpreted() -> None:
    mesh = bar_mesh((0.2, 0.1, 0.1), (1, 1, 1))
    body = FemBody(mesh, config(MaterialModel.kNeoHookean, nu=0.45, damping=0.01, averages_volume=True))
    q, v = mesh.vertex_array().ravel(), np.random.default_rng(2).normal(size=3 * body.num_nodes)
    results = []
    for step in (free_motion, free_motion.interpreted):
        out, report = np.full((2, q.size), np.nan), np.zeros(1, report_dtype)[0]
        assert step(0.02, body.arrays, q, q, v, np.zeros_like(q), body.make_work(), out[0], out[1], report) == 0
        results.append(out)
    assert results[0] == pytest.approx(results[1], abs=1e-11)

    def momentum(v: np.ndarray) -> np.ndarray:
        elements = body.arrays.elements
        return body.element_masses() @ v.reshape(-1, 3)[elements["nodes"]].mean(axis=1)

    assert momentum(results[0][1]) == pytest.approx(momentum(v), abs=1e-10)


@pytest.mark.parametrize("model", [MaterialModel.kLinearCorotated, MaterialModel.kCorotated, MaterialModel.kNeoHookean])
def test_a_body_whose_elements_are_inside_out_finds_its_form_again(model: MaterialModel) -> None:
    mesh = bar_mesh((0.2, 0.2, 0.2), (2, 2, 2))
    body = FemBody(mesh, config(model, nu=0.45, mass_damping=20.0, damping=0.01, averages_volume=True))
    q = mesh.vertex_array().ravel() + np.random.default_rng(1).uniform(-0.08, 0.08, 3 * body.num_nodes)
    v, work = np.zeros_like(q), body.make_work()
    for _ in range(150):
        q, v = body.step(5e-3, q, v, np.zeros_like(q), work)
    points = VolumeMesh(mesh.tetrahedron_array(), q.reshape(-1, 3))
    rest = [mesh.CalcTetrahedronVolume(e) for e in range(mesh.num_elements())]
    assert [points.CalcTetrahedronVolume(e) for e in range(mesh.num_elements())] == pytest.approx(rest, rel=2e-2)
