"""TAMSI: Newton's method for implicit friction that follows the normal impulse, and has no potential.

Notation: see layout.py and hunt_crossley.py. The law (5) of hunt_crossley.py couples friction to the normal impulse of
the same step, so that

    F(v) = A (v - v*) - J^T gamma(v) = 0,   dF/dv = A + J^T G J                           (1)

has an unsymmetric G, and no function to minimize. Newton's method diverges where friction turns over within its narrow
band |v_t| < v_s. A step is therefore cut short, transition-aware, for each contact

    - that slides, and would pass by v_t = 0 within the band: to the point next to v_t = 0;               (2)
    - that slides, and would turn by more than 60 degrees: to where it has turned by that;                (3)

and for each constraint with two bounds, friction of a joint or a drive,

    - that is at one bound, and would pass by the other: to the middle between both.                      (4)

What does not converge so is solved by the Lagged approximation, with a warning. It is given up early, where the
residual has not been halved for a while.

Source: Castro et al. (2020), sections V and VI; the elimination of (1) is in unsymmetric.py.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import Mask
from merganser.multibody.contact.hunt_crossley import set_implicit_impulse
from merganser.multibody.contact.layout import (
    CONVERGED,
    NOT_A_NUMBER,
    NOT_CONVERGED,
    Law,
    Laws,
    Solution,
    Statistics,
    StepProblem,
)
from merganser.multibody.contact.newton import (
    calc_tolerance,
    end_search,
    measure_residual,
    minimize_island,
    start_island,
    take_step,
)
from merganser.multibody.contact.potential import calc_impulses
from merganser.multibody.contact.work_arrays import (
    GUESS,
    MOMENTUM_STEP,
    SCRATCH,
    STEP,
    Workspace,
)
from merganser.multibody.linear.ordering import Pattern
from merganser.multibody.linear.products import multiply_jacobian, multiply_matrix
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem
from merganser.multibody.linear.unsymmetric import assemble_panels, factor_panels, solve_panels

_PATIENCE = 40  # iterations in which the residual has to be halved once
_COSINE = 0.5  # of the greatest turn
_SINE = math.sqrt(0.75)


@device
def solve_by_tamsi(
    given: StepProblem,
    problem: Problem,  # without what belongs to locked velocities
    trees: Integers,  # of the island
    constraints: Integers,  # of the island
    pattern: Pattern,
    _energy: float,  # which has no meaning here
    _is_wanted: Mask,  # nor has this
    velocity_guess: Floats,  # work, shape [num_rows]
    work: Workspace,
    solution: Solution,
) -> int:
    """Solves an island by TAMSI, or by the Lagged approximation; arguments and status are those of newton.py."""
    (v, impulses, result), guess = solution, work.velocities[GUESS]
    _copy_velocities(problem, trees, constraints, v, work.velocity, guess, velocity_guess)
    outcome = _search(
        problem, trees, constraints, pattern, given.is_again, given.v_star, work, v, impulses, result
    )  # fmt: skip
    if outcome == CONVERGED:
        return CONVERGED
    _copy_velocities(problem, trees, constraints, guess, velocity_guess, v, work.velocity)
    energy, _ = start_island(problem, trees, v, given.v_star, 0, work.velocities)
    result["num_fallbacks"] += 1
    status: int = minimize_island(
        problem, trees, constraints, pattern, energy, True, 0, given.v_star, work, v, impulses, result
    )  # fmt: skip
    return status


@device
def _search(
    problem: Problem,
    trees: Integers,  # of the island
    constraints: Integers,  # of the island
    pattern: Pattern,
    least: int,  # iterations
    v_star: Floats,
    work: Workspace,
    v: Floats,
    gamma_out: Floats,
    result: Statistics,
) -> int:
    """Newton's method on (1); CONVERGED, NOT_A_NUMBER or NOT_CONVERGED."""
    step, pivots, num_panels = work.velocities[STEP], work.velocities[SCRATCH], trees.shape[0]
    smallest, count_of_smallest = math.inf, 0
    for count in range(problem.settings["max_iterations"] + 1):
        calc_tamsi_impulses(problem, constraints, work.laws, work.velocity, gamma_out, work.hessian)
        residual, scale = measure_residual(problem, trees, constraints, gamma_out, work.velocities)
        if not residual < math.inf:
            return NOT_A_NUMBER
        is_solved = residual <= calc_tolerance(problem, scale) and count >= least
        if is_solved or residual == 0.0:
            end_search(problem, trees, constraints, pattern, residual, scale, gamma_out, v_star, work, v, result)
            return CONVERGED
        if residual < 0.5 * smallest:
            smallest, count_of_smallest = residual, count
        if count == problem.settings["max_iterations"] or count > count_of_smallest + _PATIENCE:
            break
        assemble_panels(problem, num_panels, constraints, pattern, work.hessian, work.factor)
        if not factor_panels(problem.trees, pattern, num_panels, work.factor, pivots):
            return NOT_CONVERGED
        solve_panels(problem.trees, pattern, num_panels, work.factor, pivots, step)
        multiply_matrix(problem, trees, step, work.velocities[MOMENTUM_STEP])
        multiply_jacobian(problem, constraints, step, work.velocity_step)
        alpha = _step_length(problem, constraints, work.laws, work.velocity, work.velocity_step)
        take_step(problem, trees, constraints, alpha, v, work)
        result["total_iterations"] += 1
        result["iterations"] = max(result["iterations"], count + 1)
    return NOT_CONVERGED


