"""What programs answer about their constraints, guesses and scales; families of polynomials, and parts of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import LinearConstraint, MathematicalProgram, Solve
from merganser.framework.symbolic import Polynomial, Variables


def test_constraints_are_evaluated_at_points_and_guesses() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    rows = prog.AddLinearConstraint(np.array([[1.0, 2.0, 0.0]]), [-1.0], [4.0], x)
    square = prog.AddCost(x[1] ** 2 + x[2] ** 2)
    points = np.random.default_rng(0).normal(size=(3, 5))
    together = prog.EvalBindingVectorized(rows, points)
    np.testing.assert_allclose(together, [points[0] + 2.0 * points[1]])
    both = prog.EvalBindings([rows, square], points[:, 0])
    np.testing.assert_allclose(both, [together[0, 0], points[1, 0] ** 2 + points[2, 0] ** 2])
    assert prog.EvalBindings([], points[:, 0]).size == 0
    prog.SetInitialGuess(x[:2], [1.0, 2.0])
    with pytest.raises(ValueError, match="guess"):
        prog.EvalBindingAtInitialGuess(square)
    prog.SetInitialGuess(x[2], 3.0)
    assert prog.EvalBindingAtInitialGuess(square) == 13.0 and not prog.CheckSatisfiedAtInitialGuess(rows)
    assert prog.CheckSatisfiedAtInitialGuess(bindings=[rows], tol=1.1)
    row = LinearConstraint(np.ones((1, 3)), [0.0], [1.0])
    assert row.CheckSatisfiedVectorized(np.array([[0.2, 2.0], [0.2, 0.0], [0.2, 0.0]]), 1e-9) == [True, False]
    prog.SetVariableScaling(x[1], 10.0)
    assert prog.GetVariableScaling() == {1: 10.0}
    prog.ClearVariableScaling()
    assert prog.GetVariableScaling() == {}


@pytest.mark.parametrize(
    ("name", "degree", "count", "is_even"),
    [
        ("NewFreePolynomial", 3, 10, None), ("NewEvenDegreeFreePolynomial", 2, 4, 0),
        ("NewOddDegreeFreePolynomial", 3, 6, 1),
    ],
)
def test_free_polynomials_have_a_new_coefficient_for_each_monomial(
    name: str, degree: int, count: int, is_even: int | None
) -> None:
    prog = MathematicalProgram()
    z = prog.NewIndeterminates(2)
    polynomial: Any = getattr(prog, name)(Variables(z), degree)
    powers = [monomial.total_degree() for monomial in polynomial.monomial_to_coefficient_map()]
    assert len(powers) == prog.num_vars() == count and max(powers) == degree
    assert is_even is None or {power % 2 for power in powers} == {is_even}


@pytest.mark.parametrize("kind", ["Sos", "Sdsos", "Dsos"])
def test_nonnegative_polynomials_of_even_degrees_are_so(kind: str) -> None:
    prog = MathematicalProgram()
    z = prog.NewIndeterminates(2)
    polynomial, odd, even = getattr(prog, f"NewEvenDegree{kind}Polynomial")(Variables(z), 4)
    assert odd.shape == (2, 2) and even.shape == (4, 4)
    prog.AddEqualityConstraintBetweenPolynomials(polynomial, Polynomial(z[0] ** 4 + z[1] ** 4 + 2.0 * z[0] ** 2 + 1.0))
    result = Solve(prog)
    assert result.is_success()
    for gram in (odd, even):
        assert np.linalg.eigvalsh(result.GetSolution(gram)).min() > -1e-6
    with pytest.raises(ValueError, match="even degree, got 3"):
        getattr(prog, f"NewEvenDegree{kind}Polynomial")(Variables(z), 3)


def test_determinants_have_lower_bounds_and_parts_of_matrices_are_positive() -> None:
    prog = MathematicalProgram()
    X = prog.NewSymmetricContinuousVariables(2)
    prog.AddLogDeterminantLowerBoundConstraint(X, np.log(4.0))
    prog.AddLinearCost(np.ones(2), X.diagonal())
    result = Solve(prog)
    np.testing.assert_allclose(result.GetSolution(X), 2.0 * np.eye(2), atol=1e-3)  # the least trace of det X >= 4
    part = MathematicalProgram()
    Y = part.NewSymmetricContinuousVariables(3)
    part.AddPrincipalSubmatrixIsPsdConstraint(Y, {0, 2})
    part.AddPrincipalSubmatrixIsPsdConstraint(Y + np.eye(3), {1})
    part.AddBoundingBoxConstraint(1.0, 1.0, [Y[0, 0], Y[0, 2]])
    part.AddLinearCost(np.ones(2), [Y[2, 2], Y[1, 1]])
    found = Solve(part)
    assert found.get_optimal_cost() == pytest.approx(0.0, abs=1e-6)  # Y22 = 1 as 1 Y22 >= 1, and Y11 = -1
    assert found.GetSolution(Y[2, 2]) == pytest.approx(1.0, abs=1e-6)
