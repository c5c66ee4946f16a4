"""Deformable bodies by themselves: patch tests, closed forms, momentum and energy of their free motion."""

import numpy as np
import pytest
from scipy.linalg import eigh
from soft_bodies import bar_mesh, clamped_bar, config, mass_matrix, stiffness_matrix

from merganser.geometry import VolumeMesh
from merganser.multibody.fem import MaterialModel
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.layout import report_dtype
from merganser.multibody.fem.newton import free_motion

EACH = pytest.mark.parametrize("model", list(MaterialModel), ids=lambda model: model.name)
STATIC = 1e6  # a step so long that inertia is nothing, and forces are balanced [s]


def gravity(body, g=(0.0, 0.0, -9.81)):
    return np.outer(body.node_masses(), g).ravel()


def swing(body, steps, h=0.01, g=(0.0, 0.0, -9.81)):
    """Positions and velocities after some steps from rest."""
    q = body.mesh.vertex_array().ravel()
    v, work = np.zeros_like(q), body.make_work()
    for _ in range(steps):
        q, v = body.step(h, q, v, gravity(body, g), work)
    return q, v


@pytest.mark.parametrize("model", [MaterialModel.kCorotated, MaterialModel.kNeoHookean], ids=lambda model: model.name)
def test_steps_are_as_exact_as_the_material_asks_for(model):
    ends, iterations = {}, {}
    for tolerance in (1e-13, 1e-10, 1e-6, 1e-3):
        material = config(model)
        material.set_relative_tolerance(tolerance)
        body = clamped_bar(material)
        start, work = body.mesh.vertex_array().ravel(), body.make_work()
        q, v, iterations[tolerance] = start, np.zeros_like(start), 0
        for _ in range(10):
            q, v = body.step(0.01, q, v, gravity(body), work)
            iterations[tolerance] += work.report["iterations"]
        ends[tolerance] = q
    exact = ends.pop(1e-13)
    errors = [abs(q - exact).max() / abs(exact - start).max() for q in ends.values()]
    assert errors == sorted(errors) and all(error < 10.0 * tolerance for error, tolerance in zip(errors, ends))
    counts = list(iterations.values())
    assert counts == sorted(counts, reverse=True) and counts[0] > 1.5 * counts[-1]


# ---------------------------------------------------------------------- statics


@EACH
def test_where_the_deformation_is_uniform_no_inner_node_feels_a_force(model):
    mesh = bar_mesh(cells=(4, 3, 3), seed=1)
    body = FemBody(mesh, config(model))
    F = np.eye(3) + 0.2 * np.random.default_rng(4).normal(size=(3, 3))
    forces = body.elastic_forces(mesh.vertex_array() @ F.T + [1.0, 2.0, 3.0]).reshape(-1, 3)
    p = mesh.vertex_array()
    inner = ((p > p.min(axis=0) + 1e-9) & (p < p.max(axis=0) - 1e-9)).all(axis=1)
    assert inner.sum() == 12
    assert abs(forces[inner]).max() < 1e-12 * abs(forces).max()
    assert abs(forces.sum(axis=0)).max() < 1e-12 * abs(forces).max()


@EACH
def test_a_patch_whose_surface_is_held_finds_the_uniform_deformation(model):
    mesh = bar_mesh(cells=(4, 3, 3), seed=1)
    p = mesh.vertex_array()
    inner = ((p > p.min(axis=0) + 1e-9) & (p < p.max(axis=0) - 1e-9)).all(axis=1)
    body = FemBody(mesh, config(model), ~inner)
    F = np.eye(3) + 0.05 * np.random.default_rng(4).normal(size=(3, 3))
    uniform = p @ F.T
    start = uniform + inner[:, np.newaxis] * np.random.default_rng(5).uniform(-2e-3, 2e-3, p.shape)
    q = start.ravel()
    for _ in range(30 if model == MaterialModel.kLinearCorotated else 1):  # which turns with each step only
        q, _ = body.step(STATIC, q, np.zeros_like(q), np.zeros_like(q))
    assert q.reshape(-1, 3) == pytest.approx(uniform, abs=1e-9)


