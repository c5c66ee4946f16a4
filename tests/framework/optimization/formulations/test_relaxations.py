"""Relaxations of programs that are not convex: semidefinite ones, products of variables, rotations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RotationMatrix
from merganser.framework.optimization import (
    AddBilinearProductMcCormickEnvelopeSos2,
    ClarabelSolver,
    HighsSolver,
    IntervalBinning,
    MakeSemidefiniteRelaxation,
    MathematicalProgram,
    MixedIntegerRotationConstraintGenerator,
    SemidefiniteRelaxationOptions,
    Solve,
)
from merganser.framework.optimization.formulations.sphere_caps import caps_of_boxes
from merganser.framework.symbolic import Variables

Approach = MixedIntegerRotationConstraintGenerator.Approach


def quadratic_program(seed: int) -> tuple[MathematicalProgram, Any, Any]:
    """A program over a cube, and its cost as a function of columns."""
    rng = np.random.default_rng(seed)
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3, "x")
    Q, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    Q = Q + Q.T
    prog.AddQuadraticCost(Q, b, 0.5, x, False)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    return prog, x, lambda points: 0.5 * np.sum(points * (Q @ points), axis=0) + b @ points + 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_semidefinite_relaxation_is_a_lower_bound_that_implied_constraints_raise(seed: int) -> None:
    prog, _, cost = quadratic_program(seed)
    points = np.array(list(product(np.linspace(-1.0, 1.0, 21), repeat=3))).T
    weakest = SemidefiniteRelaxationOptions()
    weakest.set_to_weakest()
    tight = Solve(MakeSemidefiniteRelaxation(prog)).get_optimal_cost()
    loose = Solve(MakeSemidefiniteRelaxation(prog, weakest))
    assert not loose.is_success() or loose.get_optimal_cost() <= tight + 1e-6
    assert tight <= cost(points).min() + 1e-6
    assert tight >= cost(points).min() - 0.5


def test_an_exact_semidefinite_relaxation_has_the_solution_of_the_program() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddLinearCost([1.0, 2.0], x)
    prog.AddQuadraticConstraint(2.0 * np.eye(2), np.zeros(2), 1.0, 1.0, x)  # the circle
    result = Solve(MakeSemidefiniteRelaxation(prog))
    np.testing.assert_allclose(result.GetSolution(x), -np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-4)


def test_groups_of_variables_share_their_entries() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3, "x")
    for pair in (x[:2], x[1:]):
        prog.AddQuadraticCost(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.3, -0.2]), 0.0, pair, False)
        prog.AddBoundingBoxConstraint(-1.0, 1.0, pair)
    whole = Solve(MakeSemidefiniteRelaxation(prog)).get_optimal_cost()
    relaxed = MakeSemidefiniteRelaxation(prog, [Variables(x[:2]), Variables(x[1:])])
    assert [each.evaluator().matrix_rows() for each in relaxed.positive_semidefinite_constraints()] == [3, 3]
    assert Solve(relaxed).get_optimal_cost() == pytest.approx(whole, abs=1e-5)
    with pytest.raises(RuntimeError, match="no group has all"):
        MakeSemidefiniteRelaxation(prog, [Variables(x[:2])])
    prog.AddCost(x[0] ** 4)
    with pytest.raises(RuntimeError, match="the program has GenericCost"):
        MakeSemidefiniteRelaxation(prog)


@pytest.mark.parametrize("binning", list(IntervalBinning))
def test_a_product_is_in_the_tetrahedron_of_its_rectangle(binning: IntervalBinning) -> None:
    prog = MathematicalProgram()
    x, y, w = prog.NewContinuousVariables(3)
    ends_x, ends_y = np.array([-1.0, 0.0, 2.0, 3.0]), np.array([-2.0, 1.0, 2.0])
    counts = (3, 2) if binning is IntervalBinning.kLinear else (2, 1)
    Bx, By = (prog.NewBinaryVariables(count) for count in counts)
    corners = AddBilinearProductMcCormickEnvelopeSos2(prog, x, y, w + 0.0, ends_x, ends_y, Bx, By, binning)
    assert corners.shape == (4, 3)
    place = prog.AddBoundingBoxConstraint(0.0, 0.0, [x, y]).evaluator()
    cost = prog.AddLinearCost([1.0], [w]).evaluator()
    for point in ((-0.5, 0.1), (1.0, 1.5), (2.7, -1.0), (0.0, 1.0)):
        place.set_bounds(point, point)
        i = min(np.searchsorted(ends_x, point[0], "right") - 1, 2)
        j = min(np.searchsorted(ends_y, point[1], "right") - 1, 1)
        (a, b), (c, d) = ends_x[i : i + 2], ends_y[j : j + 2]
        low = max(a * point[1] + c * point[0] - a * c, b * point[1] + d * point[0] - b * d)  # McCormick 1976
        high = min(b * point[1] + c * point[0] - b * c, a * point[1] + d * point[0] - a * d)
        for sign, wanted in ((1.0, low), (-1.0, -high)):
            cost.UpdateCoefficients([sign])
            assert Solve(prog).get_optimal_cost() == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(ValueError, match="binary variables in Bx"):
        AddBilinearProductMcCormickEnvelopeSos2(prog, x, y, w, ends_x, ends_y, Bx[:1], By, binning)
    with pytest.raises(ValueError, match="ascend"):
        AddBilinearProductMcCormickEnvelopeSos2(prog, x, y, w, ends_x[::-1], ends_y, Bx, By, binning)


def test_caps_cover_the_sphere_and_are_no_wider_than_their_boxes_need() -> None:
    phi = np.linspace(-1.0, 1.0, 7)
    caps = {cap.index: cap for cap in caps_of_boxes(phi)}
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    points /= np.linalg.norm(points, axis=1)[:, np.newaxis]
    nearest: dict[Any, float] = {}
    for point in points:
        index = tuple(int(i) for i in np.searchsorted(phi, point) - 1)
        axis = caps[index].axis
        assert axis is not None
        nearest[index] = min(nearest.get(index, 1.0), float(axis @ point))
    for index, least in nearest.items():
        assert caps[index].least <= least + 1e-12
        assert caps[index].least >= least - 0.05  # some point is near the rim


@pytest.mark.parametrize(("approach", "binning"), list(zip(Approach, [*IntervalBinning, IntervalBinning.kLogarithmic])))
def test_every_rotation_is_allowed_and_what_is_far_from_one_is_not(approach: Any, binning: IntervalBinning) -> None:
    generator = MixedIntegerRotationConstraintGenerator(approach, 1, binning)
    prog = MathematicalProgram()
    R = prog.NewContinuousVariables(3, 3, "R")
    added = generator.AddToProgram(R, prog)
    assert added.lambda_[1][2].shape == (3,) and added.B_[1][2].shape == ((2,) if int(binning) else (1,))
    box = prog.AddBoundingBoxConstraint(0.0, 0.0, R).evaluator()

    def is_allowed(matrix: Any) -> bool:
        values = np.asarray(matrix).ravel("F")
        box.set_bounds(values - 1e-9, values + 1e-9)
        return HighsSolver().Solve(prog).is_success()

    rotations = [np.eye(3), np.eye(3)[[1, 2, 0]], RotationMatrix.MakeXRotation(0.3).matrix()]
    assert all(map(is_allowed, [*rotations, RotationMatrix.MakeZRotation(2.0).matrix() @ rotations[2]]))
    assert not any(map(is_allowed, (-np.eye(3), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 1.0, 0.0]))))


def test_the_relaxation_of_a_rotation_is_as_wide_as_its_intervals() -> None:
    generator = MixedIntegerRotationConstraintGenerator(Approach.kBoth, 2, IntervalBinning.kLogarithmic)
    np.testing.assert_array_equal(generator.phi(), [-1.0, -0.5, 0.0, 0.5, 1.0])
    np.testing.assert_array_equal(generator.phi_nonnegative(), [0.0, 0.5, 1.0])
    prog = MathematicalProgram()
    R = prog.NewContinuousVariables(3, 3, "R")
    generator.AddToProgram(R, prog)
    first = RotationMatrix.MakeXRotation(0.4).matrix() @ RotationMatrix.MakeYRotation(0.7).matrix()
    prog.AddBoundingBoxConstraint(first[:, :2] - 1e-9, first[:, :2] + 1e-9, R[:, :2])
    for axis in range(3):  # the third column follows of the other two, nearly
        prog.AddLinearCost([1.0], [R[axis, 2]])
        result = Solve(prog)
        np.testing.assert_allclose(result.GetSolution(R[:, 2]), first[:, 2], atol=0.3)
        prog.RemoveCost(prog.linear_costs()[0])


def test_relaxations_refuse_what_they_cannot_take() -> None:
    with pytest.raises(ValueError, match="num_intervals_per_half_axis >= 1"):
        MixedIntegerRotationConstraintGenerator(Approach.kBoth, 0, IntervalBinning.kLinear)
    prog = MathematicalProgram()
    generator = MixedIntegerRotationConstraintGenerator(Approach.kBoth, 1, IntervalBinning.kLinear)
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        generator.AddToProgram(prog.NewContinuousVariables(3, 2), prog)
    with pytest.raises(ValueError, match="not a decision variable"):
        generator.AddToProgram(MathematicalProgram().NewContinuousVariables(3, 3), prog)


def test_semidefinite_relaxations_are_solved_by_clarabel() -> None:
    prog, _, _ = quadratic_program(0)
    assert Solve(MakeSemidefiniteRelaxation(prog)).get_solver_id() == ClarabelSolver.id()
