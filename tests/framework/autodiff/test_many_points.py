"""Functions of AutoDiffXd at many points in one call give what a call for each point gives, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue
from merganser.framework.autodiff.blocks import as_variables
from merganser.framework.autodiff.many_points import ManyPoints, at_many_points

POINTS = np.random.default_rng(0).uniform(0.1, 0.9, (5, 3))


def one_by_one(function: Any, points: Any = POINTS) -> tuple[Any, Any]:
    found = [np.array(function(as_variables(point)), dtype=object).ravel() for point in points]
    return np.array([ExtractValue(each).ravel() for each in found]), np.array([ExtractGradient(each) for each in found])


FUNCTIONS = {
    "sums": lambda x: [x[0] + x[1] - 2.0, 3 - x[2], -x[0] + np.float64(0.5), +x[1]],
    "products": lambda x: [x[0] * x[1], 2.0 * x[2] * np.float64(3.0), x[0] / x[1], 1.0 / x[2], x[0] / 4],
    "powers": lambda x: [x[0] ** 2, x[1] ** -1.5, x[2] ** 0, x[0].pow(3)],
    "angles": lambda x: [*np.sin(x), np.cos(x[0]), np.tan(x[1]), np.arcsin(x[2]), np.arccos(x[0]), x[1].arctan()],
    "growth": lambda x: [np.sinh(x[0]), np.cosh(x[1]), np.tanh(x[2]), np.exp(x[0]), np.log(x[1]), np.sqrt(x[2])],
    "arrays": lambda x: np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 2.0]]) @ x * x.dot(x) + np.linalg.norm(x),
    "constants": lambda x: [x[0] * x[1] + 1.0, 7.0, np.int64(3)],
    "a single number": lambda x: sum(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_are_those_of_each_point(name: str) -> None:
    found = at_many_points(FUNCTIONS[name], POINTS)
    assert found is not None
    for many, each in zip(found, one_by_one(FUNCTIONS[name])):
        np.testing.assert_allclose(many, each, rtol=1e-13, atol=1e-13)


def test_infinite_slopes_do_not_act_where_nothing_changes() -> None:
    points = np.array([[0.0, 1.0, 2.0], [4.0, 1.0, 2.0]])

    def roots(x: Any) -> Any:
        return [np.sqrt(x[0]) + x[1], (x[0] * 0.0) ** 0.5, x[0] ** 0.5]

    found = at_many_points(roots, points)
    assert found is not None
    for many, each in zip(found, one_by_one(roots, points)):
        np.testing.assert_array_equal(many, each)


def caught(x: Any) -> Any:
    try:
        return [x[0].value()]
    except Exception:
        return [0.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x[0] if x[0] > 0.5 else x[1]],
        lambda x: [max(x[0], x[1])],
        lambda x: [np.maximum(x[0], 0.5)],
        lambda x: [abs(x[0] - 0.5)],
        lambda x: [x[0].value()],
        lambda x: ExtractValue(x),
        lambda x: [x[0] * float(str(x[1])[3:8])],
        lambda x: [x[0] ** x[1]],
        lambda x: [2.0 ** x[1]],
        lambda x: [x[0] * np.inf],
        lambda x: [x[0] * AutoDiffXd(1.0, [1.0, 0.0, 0.0])],
        lambda x: [AutoDiffXd(1.0, [1.0, 0.0, 0.0])],
        lambda x: ["text"],
        lambda x: [x[3]],
        caught,
    ],
)
def test_what_depends_on_values_has_no_common_answer(function: Any) -> None:
    assert at_many_points(function, POINTS) is None


def test_an_argument_that_is_kept_says_why_it_has_no_value_later() -> None:
    kept: list[Any] = []
    assert at_many_points(lambda x: [kept.append(x[0]) or x[0] * x[1]], POINTS) is not None
    with pytest.raises(RuntimeError, match="ExtractValue"):
        kept[0].value()
    other = at_many_points(lambda x: [x[0] + kept[0]], POINTS)
    assert other is None


def test_a_function_that_answers_otherwise_for_many_points_is_called_for_each() -> None:
    def sly(x: Any) -> Any:
        return [x[0] * 2.0 if type(x[0]) is AutoDiffXd else x[0] * 3.0]

    def alone(point: Any) -> Any:
        values, slopes = one_by_one(sly, point[np.newaxis])
        return values[0], slopes[0]

    many = ManyPoints(sly)
    assert many.at(POINTS, alone) is None and many.is_refused
