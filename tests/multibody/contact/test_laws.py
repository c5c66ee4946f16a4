"""Each law of impulses is the gradient of its potential, and its Hessian the derivative of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from merganser.multibody.contact import make_settings
from merganser.multibody.contact.bounded import bounded_response
from merganser.multibody.contact.hunt_crossley import set_implicit_impulse
from merganser.multibody.contact.laws import set_impulse, set_law
from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR, TAMSI, law_dtype
from merganser.multibody.linear.records import constraint_dtype

RNG = np.random.default_rng(7)
POINTS = RNG.normal(size=(60, 3)) * 0.3
STEP = 1e-6


def matrix(response: tuple[float, ...]) -> NDArray[np.float64]:
    """The symmetric matrix that a response packs."""
    _, _, _, a, b, c, d, e, f = response
    return np.array([[a, b, d], [b, c, e], [d, e, f]])


def slope(function, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Central differences, one column for each direction."""
    return np.stack([(function(at + d) - function(at - d)) / (2.0 * STEP) for d in STEP * np.eye(3)], axis=-1)


def empty_law() -> Any:
    """A law of which no number is set."""
    return np.full(len(law_dtype), math.nan).view(law_dtype)[0]


def law_of(approximation: int, mu: float, dissipation: float = 0.0, softness: float = 1e-3) -> Any:
    """A law as the solver sets it, of a contact with k = 2e4 N/m and f_0 = 40 N before a step of 0.02 s."""
    settings, law = make_settings(approximation, stiction_tolerance=softness, sigma=0.2), empty_law()
    constraint = np.zeros(1, constraint_dtype)[0]
    constraint["friction"], constraint["stiffness"], constraint["damping"] = mu, 2e4, dissipation
    constraint["elastic_force"], constraint["relaxation_time"], constraint["beta"] = 40.0, 0.03, 1.0
    law["approximation"], law["time_step"], law["compliance"], law["gap"] = approximation, 0.02, 0.1, -2.5e-3
    set_law(settings, constraint, np.array([0.1, 0.0, -0.2]), law)
    return law


def cone_law(mu: float = 0.6) -> Any:
    return law_of(SAP, mu)


def hunt_crossley_law(approximation: int, dissipation: float = 2.0, softness: float = 0.01) -> Any:
    return law_of(approximation, 0.6, dissipation, softness)


def response(law: Any, v: Any, answer: Any = set_impulse) -> tuple[float, ...]:
    """gamma and the numbers of G at a velocity v_c."""
    impulse, hessian = np.full(3, math.nan), np.full(6, math.nan)
    answer(law, np.asarray(v), impulse, hessian)
    return *impulse.tolist(), *hessian.tolist()


def cone_potential(law: Any, *v: float) -> float:
    """l_c = 1/2 gamma^T R gamma at a velocity v_c [J]."""
    t_1, t_2, n = response(law, v)[:3]
    return 0.5 * ((t_1 * t_1 + t_2 * t_2) / law["tangent_gain"] + n * n / law["gain"]) if n != 0.0 else 0.0


def hunt_crossley_potential(approximation: int, law: Any, v_1: float, v_2: float, v_n: float) -> float:
    """l_c at a velocity v_c [J], equations (3) and (4) of hunt_crossley.py."""
    mu, eps = law["friction"], law["softness"]
    s = math.sqrt(v_1 * v_1 + v_2 * v_2 + eps * eps) - eps
    if approximation == SIMILAR:
        return -antiderivative(law["elastic"], law["gain"], law["dissipation"], v_n - mu * s)
    return -antiderivative(law["elastic"], law["gain"], law["dissipation"], v_n) + mu * law["lagged"] * s


def antiderivative(elastic: float, gain: float, dissipation: float, v: float) -> float:
    """N(v), equation (2) of hunt_crossley.py."""
    v = min(v, elastic / gain, 1.0 / dissipation if dissipation > 0.0 else math.inf)
    return v * (elastic - v * (0.5 * (gain + elastic * dissipation) - v * gain * dissipation / 3.0))


def bounded_potential(law: Any, v: float) -> float:
    """Potential of one row at a velocity [J], bounded.py."""
    gamma = bounded_response(law, v)[0]
    if law["gain"] == 0.0:
        return -gamma * v
    y = law["offset"] - law["gain"] * v
    return gamma * (y - 0.5 * gamma) / law["gain"]


