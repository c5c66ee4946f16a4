"""Products with the blocks of A and J, of the trees and constraints of one island."""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.multibody.contact.layout import Array, Problem
from merganser.multibody.contact.six import add_three_rows_of_six, three_rows_times_six

__all__ = [
    "add_row",
    "dot_over_trees",
    "multiply_jacobian",
    "multiply_jacobian_transpose",
    "multiply_matrix",
    "row_product",
]


@device
def multiply_matrix(problem: Problem, trees: Array, x: Array, out: Array) -> None:
    """out = A x, for the velocities of some trees; both have the shape [num_v]."""
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        n = tree["num_v"]
        part, result = x[tree["v_start"] : tree["v_start"] + n], out[tree["v_start"] : tree["v_start"] + n]
        for r in range(n):
            row = problem.matrix[tree["matrix_start"] + r * n : tree["matrix_start"] + (r + 1) * n]
            total = 0.0
            for k in range(n):
                total += row[k] * part[k]
            result[r] = total


@device
def multiply_jacobian(problem: Problem, constraints: Array, x: Array, out: Array) -> None:
    """out = J x, for the rows of some constraints, shape [num_rows]."""
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["num_rows"] == 3:
            row = c["row_start"]
            w_0, w_1, w_2 = _three_products(problem, c["tree_0"], c["jacobian_0"], x)
            if c["tree_1"] >= 0:
                u_0, u_1, u_2 = _three_products(problem, c["tree_1"], c["jacobian_1"], x)
                w_0, w_1, w_2 = w_0 + u_0, w_1 + u_1, w_2 + u_2
            out[row], out[row + 1], out[row + 2] = w_0, w_1, w_2
            continue
        for r in range(c["num_rows"]):
            out[c["row_start"] + r] = row_product(problem, c["tree_0"], c["jacobian_0"], r, x)
            if c["tree_1"] >= 0:
                out[c["row_start"] + r] += row_product(problem, c["tree_1"], c["jacobian_1"], r, x)


@inlined
def _three_products(problem: Problem, t: int, start: int, x: Array) -> tuple[float, float, float]:
    """What contacts have: three rows of a block of J, times x."""
    tree = problem.trees[t]
    n, at = tree["num_v"], tree["v_start"]
    if n == 6:
        return three_rows_times_six(start, at, problem.jacobian, x)
    w_0, w_1, w_2 = 0.0, 0.0, 0.0
    for k in range(n):
        w_0 += problem.jacobian[start + k] * x[at + k]
        w_1 += problem.jacobian[start + n + k] * x[at + k]
        w_2 += problem.jacobian[start + 2 * n + k] * x[at + k]
    return w_0, w_1, w_2


@device
def row_product(problem: Problem, t: int, jacobian_start: int, row: int, x: Array) -> float:
    """Product of one row of a block of J with x."""
    tree = problem.trees[t]
    n = tree["num_v"]
    block = problem.jacobian[jacobian_start + row * n : jacobian_start + (row + 1) * n]
    part = x[tree["v_start"] : tree["v_start"] + n]
    total = 0.0
    for k in range(n):
        total += block[k] * part[k]
    return total


@device
def multiply_jacobian_transpose(problem: Problem, trees: Array, constraints: Array, y: Array, out: Array) -> None:
    """out = J^T y, for the velocities of some trees, of which these are all the constraints; y has a number a row."""
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            out[k] = 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["num_rows"] == 3:
            gamma = y[c["row_start"] : c["row_start"] + 3]
            if gamma[0] != 0.0 or gamma[1] != 0.0 or gamma[2] != 0.0:
                _add_three_rows(problem, c["tree_0"], c["jacobian_0"], gamma, out)
                if c["tree_1"] >= 0:
                    _add_three_rows(problem, c["tree_1"], c["jacobian_1"], gamma, out)
            continue
        for r in range(c["num_rows"]):
            value = y[c["row_start"] + r]
            if value != 0.0:
                add_row(problem, c["tree_0"], c["jacobian_0"], r, value, out)
                if c["tree_1"] >= 0:
                    add_row(problem, c["tree_1"], c["jacobian_1"], r, value, out)


@inlined
def _add_three_rows(problem: Problem, t: int, jacobian_start: int, gamma: Array, out: Array) -> None:
    """What contacts have: half the time of three single rows."""
    tree = problem.trees[t]
    n = tree["num_v"]
    if n == 6:
        add_three_rows_of_six(jacobian_start, tree["v_start"], gamma[0], gamma[1], gamma[2], problem.jacobian, out)
        return
    block = problem.jacobian[jacobian_start : jacobian_start + 3 * n]
    part = out[tree["v_start"] : tree["v_start"] + n]
    y_0, y_1, y_2 = gamma[0], gamma[1], gamma[2]
    for k in range(n):
        part[k] += y_0 * block[k] + y_1 * block[n + k] + y_2 * block[2 * n + k]


@device
def add_row(problem: Problem, t: int, jacobian_start: int, row: int, value: float, out: Array) -> None:
    """out += value times one row of a block of J."""
    tree = problem.trees[t]
    n = tree["num_v"]
    block = problem.jacobian[jacobian_start + row * n : jacobian_start + (row + 1) * n]
    part = out[tree["v_start"] : tree["v_start"] + n]
    for k in range(n):
        part[k] += value * block[k]


@device
def dot_over_trees(problem: Problem, trees: Array, x: Array, y: Array) -> float:
    """x . y over the velocities of some trees."""
    total = 0.0
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            total += x[k] * y[k]
    return total