@device
def _copy_velocities(
    problem: Problem, trees: Integers, constraints: Integers, v: Floats, velocity: Floats, v_out: Floats,
    velocity_out: Floats,
) -> None:  # fmt: skip
    """Copies what belongs to an island of generalized velocities and of v_c."""
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            v_out[k] = v[k]
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        for r in range(c["row_start"], c["row_start"] + c["num_rows"]):
            velocity_out[r] = velocity[r]


@device
def calc_tamsi_impulses(
    problem: Problem, constraints: Integers, laws: Laws, velocity: Floats, impulse_out: Floats, hessian_out: Floats
) -> None:
    """gamma and G, with the friction of TAMSI in place of that of LAGGED."""
    calc_impulses(problem, constraints, laws, velocity, impulse_out, hessian_out)
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] == CONTACT:
            row = c["row_start"]
            G = hessian_out[HESSIAN_SIZE * row : HESSIAN_SIZE * row + 6]
            set_implicit_impulse(laws[row], velocity[row : row + 3], impulse_out[row : row + 3], G)


@device
def _step_length(problem: Problem, constraints: Integers, laws: Laws, velocity: Floats, velocity_step: Floats) -> float:
    """The greatest step that (2) to (4) allow to all constraints."""
    alpha = 1.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] == CONTACT:
            row = c["row_start"]
            tolerance = laws[row]["softness"]
            d_1, d_2 = velocity_step[row], velocity_step[row + 1]
            alpha = min(alpha, find_transition(tolerance, velocity[row], velocity[row + 1], d_1, d_2))
            continue
        for r in range(c["row_start"], c["row_start"] + c["num_rows"]):
            alpha = min(alpha, _find_crossing(laws[r], velocity[r], velocity_step[r]))
    return alpha


@device
def _find_crossing(law: Law, v: float, d: float) -> float:
    """The part of the step d that a row with two bounds may take, (4), at most 1."""
    lower, upper = law["lower"], law["upper"]
    if not (lower < upper and upper - lower < math.inf):
        return 1.0
    y = law["offset"] - law["gain"] * v
    change = -law["gain"] * d
    if (y >= upper and y + change <= lower) or (y <= lower and y + change >= upper):
        return min(1.0, (0.5 * (lower + upper) - y) / change)
    return 1.0


@device
def find_transition(tolerance: float, v_1: float, v_2: float, d_1: float, d_2: float) -> float:
    """The part of the step d that a contact with slip velocity v may take, (2) and (3), at most 1."""
    v, d = math.sqrt(v_1 * v_1 + v_2 * v_2), math.sqrt(d_1 * d_1 + d_2 * d_2)
    along = v_1 * d_1 + v_2 * d_2
    if v <= tolerance or along >= 0.0:
        return 1.0
    nearest = -along / (d * d)
    distance = abs(v_1 * d_2 - v_2 * d_1) / d
    if distance < tolerance:
        return min(1.0, nearest)
    after = math.sqrt((v_1 + d_1) ** 2 + (v_2 + d_2) ** 2)
    if v * v + along >= _COSINE * v * after:
        return 1.0
    # v + alpha d has turned by the angle whose sine and cosine these are: cross = sine / cosine dot.
    cross = abs(v_1 * d_2 - v_2 * d_1)
    return min(1.0, _SINE * v * v / (_COSINE * cross - _SINE * along))