LAWS = {
    "cone": (
        lambda u: cone_potential(cone_law(), *u),
        lambda u: response(cone_law(), u),
    ),
    "frictionless cone": (
        lambda u: cone_potential(cone_law(0.0), *u),
        lambda u: response(cone_law(0.0), u),
    ),
    "similar": (
        lambda u: hunt_crossley_potential(SIMILAR, hunt_crossley_law(SIMILAR), *u),
        lambda u: response(hunt_crossley_law(SIMILAR), u),
    ),
    "lagged": (
        lambda u: hunt_crossley_potential(LAGGED, hunt_crossley_law(LAGGED), *u),
        lambda u: response(hunt_crossley_law(LAGGED), u),
    ),
    "lagged without dissipation": (
        lambda u: hunt_crossley_potential(LAGGED, hunt_crossley_law(LAGGED, 0.0), *u),
        lambda u: response(hunt_crossley_law(LAGGED, 0.0), u),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_impulse_is_minus_the_gradient_of_the_potential(name: str) -> None:
    potential, answer = LAWS[name]
    for u in POINTS:
        np.testing.assert_allclose(-slope(potential, u), answer(u)[:3], atol=2e-8)


@pytest.mark.parametrize("name", LAWS)
def test_hessian_is_minus_the_derivative_of_the_impulse(name: str) -> None:
    answer = LAWS[name][1]
    for u in POINTS:
        np.testing.assert_allclose(-slope(lambda x: np.array(answer(x)[:3]), u), matrix(answer(u)), atol=2e-6)


@pytest.mark.parametrize("name", LAWS)
def test_hessian_is_positive_semidefinite(name: str) -> None:
    answer = LAWS[name][1]
    for u in POINTS:
        assert np.linalg.eigvalsh(matrix(answer(u))).min() > -1e-12


def test_implicit_friction_has_the_derivatives_it_says() -> None:
    law = hunt_crossley_law(TAMSI, softness=0.2)  # so that points are within the band of sticking, and outside
    assert min(np.linalg.norm(POINTS[:, :2], axis=1)) < 0.2 < max(np.linalg.norm(POINTS[:, :2], axis=1))
    for u in POINTS:
        G = matrix(response(law, u, set_implicit_impulse))
        G[2, :2] = 0.0
        impulse = lambda x: np.array(response(law, x, set_implicit_impulse)[:3])  # noqa: E731
        np.testing.assert_allclose(-slope(impulse, u), G, atol=2e-7)


def test_cone_impulse_is_the_nearest_one_in_the_cone() -> None:
    """Projection in the norm of R: what is cut off is normal to the impulse, and points away from the cone."""
    mu, law = 0.6, cone_law()
    R = np.array([1.0 / law["tangent_gain"], 1.0 / law["tangent_gain"], 1.0 / law["gain"]])
    directions = RNG.normal(size=(200, 3))
    cone = directions[np.hypot(directions[:, 0], directions[:, 1]) <= mu * directions[:, 2]]
    for u in POINTS:
        gamma = np.array(response(law, u)[:3])
        y = (np.array([0.0, 0.0, law["normal_target"]]) - u) / R
        assert np.hypot(gamma[0], gamma[1]) <= mu * gamma[2] + 1e-12
        assert abs((y - gamma) @ (R * gamma)) < 1e-12
        assert np.all(cone @ (R * (y - gamma)) < 1e-12)


def test_all_regions_of_the_cone_are_among_the_points() -> None:
    results = [response(cone_law(), u) for u in POINTS]
    slips = [abs(np.hypot(r[0], r[1]) - 0.6 * r[2]) < 1e-12 for r in results]
    assert any(r[2] == 0.0 for r in results)
    assert any(s and r[2] > 0.0 for s, r in zip(slips, results))
    assert any(not s for s in slips)


@pytest.mark.parametrize("gain", [0.0, 3.0])
def test_bounded_rows_are_gradients_of_their_potentials(gain: float) -> None:
    law = empty_law()
    law["gain"], law["offset"], law["lower"], law["upper"] = gain, 0.4, -0.5, 0.9
    for v in np.linspace(-1.0, 1.0, 41):
        gamma, G = bounded_response(law, v)
        down, up = (bounded_potential(law, v + d) for d in (-STEP, STEP))
        assert (down - up) / (2.0 * STEP) == pytest.approx(gamma, abs=1e-6)
        assert -0.5 <= gamma <= 0.9
        assert G in (0.0, gain)
