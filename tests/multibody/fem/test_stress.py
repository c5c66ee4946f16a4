"""Stress of deformable bodies: closed forms, and what turning does to it."""

from __future__ import annotations

import numpy as np
import pytest
from soft_bodies import bar_mesh, clamped_bar, config

from merganser.multibody.fem import MaterialModel
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.stress import cauchy_stresses, mean_at_vertices, von_mises_stresses

EACH = pytest.mark.parametrize("model", list(MaterialModel), ids=lambda model: model.name)


def strained(model: MaterialModel, F: np.ndarray, averages_volume: bool = False) -> np.ndarray:
    """Stresses where the deformation is uniform [Pa], shape [n, 3, 3]."""
    mesh = bar_mesh(cells=(2, 1, 1))
    body = FemBody(mesh, config(model, 1e5, 0.3, averages_volume=averages_volume))
    return cauchy_stresses(body, mesh.vertex_array() @ F.T)


@EACH
def test_small_strains_have_the_stress_of_linear_elasticity_in_all_elements(model: MaterialModel) -> None:
    e = np.random.default_rng(1).normal(size=(3, 3)) * 1e-7
    e = e + e.T
    mu, second = 1e5 / 2.6, 1e5 * 0.3 / (1.3 * 0.4)
    if model == MaterialModel.kNeoHookean:  # see materials/neo_hookean.py
        second -= mu
    expected = second * np.trace(e) * np.eye(3) + 2.0 * mu * e
    for averages_volume in (False, True):
        for sigma in strained(model, np.eye(3) + e, averages_volume):
            assert sigma == pytest.approx(expected, abs=1e-5 * abs(expected).max())


@EACH
def test_stress_is_symmetric_and_turns_with_the_body(model: MaterialModel) -> None:
    stretch = np.diag([1.2, 0.9, 0.8]) + 0.1 * np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    Q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))
    Q *= np.sign(np.linalg.det(Q))
    sigma = strained(model, stretch)[0]
    assert sigma == pytest.approx(sigma.T, abs=1e-9 * abs(sigma).max())
    if model != MaterialModel.kLinear:
        assert strained(model, Q @ stretch)[0] == pytest.approx(Q @ sigma @ Q.T, abs=1e-9 * abs(sigma).max())


def test_von_mises_stress_is_the_pull_of_a_bar_and_root_three_times_a_shear() -> None:
    shear = np.zeros((3, 3))
    shear[0, 1] = shear[1, 0] = 2.0
    stresses = np.array([np.diag([5.0, 0.0, 0.0]), shear, -7.0 * np.eye(3), np.zeros((3, 3))])
    assert von_mises_stresses(stresses) == pytest.approx([5.0, 2.0 * np.sqrt(3.0), 0.0, 0.0], abs=1e-15)


def test_a_bar_that_is_pulled_has_force_by_area_in_it() -> None:
    body = clamped_bar(config(MaterialModel.kLinear, 1e6, 0.0), cells=(8, 2, 2))
    at_end = body.mesh.vertex_array()[:, 0] > 0.4 - 1e-9
    uniform = body.mesh.vertex_array() * [1.001, 1.0, 1.0]
    force = -body.elastic_forces(uniform).reshape(-1, 3) * at_end[:, np.newaxis]
    q, _ = body.step(1e6, body.mesh.vertex_array(), np.zeros(3 * body.num_nodes), force)
    stresses = von_mises_stresses(cauchy_stresses(body, q))
    assert stresses == pytest.approx(np.full(len(stresses), 1e3), rel=1e-6)
    assert mean_at_vertices(body, stresses) == pytest.approx(np.full(body.num_nodes, 1e3), rel=1e-6)
