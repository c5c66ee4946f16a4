"""The table of elementary functions, and that each kind of scalar and compiled programs compute what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math.elementary import ELEMENTARY, OF_FLOATS
from merganser.framework.native.operations import expression_operations as programs
from merganser.framework.symbolic import Expression, Variable

POINT = 0.3


@pytest.mark.parametrize("name", ELEMENTARY)
def test_every_scalar_has_the_value_and_the_slope_of_the_table(name: str) -> None:
    function, h, q = ELEMENTARY[name], 1e-100, Variable("q")
    step = getattr(np, function.method)(complex(POINT, h))
    assert function.value(POINT) == pytest.approx(step.real, rel=1e-15)
    slope = function.slope(OF_FLOATS, POINT, function.value(POINT))
    assert slope == pytest.approx(step.imag / h, rel=1e-14)
    with_derivative = getattr(AutoDiffXd(POINT, [2.0]), function.method)()
    assert (with_derivative.value(), with_derivative.derivatives()[0]) == (function.value(POINT), 2.0 * slope)
    expression = getattr(Expression(q), function.method)()
    assert expression.Evaluate({q: POINT}) == function.value(POINT)
    assert expression.Differentiate(q).Evaluate({q: POINT}) == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize("number", [i for i, name in enumerate(programs.FUNCTIONS) if name in ELEMENTARY])
def test_programs_number_the_functions_as_the_table_does(number: int) -> None:
    function = ELEMENTARY[programs.FUNCTIONS[number]]
    y = programs._function(number, POINT)
    assert y == function.value(POINT)
    assert programs._slope_of_function(number, POINT, y) == pytest.approx(
        function.slope(OF_FLOATS, POINT, y), rel=1e-15
    )


@pytest.mark.parametrize(("name", "x"), [("log", 0.0), ("sqrt", -1.0), ("asin", 2.0), ("exp", 1000.0), ("log", -1.0)])
def test_values_outside_of_the_domain_are_those_of_ieee_754(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, ELEMENTARY[name].method)(x)
    value = ELEMENTARY[name].value(x)
    assert value == expected or (math.isnan(value) and math.isnan(expected))
