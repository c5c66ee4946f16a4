"""Interior points against IPOPT: the same optima, from the same guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cart_pole_collocation import LIMITS, accelerations, cart_pole, guess, time_step
from hock_schittkowski import PROBLEMS
from nonlinear_problems import dense_problem

from merganser.framework.optimization.interior_point import solve

solvers = pytest.importorskip("pydrake.solvers")


def ipopt_cart_pole(num_knots: int) -> Any:
    program, h = solvers.MathematicalProgram(), time_step(num_knots)
    knots, line = program.NewContinuousVariables(5 * num_knots).reshape(num_knots, 5), guess(num_knots)

    def rates(z: Any) -> Any:
        return np.array([z[2], z[3], *accelerations(z[1], z[3], z[4])])

    def defect(pair: Any) -> Any:
        return pair[5:9] - pair[:4] - 0.5 * h * (rates(pair[:5]) + rates(pair[5:]))

    for k in range(num_knots - 1):
        program.AddConstraint(defect, np.zeros(4), np.zeros(4), np.concatenate([knots[k], knots[k + 1]]))
        program.AddQuadraticCost(np.eye(2) * h, np.zeros(2), knots[k : k + 2, 4])
    program.AddBoundingBoxConstraint(np.tile(-LIMITS, num_knots), np.tile(LIMITS, num_knots), knots.ravel())
    for k in (0, -1):
        program.AddBoundingBoxConstraint(line[k, :4], line[k, :4], knots[k, :4])
    return solvers.IpoptSolver().Solve(program, line.ravel())


@pytest.mark.parametrize("num_knots", [21, 81])
def test_cart_pole_has_the_optimum_of_ipopt(num_knots):
    reference = ipopt_cart_pole(num_knots)
    assert reference.is_success()
    for is_exact in (True, False):
        result = solve(cart_pole(num_knots, is_exact), guess(num_knots).ravel())
        np.testing.assert_allclose(result.cost, reference.get_optimal_cost(), rtol=1e-6)
        np.testing.assert_allclose(result.x, reference.get_x_val(), atol=1e-3)


@pytest.mark.parametrize("number", [20, 55])
def test_local_minima_of_hock_schittkowski_are_those_of_ipopt(number):
    """From the guesses of the source, which lead elsewhere than to the published optima."""
    test = PROBLEMS[number]
    n, x = len(test.guess), np.array(test.guess, float)
    low = np.zeros(len(test.inequalities(x)) + len(test.equations(x)))
    high = np.where(np.arange(len(low)) < len(test.inequalities(x)), np.inf, 0.0)

    def constraints(x: Any) -> Any:
        return [*test.inequalities(x), *test.equations(x)]

    bounds = np.broadcast_to(test.lower, n).astype(float), np.broadcast_to(test.upper, n).astype(float)
    program = solvers.MathematicalProgram()
    variables = program.NewContinuousVariables(n)
    program.AddCost(test.cost, variables)
    program.AddConstraint(lambda x: np.array(constraints(x)), low, high, variables)
    program.AddBoundingBoxConstraint(*bounds, variables)
    reference = solvers.IpoptSolver().Solve(program, x)
    result = solve(dense_problem(*bounds, test.cost, constraints, low, high), x)
    assert result.is_success()
    assert result.cost <= reference.get_optimal_cost() + 1e-6 * abs(reference.get_optimal_cost())
