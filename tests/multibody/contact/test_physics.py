"""Steps of the solver against closed forms of bodies that slide, stick, fall and hang."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from contact_problem import ContactProblem
from numpy.typing import NDArray

from merganser.multibody.contact import LAGGED, SAP, SIMILAR, TAMSI

APPROXIMATIONS = [TAMSI, SAP, SIMILAR, LAGGED]
G = 9.81
MASS = 2.0
Array = NDArray[np.float64]


def slide(
    approximation: int, velocity: float, angle: float, time: float, friction: float = 0.5, time_step: float = 1e-3
) -> tuple[float, float]:
    """Distance and velocity of a block on an incline, as a point mass with coordinates [along, across, normal]."""
    stiffness = 1e6
    force = MASS * G * math.cos(angle)
    v, z, distance = np.array([velocity, 0.0, 0.0]), -force / stiffness, 0.0
    g = np.array([G * math.sin(angle), 0.0, -G * math.cos(angle)])
    for _ in range(round(time / time_step)):
        problem = ContactProblem([3], time_step, approximation, stiction_tolerance=1e-5)
        problem.add_contact(
            {0: np.eye(3)}, friction=friction, stiffness=stiffness, phi=z, dissipation=0.0, relaxation_time=time_step
        )
        v = problem.solve([MASS * np.eye(3)], v, v + time_step * g).v
        z += time_step * v[2]
        distance += time_step * v[0]
    return distance, v[0]


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_sliding_block_stops_after_v_squared_over_2_mu_g(approximation: int) -> None:
    distance, velocity = slide(approximation, 1.0, 0.0, 0.25)
    # A semi-implicit step is off by at most half a step's way of the first velocity.
    assert distance == pytest.approx(1.0 / (2.0 * 0.5 * G), abs=0.6e-3)
    assert abs(velocity) < 2e-5


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_block_on_a_steep_incline_slides_as_coulomb_says(approximation: int) -> None:
    angle = math.radians(40.0)
    _, velocity = slide(approximation, 0.0, angle, 0.2)
    assert velocity == pytest.approx(0.2 * G * (math.sin(angle) - 0.5 * math.cos(angle)), rel=2e-2)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_block_on_a_flat_incline_sticks(approximation: int) -> None:
    _, velocity = slide(approximation, 0.0, math.radians(20.0), 0.1)
    assert 0.0 <= velocity < 1.1e-5


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_dropped_sphere_comes_to_rest_where_the_spring_carries_it(approximation: int) -> None:
    h, stiffness, v, z = 1e-3, 1e4, np.array([0.0]), 0.05
    impulses = 0.0
    for _ in range(1500):
        problem = ContactProblem([1], h, approximation, relative_tolerance=1e-10)
        row = np.array([[0.0], [0.0], [1.0]])
        c = problem.add_contact(
            {0: row}, friction=0.5, stiffness=stiffness, phi=z, dissipation=5.0, relaxation_time=0.1, beta=0.1
        )
        solution = problem.solve([[[MASS]]], v, v - h * G)
        v, z = solution.v, z + h * solution.v[0]
        impulses += solution.impulses[c][2]
    assert abs(v[0]) < 1e-6
    assert z == pytest.approx(-MASS * G / stiffness, rel=1e-4)
    assert impulses == pytest.approx(MASS * G * 1.5, rel=1e-6)  # all that gravity gave


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_bodies_that_touch_exchange_momentum(approximation: int) -> None:
    """Newton's third law: the sums of momentum and of angular momentum stay."""
    rng = np.random.default_rng(2)
    masses, p_WC = [1.0, 3.0], np.array([0.0, 0.1, 0.2])
    centres = [np.array([0.0, 0.0, 0.0]), np.array([0.1, 0.1, 0.5])]
    R_WC = np.linalg.qr(rng.normal(size=(3, 3)))[0]

    def block(centre: Array) -> Array:
        x, y, z = p_WC - centre
        return R_WC.T @ np.hstack([[[0, z, -y], [-z, 0, x], [y, -x, 0]], np.eye(3)])

    A = [np.diag([0.1 * m] * 3 + [m] * 3) for m in masses]
    problem = ContactProblem([6, 6], 1e-2, approximation, relative_tolerance=1e-14)
    problem.add_contact(
        {0: -block(centres[0]), 1: block(centres[1])}, friction=0.7, stiffness=1e4, phi=-0.01, relaxation_time=0.1
    )
    v = rng.normal(size=12)
    solution = problem.solve(A, v, v)
    assert solution.impulses[0][2] > 0.0
    dp = [block @ dv for block, dv in zip(A, np.split(solution.v - v, 2))]
    np.testing.assert_allclose(dp[0][3:] + dp[1][3:], 0.0, atol=1e-12)
    angular = sum(change[:3] + np.cross(centre, change[3:]) for change, centre in zip(dp, centres))
    np.testing.assert_allclose(angular, 0.0, atol=1e-12)