def test_the_stretch_of_a_hanging_bar_converges_with_the_mesh():
    L, E, density, g = 0.4, 1e6, 1000.0, 9.81
    errors = []
    for n in (1, 2):
        body = clamped_bar(config(MaterialModel.kLinear, E, 0.0, density), cells=(4 * n, n, n))
        q, _ = body.step(STATIC, body.mesh.vertex_array(), np.zeros(3 * body.num_nodes), gravity(body, (g, 0.0, 0.0)))
        at_end = body.mesh.vertex_array()[:, 0] > L - 1e-9
        errors.append(q.reshape(-1, 3)[at_end, 0].mean() - L - density * g * L**2 / (2.0 * E))
    assert abs(errors[1]) < 1e-6  # of 0.78 mm
    assert abs(errors[1]) < 0.35 * abs(errors[0])


def test_a_thin_layer_between_walls_is_squeezed_as_the_closed_form_says():
    """Uniaxial strain: stress (lambda + 2 mu) e; of one cell, whose upper nodes a force presses down."""
    mesh = bar_mesh((0.1, 0.1, 0.1), (1, 1, 1))
    material = config(MaterialModel.kLinear, 1e5, 0.3)
    body = FemBody(mesh, material, mesh.vertex_array()[:, 0] < 1e-9)
    mu, second = 1e5 / 2.6, 1e5 * 0.3 / (1.3 * 0.4)
    uniform = mesh.vertex_array() * [0.98, 1.0, 1.0]
    forces = body.elastic_forces(uniform).reshape(-1, 3)
    at_end = mesh.vertex_array()[:, 0] > 0.09
    assert forces[at_end, 0].sum() == pytest.approx((second + 2 * mu) * 0.02 * 0.01, rel=1e-12)


def test_natural_frequencies_along_a_bar_are_those_of_the_closed_form():
    L, E, density = 0.4, 1e6, 1000.0
    body = clamped_bar(config(MaterialModel.kLinear, E, 0.0, density), cells=(12, 2, 2))
    moves = np.repeat(~body.is_held, 3)
    K, M = (matrix[np.ix_(moves, moves)] for matrix in (stiffness_matrix(body), mass_matrix(body)))
    values, modes = eigh(M, K)  # K is definite, M, with the mass in the centers of elements, need not be
    x = body.mesh.vertex_array()[~body.is_held, 0]
    for n in (1, 2):
        along = np.kron(np.sin((2 * n - 1) * np.pi * x / (2 * L)), [1.0, 0.0, 0.0])
        best = np.argmax((modes.T @ K @ along) ** 2)
        expected = (2 * n - 1) * np.pi / (2 * L) * np.sqrt(E / density)
        assert 1.0 / np.sqrt(values[best]) == pytest.approx(expected, rel=5e-3 * n**2)


def test_long_bars_bend_as_the_elastica_does_with_finer_meshes_closer():
    """A weightless clamped bar that a force bends at its tip; Timoshenko: w = F L^3 / (3 E I) + F L / (k A G)."""
    L, a, E, F = 0.4, 0.05, 1e6, 1e-3
    exact = F * L**3 / (3 * E * a**4 / 12) + F * L / (5 / 6 * a**2 * E / 2)
    deflections = []
    for n in (1, 2, 4):
        body = clamped_bar(config(MaterialModel.kLinear, E, 0.0), size=(L, a, a), cells=(8 * n, n, n))
        at_end = body.mesh.vertex_array()[:, 0] > L - 1e-9
        force = np.zeros((body.num_nodes, 3))
        force[at_end, 2] = F / at_end.sum()
        q, _ = body.step(STATIC, body.mesh.vertex_array(), np.zeros(3 * body.num_nodes), force)
        deflections.append(q.reshape(-1, 3)[at_end, 2].mean())
    errors = 1.0 - np.array(deflections) / exact  # linear tetrahedra are too stiff
    assert (errors > 0.0).all()
    assert errors[2] < 0.2
    assert errors[1] / errors[2] > 2.5  # about second order


# ---------------------------------------------------------------------- motion


@EACH
def test_momentum_of_free_motion_changes_by_the_external_force_alone(model):
    body = FemBody(bar_mesh(), config(model, damping=1e-3))
    q, random = body.mesh.vertex_array().ravel(), np.random.default_rng(8)
    M, g = mass_matrix(body), np.array([0.0, 1.0, -9.81])
    v, work, mass = random.normal(size=q.size), body.make_work(), body.node_masses().sum()
    assert mass == pytest.approx(4.0)
    start = (M @ v).reshape(-1, 3).sum(axis=0)
    for k in range(1, 21):
        q, v = body.step(2e-3, q, v, gravity(body, g), work)
        momentum = (M @ v).reshape(-1, 3).sum(axis=0)
        assert momentum == pytest.approx(start + mass * g * 2e-3 * k, abs=1e-10)


