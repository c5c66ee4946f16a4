"""Whether a discrete step solves its contact problem, from the definitions: see multibody/contact/README.md.

Nothing of the solver is used but the list of its constraints with their Jacobians, and the impulses that it found. The
masses, and the velocities without constraints, come from the functions of the plant.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR, TAMSI
from merganser.multibody.linear.products import block_of, num_ends
from merganser.multibody.linear.records import CONTACT, DRIVE

Array = NDArray[np.float64]
_SIGMA = 1e-3
_TINY = 1e-300


class StepData(NamedTuple):
    """Inputs of a step: h [s], A = M + h D, v before it, v* without constraints, and the stiction tolerance."""

    time_step: float
    A: Array
    v: Array
    v_star: Array
    stiction_tolerance: float


class Optimality(NamedTuple):
    """How far a step is from a solution.

    Attributes:
        momentum: greatest of all islands, |D (A (v+ - v*) - J^T gamma)| over the tolerance that the solver promises,
            1e-14 + 1e-6 max(|D A v+|, |D J^T gamma|), with D = diag(A)^-1/2. The sums are taken with longer floats.
        law: greatest violation of the law of a constraint, relative to its velocities or to its impulse.
        num_constraints: of the step.
    """

    momentum: float
    law: float
    num_constraints: int


def measure_optimality(plant: Any, context: Any, step: StepData, v_next: Array, approximation: int) -> Optimality:
    """Looks at the step that a plant has just taken; `approximation` is that of its contacts, see layout.py."""
    room = plant._views.workspace(context).step_buffers
    out, trees = room.out, room.model.contact.trees.trees
    problem = out.problem
    n, num_rows = int(problem.counts[0]["constraints"]), int(problem.counts[0]["rows"])
    constraints, rows, gamma = problem.constraints[:n], problem.rows[:num_rows], out.impulses[:num_rows]
    J = dense_jacobian(trees, constraints, problem.jacobian, num_rows, len(step.v))
    violation, alone = 0.0, _drives_alone(constraints, len(trees))
    for k, c in enumerate(constraints):
        part = slice(c["row_start"], c["row_start"] + c["num_rows"])
        row = Row(step, J[part], v_next, rows["g"][part], gamma[part])
        if c["kind"] != CONTACT:
            difference = _bounded_violation(c, row, k in alone)
        elif approximation == SAP:
            difference = cone_violation(c, row)
        else:
            difference = hunt_crossley_violation(c, row, approximation)
        violation = max(violation, difference)
    return Optimality(_momentum_error(step, constraints, trees, J, gamma, v_next), violation, n)


def dense_jacobian(trees: Array, constraints: Array, jacobian: Array, num_rows: int, num_v: int) -> Array:
    """J, shape [num_rows, num_v], of its blocks."""
    J = np.zeros((num_rows, num_v))
    for c in constraints:
        rows, row = int(c["num_rows"]), int(c["row_start"])
        for end in range(num_ends(c)):
            block = block_of(trees, jacobian, c, end)
            J[row : row + rows, block.first : block.first + block.num_v] = block.J.reshape(rows, -1)
    return J


class Row:
    """The rows of one constraint: v_c before and after the step, what rounding it may have, and its compliance w."""

    def __init__(self, step: StepData, J: Array, v_next: Array, g: Array, gamma: Array) -> None:
        self.step, self.g, self.gamma = step, g, gamma
        self.before, self.v = J @ step.v, J @ v_next
        self.size = np.abs(J) @ (np.abs(v_next) + np.abs(step.v))
        self.w = float(np.linalg.norm(J @ (J / np.diag(step.A)).T)) / len(J)
        if np.abs(J).max(initial=0.0) <= 1e-12:
            self.w = 0.0


def _islands(constraints: Any, num_trees: int) -> Array:
    """The island of each tree."""
    links = [(c["tree_0"], c["tree_1"]) for c in constraints if c["tree_1"] >= 0]
    graph = coo_array((np.ones(len(links)), np.array(links, int).reshape(-1, 2).T), (num_trees, num_trees))
    islands: Array = connected_components(graph, directed=False)[1]
    return islands


def _drives_alone(constraints: Any, num_trees: int) -> set[int]:
    """Drives on whose island nothing else acts, which are as stiff as they say."""
    islands = _islands(constraints, num_trees)[constraints["tree_0"]]
    shared = {int(island) for island, kind in zip(islands, constraints["kind"]) if kind != DRIVE}
    return {k for k, island in enumerate(islands) if int(island) not in shared}


def _momentum_error(step: StepData, constraints: Any, trees: Any, J: Array, gamma: Array, v_next: Array) -> float:
    island_of_tree = _islands(constraints, len(trees))
    island_of_velocity = np.repeat(island_of_tree, trees["num_v"])
    D = np.diag(step.A) ** -0.5
    A, impulse = step.A.astype(np.longdouble), J.T.astype(np.longdouble) @ gamma
    error = A @ (v_next.astype(np.longdouble) - step.v_star) - impulse
    parts = error, A @ v_next, impulse
    worst = 0.0
    for island in set(island_of_velocity):
        e, p, i = (float(np.linalg.norm((D * x)[island_of_velocity == island].astype(float))) for x in parts)
        worst = max(worst, e / (1e-14 + 1e-6 * max(p, i)))
    return worst


def cone_violation(c: Any, row: Row) -> float:
    """Whether gamma is in the cone F, R gamma + v_c - v^ in its dual F*, and both are orthogonal."""
    h, mu, gamma = row.step.time_step, c["friction"], row.gamma
    reach = h + c["relaxation_time"]
    if row.w == 0.0 or c["stiffness"] == 0.0:
        return float(np.abs(gamma).max())
    R_n = max(c["beta"] ** 2 / (4.0 * math.pi**2) * row.w, 1.0 / (h * c["stiffness"] * reach))
    target = np.array([0.0, 0.0, -row.g[2] / reach])
    forced = np.array([_SIGMA * row.w, _SIGMA * row.w, R_n]) * gamma
    dual = forced + row.v - target
    velocity = float(np.linalg.norm(forced) + np.linalg.norm(target) + np.linalg.norm(row.size)) * (1.0 + mu)
    impulse = float(np.linalg.norm(gamma))
    outside = max(0.0, float(np.hypot(gamma[0], gamma[1])) - mu * gamma[2], -gamma[2]) / (impulse + _TINY)
    dual_outside = max(0.0, mu * float(np.hypot(dual[0], dual[1])) - dual[2]) / (velocity + _TINY)
    orthogonality = abs(float(dual @ gamma)) / (velocity * impulse + _TINY)
    return max(outside, dual_outside, orthogonality)


def hunt_crossley_violation(c: Any, row: Row, approximation: int) -> float:
    """The difference from equations (3) to (5) of hunt_crossley.py."""
    h, mu, d = row.step.time_step, c["friction"], c["damping"]
    a, b = h * c["elastic_force"], h * h * c["stiffness"]
    lagged = max(0.0, a) * max(0.0, 1.0 - d * row.before[2])
    if row.w > 0.0:  # what is steeper than 1e8 times the rigid gain 1 / w is as steep as that
        a, b = (x * min(1.0, 1e8 / (row.w * (b + d * a) + _TINY)) for x in (a, b))

    def normal(z: float) -> float:
        return max(0.0, a - b * z) * max(0.0, 1.0 - d * z)

    eps = row.step.stiction_tolerance
    if approximation != TAMSI:
        eps = max(eps, mu * _SIGMA * row.w * lagged)
    slip, z = float(np.hypot(row.v[0], row.v[1])), float(row.v[2])
    soft = math.sqrt(slip * slip + eps * eps)
    if approximation == SIMILAR:
        z -= mu * (soft - eps)
    n = normal(z)
    strength = mu * (lagged if approximation == LAGGED else n)
    rate = strength / soft
    if approximation == TAMSI:
        rate = strength * ((2.0 - slip / eps) / eps if slip < eps else 1.0 / slip)
    expected = np.array([-rate * row.v[0], -rate * row.v[1], n])
    slope = (b * (1.0 + d * abs(z)) + d * (a + b * abs(z))) * (1.0 + mu) ** 2 + 2.0 * strength / eps
    return _difference(row, expected, slope)


def _bounded_violation(c: Any, row: Row, is_alone: bool) -> float:
    """The difference from equations (2) to (4) of regularization.py."""
    h, lower, upper = row.step.time_step, c["lower"], c["upper"]
    limit = 4.0 * math.pi**2 / (c["beta"] ** 2 * row.w) if row.w > 0.0 else math.inf
    if c["kind"] == DRIVE:
        Kp, Kd = c["stiffness"], c["damping"]
        if h * (h * Kp + Kd) > limit and not is_alone:
            Kp, Kd = (x * limit / (h * (h * Kp + Kd)) for x in (Kp, Kd))
        gain = h * (h * Kp + Kd)
        offset = h * (c["feedforward"] - Kp * row.g + Kd * c["velocity_target"])
        lower, upper = h * lower, h * upper
    else:
        reach = h + c["relaxation_time"]
        gain = h * c["stiffness"] * reach
        if gain > limit:
            gain, reach = limit, 2.0 * h
        if row.w == 0.0:
            gain = 0.0
        offset = -gain * row.g / reach
    return _difference(row, np.clip(offset - gain * row.v, lower, upper), gain)


def _difference(row: Row, expected: Array, slope: float) -> float:
    """Between impulses, relative to them, or to what a change of the velocities by their size makes of them."""
    difference = float(np.linalg.norm(row.gamma - expected))
    size = float(np.linalg.norm(row.gamma) + np.linalg.norm(expected)) + slope * float(np.linalg.norm(row.size))
    return difference / (size + _TINY)