def simulate(add: Any, masses: list[float], q: Array, steps: int, force: Array, h: float = 1e-3) -> tuple[Array, Array]:
    """Point masses on lines, one tree each, with constraints that `add(problem, q)` adds."""
    v = np.zeros(len(masses))
    for _ in range(steps):
        problem = ContactProblem([1] * len(masses), h, SAP, relative_tolerance=1e-12)
        add(problem, q)
        v = problem.solve([[[m]] for m in masses], v, v + h * force / masses).v
        q = q + h * v
    return q, v


def test_joint_stops_at_its_limits() -> None:
    def add(problem: ContactProblem, q: Array) -> None:
        problem.add_limit(0, 0, 1.0 - q[0], is_upper=True)
        problem.add_limit(0, 0, q[0] + 1.0)
        problem.add_limit(1, 0, 1.0 - q[1], is_upper=True)
        problem.add_limit(1, 0, q[1] + 1.0)

    q, v = simulate(add, [1.0, 2.0], np.array([0.9, -0.9]), 600, np.array([5.0, -5.0]))
    np.testing.assert_allclose(q, [1.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(v, 0.0, atol=1e-6)


def test_coupler_keeps_the_ratio_and_adds_the_inertias() -> None:
    def add(problem: ContactProblem, q: Array) -> None:
        problem.add_coupler(0, 0, 1, 0, 3.0, q[0] - 3.0 * q[1] - 0.5)

    q, v = simulate(add, [1.0, 2.0], np.array([0.5, 0.0]), 500, np.array([4.0, 0.0]))
    # q_0 = 3 q_1 + 1/2, a force of 4 on q_0: (1 + 2 / 9) a_0 = 4
    assert v[0] == pytest.approx(4.0 / (1.0 + 2.0 / 9.0) * 0.5, rel=1e-6)
    assert q[0] - 3.0 * q[1] == pytest.approx(0.5, abs=1e-6)


def test_distance_with_finite_stiffness_is_a_spring() -> None:
    k, h = 50.0, 1e-4
    add = lambda p, q: p.add_distance({0: [[-1.0]], 1: [[1.0]]}, q[1] - q[0] - 1.0, stiffness=k)  # noqa: E731
    q, _ = simulate(add, [1.0, 1.0], np.array([0.0, 1.2]), 2000, np.zeros(2), h)
    # omega^2 = 2 k / m; an implicit step damps by h omega^2 / 2.
    omega, t = math.sqrt(2.0 * k), 2000 * h
    expected = 1.0 + 0.2 * math.cos(omega * t) * math.exp(-0.5 * h * omega**2 * t)
    assert q[1] - q[0] == pytest.approx(expected, abs=2e-4)


def test_rigid_distance_keeps_its_length() -> None:
    add = lambda p, q: p.add_distance({0: [[-1.0]], 1: [[1.0]]}, q[1] - q[0] - 1.0)  # noqa: E731
    q, v = simulate(add, [1.0, 3.0], np.array([0.0, 1.0]), 300, np.array([0.0, 8.0]))
    np.testing.assert_allclose(v, 8.0 / 4.0 * 0.3, rtol=1e-6)
    assert q[1] - q[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("rows", [3, 6])
def test_ball_and_weld_move_two_bodies_as_one(rows: int) -> None:
    """Both at one place with the same orientation; a ball lets them turn."""
    masses = [1.0, 3.0]
    A = [np.diag([0.2 * m] * 3 + [m] * 3) for m in masses]
    J = np.eye(6)[6 - rows :]
    v = np.arange(12.0) / 10.0
    problem = ContactProblem([6, 6], 1e-3, SAP, relative_tolerance=1e-12)
    problem.add_holonomic({0: -J, 1: J}, np.zeros(rows))
    after = problem.solve(A, v, v).v
    together = (v[:6] * masses[0] + v[6:] * masses[1]) / 4.0
    free = slice(0, 6 - rows)
    bound = slice(6 - rows, 6)
    # A nearly rigid constraint with beta = 0.1 leaves beta^2 / (4 pi^2) / sqrt(n) = 1.5e-4 of the velocity, at most.
    np.testing.assert_allclose(after[:6][bound], together[bound], atol=2e-4)
    np.testing.assert_allclose(after[6:][bound], together[bound], atol=2e-4)
    np.testing.assert_array_equal(after[:6][free], v[:6][free])


def test_drive_gives_its_effort_up_to_the_limit() -> None:
    h, Kp, Kd, error, v = 1e-2, 30.0, 2.0, 0.4, -0.3
    for limit in (math.inf, 5.0):
        problem = ContactProblem([1], h, LAGGED, relative_tolerance=1e-14)
        problem.add_drive(0, 0, error, Kp=Kp, Kd=Kd, velocity_target=0.1, feedforward=0.7, effort_limit=limit)
        solution = problem.solve([[[MASS]]], [v], [v])
        effort = 0.7 - Kp * (error + h * solution.v[0]) - Kd * (solution.v[0] - 0.1)
        assert solution.impulses[0][0] == pytest.approx(h * max(-limit, min(limit, effort)), rel=1e-12)
        assert MASS * (solution.v[0] - v) == pytest.approx(solution.impulses[0][0], abs=1e-14)