def test_energy_of_the_linear_material_is_lost_to_the_scheme_as_its_equations_say():
    """E+ - E = -(q+ - q)^T K (q+ - q) / 2, without gravity and damping."""
    body = clamped_bar(config(MaterialModel.kLinear))
    rest, M = body.mesh.vertex_array().ravel(), mass_matrix(body)
    q, v, work = rest, np.random.default_rng(9).normal(size=rest.size), body.make_work()
    v[np.repeat(body.is_held, 3)] = 0.0
    for _ in range(10):
        before = body.elastic_energy(q) + 0.5 * v @ M @ v
        q_next, v = body.step(5e-3, q, v, np.zeros_like(q), work)
        lost = before - body.elastic_energy(q_next) - 0.5 * v @ M @ v
        assert lost == pytest.approx(body.elastic_energy(rest + q_next - q), rel=1e-8)
        q = q_next


def test_mass_damping_slows_free_flight_by_the_closed_form():
    body = FemBody(bar_mesh(), config(mass_damping=3.0))
    v = np.tile([1.0, 2.0, 3.0], body.num_nodes)
    q, v_next = body.step(0.1, body.mesh.vertex_array(), v, np.zeros_like(v))
    assert v_next == pytest.approx(v / 1.3, rel=1e-10)
    assert q == pytest.approx(body.mesh.vertex_array().ravel() + 0.05 * (v + v_next))


@EACH
def test_stiffness_damping_brings_a_bar_to_rest_without_changing_where(model):
    rest = [swing(clamped_bar(config(model, 3e5, damping=damping)), 400, 0.02) for damping in (0.0, 0.05)]
    assert abs(rest[1][1]).max() < 1e-4
    assert rest[1][0] == pytest.approx(rest[0][0], abs=1e-4)


@EACH
def test_turned_bodies_move_as_others_do_but_for_linear_ones(model):
    a = 0.7
    R = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    body, mesh = clamped_bar(config(model)), bar_mesh()
    turned = FemBody(VolumeMesh(mesh.tetrahedron_array(), mesh.vertex_array() @ R.T), config(model), body.is_held)
    q, v = swing(body, 20)
    q_turned, v_turned = swing(turned, 20)
    assert q_turned.reshape(-1, 3) == pytest.approx(q.reshape(-1, 3) @ R.T, abs=1e-9)
    assert v_turned.reshape(-1, 3) == pytest.approx(v.reshape(-1, 3) @ R.T, abs=1e-7)


@pytest.mark.parametrize("model", [MaterialModel.kLinearCorotated, MaterialModel.kCorotated, MaterialModel.kNeoHookean])
def test_a_body_whose_elements_are_inside_out_finds_its_form_again(model):
    mesh = bar_mesh((0.2, 0.2, 0.2), (2, 2, 2))
    body = FemBody(mesh, config(model, nu=0.4, mass_damping=20.0, damping=0.01))
    q = mesh.vertex_array().ravel() + np.random.default_rng(1).uniform(-0.08, 0.08, 3 * body.num_nodes)
    moved = VolumeMesh(mesh.tetrahedron_array(), q.reshape(-1, 3))
    assert sum(moved.CalcTetrahedronVolume(e) < 0.0 for e in range(moved.num_elements())) > 10
    v, work = np.zeros_like(q), body.make_work()
    for _ in range(150):
        q, v = body.step(5e-3, q, v, np.zeros_like(q), work)
    points = VolumeMesh(mesh.tetrahedron_array(), q.reshape(-1, 3))
    assert points.CalcVolume() == pytest.approx(mesh.CalcVolume(), rel=1e-3)
    assert min(points.CalcTetrahedronVolume(e) for e in range(points.num_elements())) > 0.0


def test_held_nodes_stay_and_have_no_velocity_whatever_they_are_given():
    body = clamped_bar(config())
    q, v = body.step(0.01, body.mesh.vertex_array(), np.ones(3 * body.num_nodes), gravity(body))
    assert (q.reshape(-1, 3)[body.is_held] == body.mesh.vertex_array()[body.is_held]).all()
    assert (v.reshape(-1, 3)[body.is_held] == 0.0).all()


def test_a_body_whose_nodes_are_all_fixed_is_at_rest():
    mesh = bar_mesh()
    body = FemBody(mesh, config(), np.ones(mesh.num_vertices(), bool))
    q, v = body.step(0.01, mesh.vertex_array(), np.zeros(3 * body.num_nodes), gravity(body))
    assert (q == mesh.vertex_array().ravel()).all() and not v.any()


