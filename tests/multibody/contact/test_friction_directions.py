"""Directions of friction as unknowns: the matrix that Newton's method gets, and how few iterations it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contact_problem import ContactProblem
from numpy.typing import NDArray

from merganser.multibody.contact import LAGGED, SAP, SIMILAR
from merganser.multibody.contact.friction_directions import soften_hessians, turn_directions
from merganser.multibody.contact.layout import law_dtype
from merganser.multibody.contact.newton import calc_impulses
from merganser.multibody.contact.solver import calc_compliance, calc_laws
from merganser.multibody.contact.work_arrays import Workspace
from merganser.multibody.linear.records import Problem

Array = NDArray[np.float64]
APPROXIMATIONS = (SAP, SIMILAR, LAGGED)
SLIP = np.array([0.3, -0.2, -0.1])  # v_c of a contact that slides


def one_contact(approximation: int) -> tuple[Problem, Any]:
    """A particle on the ground, and its law."""
    problem = ContactProblem([3], 1e-2, approximation)
    problem.add_contact({0: np.eye(3)}, friction=0.5, stiffness=1e4, phi=-1e-3, relaxation_time=0.01, dissipation=0.5)
    settings, trees, constraints, rows, jacobian = problem.arrays()
    given = Problem(settings, trees, np.eye(3).ravel(), constraints, jacobian)
    w, laws = np.zeros(3), np.zeros(3, law_dtype)
    calc_compliance(given, np.zeros(3), w)
    calc_laws(given, 1e-2, np.arange(len(given.constraints)), rows, w, SLIP, laws)
    return given, laws


def work_of(laws: Any, hessian: Array) -> Workspace:
    """What a search works on where that contact slides."""
    return Workspace(np.zeros(12), np.zeros((8, 3)), SLIP, np.zeros(3), np.zeros(3), laws, hessian, np.zeros(0))


def response(approximation: int, direction: Any = None) -> tuple[Array, Array]:
    """gamma and G of that contact, with a direction T of friction if one is given."""
    given, laws = one_contact(approximation)
    gamma, G = np.zeros(3), np.zeros(9)
    calc_impulses(given, np.array([0]), laws, SLIP, gamma, G)
    if direction is not None:
        G[6:8] = direction
        soften_hessians(given, np.array([0]), gamma, True, work_of(laws, G))
    return gamma, np.array([[G[0], G[1], G[3]], [G[1], G[2], G[4]], [G[3], G[4], G[5]]])


def direction_of_friction(approximation: int) -> Array:
    """u: friction as a part of its bound."""
    given, laws = one_contact(approximation)
    numbers = np.zeros(9)
    # From T = 0 and without a step, the directions turn to where friction is.
    turn_directions(given, np.array([0]), 1.0, work_of(laws, numbers))
    return numbers[6:8]


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_directions_turn_to_where_friction_points(approximation: int) -> None:
    gamma, _ = response(approximation)
    u = direction_of_friction(approximation)
    assert u @ gamma[:2] == pytest.approx(np.linalg.norm(u) * np.linalg.norm(gamma[:2]))
    assert 0.9 < np.linalg.norm(u) <= 1.0 + 1e-15


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_with_the_direction_of_friction_the_matrix_is_the_hessian(approximation: int) -> None:
    _, G = response(approximation)
    _, softened = response(approximation, direction_of_friction(approximation))
    np.testing.assert_allclose(softened, G, atol=1e-12 * np.abs(G).max())


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_the_matrix_is_never_indefinite(approximation: int) -> None:
    for angle in np.linspace(0.0, 2.0 * np.pi, 17):
        for size in (0.0, 0.5, 1.0):
            _, softened = response(approximation, size * np.array([np.cos(angle), np.sin(angle)]))
            assert np.linalg.eigvalsh(softened).min() > -1e-12 * np.abs(softened).max()


def test_a_crowd_that_sticks_and_slides_takes_few_iterations() -> None:
    # 60 particles on the ground, each held to the next by friction, kicked in all directions: 34 with exact Hessians.
    rng, n, h = np.random.default_rng(3), 60, 1e-2
    problem = ContactProblem([3] * n, h, SAP)
    for i in range(n):
        law = {"friction": 0.5, "stiffness": 1e4, "relaxation_time": 0.05, "dissipation": 0.5, "phi": -1e-3}
        problem.add_contact({i: np.eye(3)}, **law)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        problem.add_contact({i: -turn, (i + 1) % n: turn}, **law)
    v = 0.05 * rng.normal(size=3 * n)
    v_star = v - np.tile([0.0, 0.0, 9.81 * h], n)
    solution = problem.solve([np.eye(3)] * n, v, v_star)
    assert solution.statistics["iterations"] <= 20
