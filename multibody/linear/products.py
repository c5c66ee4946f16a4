"""Products with the blocks of A and J, of the trees and constraints of one island.

Where the columns of J are is known here alone, and to plant_problem.py, which writes them: others ask for a block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.linear.records import Constraint, Problem, Trees
from merganser.multibody.linear.six import add_three_rows_of_six, three_rows_times_six


@device
def multiply_matrix(problem: Problem, trees: Integers, x: Floats, out: Floats) -> None:
    """out = A x, for the velocities of some trees; both have the shape [num_v]."""
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        n = tree["num_v"]
        part, result = x[tree["v_start"] : tree["v_start"] + n], out[tree["v_start"] : tree["v_start"] + n]
        for r in range(n):
            result[r] = 0.0
        for k in range(n):  # A is symmetric: its row k is what velocity k adds, by operations that wait for no sum
            row, value = problem.matrix[tree["matrix_start"] + k * n : tree["matrix_start"] + (k + 1) * n], part[k]
            for r in range(n):
                result[r] += row[r] * value


# ---------------------------------------------------------------------- columns of J


class Block(NamedTuple):
    """The rows of a constraint at the velocities of one of its trees."""

    J: Floats  # by rows, shape [num_rows num_v]
    num_v: int  # its columns: velocities of the tree that follow each other
    first: int  # the first of them
    column: int  # the same, counted within the tree


@inlined
def num_ends(constraint: Constraint) -> int:
    """How many trees a constraint has."""
    return 2 if constraint["tree_1"] >= 0 else 1


@inlined
def tree_of(constraint: Constraint, end: int) -> int:
    """Tree 0 or 1 of a constraint."""
    t: int = constraint["tree_0"] if end == 0 else constraint["tree_1"]
    return t


@inlined
def block_of(trees: Trees, jacobian: Floats, constraint: Constraint, end: int) -> Block:
    """The block of J of one end of a constraint, as a view."""
    start, column, n = constraint["jacobian_0"], constraint["column_0"], constraint["num_columns_0"]
    if end == 1:
        start, column, n = constraint["jacobian_1"], constraint["column_1"], constraint["num_columns_1"]
    first = trees[tree_of(constraint, end)]["v_start"] + column
    return Block(jacobian[start : start + constraint["num_rows"] * n], n, first, column)


@device
def multiply_jacobian(problem: Problem, constraints: Integers, x: Floats, out: Floats) -> None:
    """out = J x, for the rows of some constraints, shape [num_rows]."""
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["num_rows"] == 3:
            row = c["row_start"]
            w_0, w_1, w_2 = _three_products(block_of(problem.trees, problem.jacobian, c, 0), x)
            if num_ends(c) == 2:
                u_0, u_1, u_2 = _three_products(block_of(problem.trees, problem.jacobian, c, 1), x)
                w_0, w_1, w_2 = w_0 + u_0, w_1 + u_1, w_2 + u_2
            out[row], out[row + 1], out[row + 2] = w_0, w_1, w_2
            continue
        multiply_rows(problem, c, x, out)


@device
def multiply_rows(problem: Problem, constraint: Constraint, x: Floats, out: Floats) -> None:
    """out = J x, for the rows of one constraint, one after the other."""
    for r in range(constraint["num_rows"]):
        at = constraint["row_start"] + r
        out[at] = row_product(block_of(problem.trees, problem.jacobian, constraint, 0), r, x, 0.0)
        if num_ends(constraint) == 2:
            out[at] += row_product(block_of(problem.trees, problem.jacobian, constraint, 1), r, x, 0.0)


@inlined
def _three_products(block: Block, x: Floats) -> tuple[float, float, float]:
    """What contacts have: three rows of a block of J, times x."""
    J, n, at, _ = block
    if n == 6:
        return three_rows_times_six(0, at, J, x)
    w_0, w_1, w_2 = 0.0, 0.0, 0.0
    row_0, row_1, row_2, part = J[:n], J[n : 2 * n], J[2 * n : 3 * n], x[at : at + n]
    for k in range(n):
        w_0 += row_0[k] * part[k]
        w_1 += row_1[k] * part[k]
        w_2 += row_2[k] * part[k]
    return w_0, w_1, w_2


@device
def row_product(block: Block, r: int, x: Floats, total: Any) -> Any:
    """Adds to a number the product of one row of a block of J with x."""
    row, part = block.J[r * block.num_v : (r + 1) * block.num_v], x[block.first : block.first + block.num_v]
    for k in range(block.num_v):
        total += row[k] * part[k]
    return total


@device
def has_column(block: Block, k: int) -> bool:
    """Whether a block of J has anything in a column."""
    at, is_there = k, False
    while at < block.J.shape[0]:
        is_there = is_there or any_of(block.J[at] != 0.0)
        at += block.num_v
    return is_there


@device
def multiply_jacobian_transpose(
    problem: Problem, trees: Integers, constraints: Integers, y: Floats, out: Floats
) -> None:
    """out = J^T y, for the velocities of some trees, of which these are all the constraints; y has a number a row."""
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            out[k] = 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["num_rows"] == 3:
            gamma = y[c["row_start"] : c["row_start"] + 3]
            if any_of(gamma[0] != 0.0) or any_of(gamma[1] != 0.0) or any_of(gamma[2] != 0.0):
                for end in range(num_ends(c)):
                    _add_three_rows(block_of(problem.trees, problem.jacobian, c, end), gamma, out)
            continue
        for r in range(c["num_rows"]):
            value = y[c["row_start"] + r]
            if any_of(value != 0.0):
                for end in range(num_ends(c)):
                    add_row(block_of(problem.trees, problem.jacobian, c, end), r, value, out)


@inlined
def _add_three_rows(block: Block, gamma: Floats, out: Floats) -> None:
    """What contacts have: half the time of three single rows."""
    J, n, at, _ = block
    if n == 6:
        add_three_rows_of_six(0, at, gamma[0], gamma[1], gamma[2], J, out)
        return
    row_0, row_1, row_2, part = J[:n], J[n : 2 * n], J[2 * n : 3 * n], out[at : at + n]
    y_0, y_1, y_2 = gamma[0], gamma[1], gamma[2]
    for k in range(n):
        part[k] += y_0 * row_0[k] + y_1 * row_1[k] + y_2 * row_2[k]


@device
def add_row(block: Block, r: int, value: Any, out: Floats) -> None:
    """out += value times one row of a block of J."""
    row, part = block.J[r * block.num_v : (r + 1) * block.num_v], out[block.first : block.first + block.num_v]
    for k in range(block.num_v):
        part[k] += value * row[k]


@device
def copy_columns(block: Block, is_left_out: Integers, out: Block) -> None:
    """Copies a block of J, with zeros in the columns of velocities that are left out; is_left_out: shape [num_v]."""
    n = block.num_v
    for r in range(block.J.shape[0] // n):
        for k in range(n):
            out.J[r * n + k] = block.J[r * n + k] if is_left_out[block.first + k] == 0 else 0.0


@device
def dot_over_trees(problem: Problem, trees: Integers, x: Floats, y: Floats) -> float:
    """x . y over the velocities of some trees."""
    total = 0.0
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            total += x[k] * y[k]
    return total