def test_bodies_far_from_the_origin_and_stiff_ones_move_as_others():
    mesh = bar_mesh()
    far = VolumeMesh(mesh.tetrahedron_array(), mesh.vertex_array() + 100.0)
    for model in MaterialModel:
        near, away = (FemBody(m, config(model, 1e9, 0.4), mesh.vertex_array()[:, 0] < 1e-9) for m in (mesh, far))
        assert swing(away, 5)[0] - 100.0 == pytest.approx(swing(near, 5)[0], abs=1e-7)


@EACH
def test_a_step_is_the_same_compiled_and_interpreted(model):
    mesh = bar_mesh((0.2, 0.1, 0.1), (1, 1, 1))
    body = FemBody(mesh, config(model, damping=0.01, mass_damping=0.5), mesh.vertex_array()[:, 0] < 1e-9)
    q, v = mesh.vertex_array().ravel(), np.random.default_rng(2).normal(size=3 * body.num_nodes)
    v[np.repeat(body.is_held, 3)] = 0.0
    results = []
    for step in (free_motion, free_motion.interpreted):
        out, report = np.full((2, q.size), np.nan), np.zeros(1, report_dtype)[0]
        assert step(0.02, body.arrays, q, q, v, gravity(body), body.make_work(), out[0], out[1], report) == 0
        results.append(out)
    assert results[0] == pytest.approx(results[1], abs=1e-11)


def test_newtons_method_takes_one_iteration_for_linear_materials_and_few_for_others():
    for model in MaterialModel:
        body = clamped_bar(config(model))
        q, v = swing(body, 3)
        work = body.make_work()
        body.step(0.01, q, v, gravity(body), work)
        is_linear = model in (MaterialModel.kLinear, MaterialModel.kLinearCorotated)
        assert work.report["iterations"] == 1 if is_linear else work.report["iterations"] <= 5


# ---------------------------------------------------------------------- what cannot be


def test_meshes_that_are_no_bodies_are_refused_by_name_and_element():
    mesh = bar_mesh((0.1, 0.1, 0.1), (1, 1, 1))
    tetrahedra, vertices = mesh.tetrahedron_array().copy(), mesh.vertex_array()
    tetrahedra[2, :2] = tetrahedra[2, 1::-1]
    with pytest.raises(RuntimeError, match=r"'jelly': of its mesh, tetrahedron 2, .* inside out: .* exchange two"):
        FemBody(VolumeMesh(tetrahedra, vertices), config(), name="jelly")
    with pytest.raises(RuntimeError, match=r"'jelly': of its mesh, tetrahedron 0, .* is flat"):
        FemBody(VolumeMesh(mesh.tetrahedron_array(), vertices * [1.0, 1.0, 0.0]), config(), name="jelly")
    with pytest.raises(RuntimeError, match="'jelly': vertex 8 of its mesh belongs to no tetrahedron"):
        FemBody(VolumeMesh(mesh.tetrahedron_array(), np.vstack([vertices, [1.0, 1.0, 1.0]])), config(), name="jelly")
    with pytest.raises(RuntimeError, match=r"'jelly': vertex 3 of its mesh is at .*nan.* not finite"):
        bad = vertices.copy()
        bad[3, 1] = np.nan
        FemBody(VolumeMesh(mesh.tetrahedron_array(), bad), config(), name="jelly")


def test_a_neo_hookean_material_that_is_not_stable_at_rest_is_refused():
    with pytest.raises(RuntimeError, match=r"'bar': .*kNeoHookean.* Poisson's ratio .* 0.1"):
        clamped_bar(config(MaterialModel.kNeoHookean, nu=0.1))


def test_an_undetermined_or_infinite_motion_is_an_error_with_body_and_time():
    one = VolumeMesh(np.array([[0, 1, 2, 3]]), np.vstack([np.zeros(3), np.eye(3)]))
    body = FemBody(one, config(), name="chip")
    q = one.vertex_array().ravel()
    with pytest.raises(RuntimeError, match=r"'chip' at time 1.5 s.* not determined.* finer mesh"):
        body.step(0.01, q, np.zeros(12), gravity(body), time=1.5)
    v = np.zeros(12)
    v[4] = np.nan
    with pytest.raises(RuntimeError, match=r"'chip' at time 2 s.* not finite"):
        body.step(0.01, q, v, gravity(body), time=2.0)
