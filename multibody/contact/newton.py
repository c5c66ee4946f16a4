"""Newton's method for one island, with exact line search.

    grad l = A (v - v*) - J^T gamma,   H = A + J^T G J,   dv = -H^-1 grad l               (1)

starting from the velocities before the step. l is strongly convex and its gradient continuous, so that the method
converges from everywhere. It ends when the momentum that is left is small,

    |D grad l| <= eps_a + eps_r max(|D A v|, |D J^T gamma|),   D = diag(A)^-1/2           (2)

or no more than the last bits of impulses that cancel in J^T gamma, or when a step changed no velocity by more than
rounding does. Then velocities take up what is left, balance.py. Where contacts are steep, rounding hides from the line
search what very short steps achieve: these are taken whole, some times.

Where many contacts stick and slide, exact steps are cut short by one contact after the other. From the second time on,
the directions of friction are unknowns of their own (friction_directions.py), and line searches are rough.

Of contacts of Hunt and Crossley that are far stiffer than their step resolves, friction with a great coefficient makes
a cone of cliffs, along which steps are short. If the method lingers, it goes on through softer problems: all gains of
contacts are bounded by a multiple of the rigid one 1 / w, which grows tenfold from one to the next.

Steps end where l(v + alpha dv) has its minimum, to the tolerance of the line search:

    f(alpha) = dl/d alpha = dv^T A (v - v*) + alpha dv^T A dv - sum_c gamma_c(v_c + alpha dv_c) . dv_c = 0      (3)

f increases with alpha, by at least dv^T A dv, and is negative at 0. Newton's method finds its zero, from alpha = 1; a
bracket catches steps that leave it, or that do not halve it, as f has kinks where contacts open or start to slide.
J dv is computed once, so that each iteration takes a time proportional to the number of constraints.

Lanes (framework/native/memory/simd.py) search side by side, with step lengths of their own; one that has ended stays.

Sources: Castro et al. (2022), section IV, where (2) is the optimality condition, and (3) in IV.D; W. Press et al.,
Numerical Recipes (2007), section 9.4 (safe Newton).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import larger, select
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.simd import Mask, any_of, both, either
from merganser.multibody.contact.balance import bound_rounding, calc_momentum_left, measure_rounding
from merganser.multibody.contact.friction_directions import forget_directions, soften_hessians, turn_directions
from merganser.multibody.contact.hunt_crossley import soften
from merganser.multibody.contact.layout import (
    CONVERGED,
    NOT_A_NUMBER,
    NOT_CONVERGED,
    SINGULAR_MATRIX,
    Laws,
    Statistics,
)
from merganser.multibody.contact.potential import calc_impulses, calc_slope
from merganser.multibody.contact.work_arrays import (
    IMPULSE,
    MOMENTUM,
    MOMENTUM_STAR,
    MOMENTUM_STEP,
    SCALE,
    STEP,
    Workspace,
)
from merganser.multibody.linear.factorization import factor, solve
from merganser.multibody.linear.hessian import assemble_hessian, set_matrix
from merganser.multibody.linear.ordering import Pattern
from merganser.multibody.linear.paths import find_paths
from merganser.multibody.linear.products import (
    dot_over_trees,
    multiply_jacobian,
    multiply_jacobian_transpose,
    multiply_matrix,
)
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem

_PATIENCE = 25  # iterations before softer problems are tried
_STIFFENING = 10.0
_SHORT = 0.5  # part of a step that was cut short
_MOST_CUT = 2  # such steps before directions of friction become unknowns
_EXACT = 1e-8  # tolerance of the line search, of the slope at its start; as pydrake's, so that solutions agree
_ROUGH = 0.1  # the same where what follows does not depend on it
_TINY = 1e-20  # of twice the kinetic energy: of shorter steps, the line search sees little but rounding
_MOST_FORCED = 3  # such steps, which are taken whole
_MANY = 8  # iterations, after which the rounding of the impulses is looked at, every fourth time
_LEAST_SHIFT = 1e-14  # relative, of the diagonal of H
_UNSEEN = 1e-7  # of the momentum: what a pass may leave out at any tolerance, as 1e5 steps make 1 % of it
_STILL = 1e-30  # of twice the kinetic energy: a step of 1e-15 of the velocities


@device
def start_island(
    problem: Problem, trees: Integers, v: Floats, v_star: Floats, is_again: int, velocities: FloatTable
) -> tuple[float, Mask]:
    """Computes A v, A v* and D of an island.

    Returns:
        v*^T A v*, and whether there is anything to solve: a problem that is solved again may have changed too little.
    """
    if not is_again:
        multiply_matrix(problem, trees, v, velocities[MOMENTUM])
        for i in range(trees.shape[0]):
            tree = problem.trees[trees[i]]
            for k in range(tree["num_v"]):
                mass = problem.matrix[tree["matrix_start"] + k * tree["num_v"] + k]
                velocities[SCALE, tree["v_start"] + k] = 1.0 / math.sqrt(mass)
    multiply_matrix(problem, trees, v_star, velocities[STEP])
    energy = dot_over_trees(problem, trees, v_star, velocities[STEP])
    change, momentum = 0.0 * energy, 0.0 * energy
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            change += (velocities[SCALE, k] * (velocities[STEP, k] - velocities[MOMENTUM_STAR, k])) ** 2
            momentum += (velocities[SCALE, k] * velocities[MOMENTUM, k]) ** 2
            velocities[MOMENTUM_STAR, k] = velocities[STEP, k]
    unseen = min(_UNSEEN, problem.settings["relative_tolerance"])
    if not is_again:
        change, momentum = math.inf, 0.0
    return energy, change > unseen * unseen * momentum


@device
def measure_residual(
    problem: Problem, trees: Integers, constraints: Integers, gamma: Floats, velocities: FloatTable
) -> tuple[float, float]:
    """Computes J^T gamma, and -grad l where dv will be; returns both sides of (2) without tolerances."""
    multiply_jacobian_transpose(problem, trees, constraints, gamma, velocities[IMPULSE])
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            velocities[STEP, k] = velocities[MOMENTUM_STAR, k] - velocities[MOMENTUM, k] + velocities[IMPULSE, k]
    return _measure_momentum(problem, trees, velocities)


@inlined
def _measure_momentum(problem: Problem, trees: Integers, velocities: FloatTable) -> tuple[float, float]:
    """Both sides of (2) without tolerances, -grad l being where dv will be."""
    residual, momentum, impulse = 0.0, 0.0, 0.0
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            scale = velocities[SCALE, k]
            residual += (scale * velocities[STEP, k]) ** 2
            momentum += (scale * velocities[MOMENTUM, k]) ** 2
            impulse += (scale * velocities[IMPULSE, k]) ** 2
    return math.sqrt(residual), math.sqrt(max(momentum, impulse))


@device
def take_step(
    problem: Problem, trees: Integers, constraints: Integers, alpha: float, v: Floats, work: Workspace
) -> None:
    """Moves v, A v and v_c by alpha times their steps."""
    velocities, velocity, velocity_step = work.velocities, work.velocity, work.velocity_step
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            v[k] += alpha * velocities[STEP, k]
            velocities[MOMENTUM, k] += alpha * velocities[MOMENTUM_STEP, k]
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        for r in range(c["row_start"], c["row_start"] + c["num_rows"]):
            velocity[r] += alpha * velocity_step[r]


@device
def minimize_island(
    problem: Problem,
    trees: Integers,  # of the island, shape [num_island_trees]
    constraints: Integers,  # of the island
    pattern: Pattern,
    energy: float,  # v*^T A v*, of start_island()
    is_wanted: Mask,  # whether there is anything to solve
    least: int,  # iterations; one for a problem that is solved again
    v_star: Floats,  # shape [num_v]
    work: Workspace,  # v_c at v in `velocity`
    v: Floats,  # the guess, and the result, shape [num_v]
    gamma_out: Floats,  # shape [num_rows]
    result: Statistics,  # record of counts, added to
) -> int:
    """Solves an island; returns CONVERGED or NOT_CONVERGED, NOT_A_NUMBER or SINGULAR_MATRIX."""
    if not least or result["num_islands"] > 1:
        find_paths(problem, trees, constraints, pattern.path, pattern.run)
    budget, residual_before = problem.settings["max_iterations"], result["residual"]
    is_softened = problem.settings["is_softened"] != 0
    if is_softened:
        budget = min(budget, _PATIENCE)
    status = _minimize(
        problem, trees, constraints, pattern, energy, is_wanted, (least, budget), v_star, work, v, gamma_out, result
    )
    if status != NOT_CONVERGED or not is_softened or budget < _PATIENCE:
        return status
    bound = 1.0
    while status >= NOT_CONVERGED:
        greatest = _soften_contacts(problem, constraints, bound, work.laws)
        budget, result["residual"] = problem.settings["max_iterations"], residual_before
        status = _minimize(
            problem, trees, constraints, pattern, energy, is_wanted, (least, budget), v_star, work, v, gamma_out, result
        )
        if not bound < greatest:
            break
        bound *= _STIFFENING
    return status


@device
def _soften_contacts(problem: Problem, constraints: Integers, bound: float, laws: Laws) -> float:
    """Bounds the gains of all contacts of an island, and returns how many times the rigid one the greatest is."""
    greatest = 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] == CONTACT:
            greatest = max(greatest, soften(laws[c["row_start"]], bound))
    return greatest


@device
def _minimize(
    problem: Problem,
    trees: Integers,
    constraints: Integers,
    pattern: Pattern,
    energy: float,  # v*^T A v*
    is_going: Mask,  # whether the search is to begin; it goes on in each lane as long as it must
    counts: tuple[int, int],  # of iterations, at least and at most
    v_star: Floats,
    work: Workspace,
    v: Floats,
    gamma_out: Floats,
    result: Statistics,
) -> int:
    """Newton's method with the present laws, from the present v, v_c and A v."""
    velocities, (least, budget) = work.velocities, counts
    relative = 0.0
    num_cut = num_forced = 0.0 * energy  # steps that the line search has cut short, and that were taken whole
    energy_now = energy
    for count in range(budget + 1):
        calc_impulses(problem, constraints, work.laws, work.velocity, gamma_out, work.hessian)
        residual, scale = measure_residual(problem, trees, constraints, gamma_out, velocities)
        if not residual < math.inf:
            return NOT_A_NUMBER
        relative = residual / scale if scale > 0.0 else 0.0
        tolerance = calc_tolerance(problem, scale)
        if count >= _MANY and count % 4 == 0 and any_of(residual > tolerance):
            tolerance += measure_rounding(problem, trees, constraints, gamma_out, velocities)
        is_going = both(is_going, residual > select(count >= least, tolerance, 0.0 * tolerance))
        if not any_of(is_going):
            end_search(problem, trees, constraints, pattern, residual, scale, gamma_out, v_star, work, v, result)
            return CONVERGED
        if count == budget:
            break
        follows_directions = num_cut >= _MOST_CUT
        if any_of(follows_directions):
            soften_hessians(problem, constraints, gamma_out, follows_directions, work)
        status = _calc_step(problem, trees, constraints, pattern, work)
        if status != CONVERGED:
            return status
        curvature = dot_over_trees(problem, trees, velocities[STEP], velocities[MOMENTUM_STEP])
        slope = dot_over_trees(problem, trees, velocities[STEP], velocities[MOMENTUM])
        slope -= dot_over_trees(problem, trees, velocities[STEP], velocities[MOMENTUM_STAR])
        alpha, searches = find_step_length(
            problem, constraints, slope, curvature, select(follows_directions, _ROUGH, _EXACT),
            both(is_going, residual > tolerance), work,  # below, steps are whole
        )  # fmt: skip
        is_short = both(alpha < _SHORT, both(num_forced < _MOST_FORCED, curvature <= _TINY * energy_now))
        alpha, num_forced = select(is_short, 1.0, alpha), select(is_short, num_forced + 1.0, num_forced)
        if any_of(follows_directions):
            turn_directions(problem, constraints, alpha, work)
        num_cut = select(alpha < _SHORT, num_cut + 1.0, num_cut)
        begins_directions = both(alpha < _SHORT, num_cut == _MOST_CUT)
        if any_of(begins_directions):
            forget_directions(problem, constraints, begins_directions, work.hessian)
        alpha = select(is_going, alpha, 0.0)
        take_step(problem, trees, constraints, alpha, v, work)
        result["total_iterations"] += 1
        result["line_search_iterations"] += searches
        result["iterations"] = max(result["iterations"], count + 1)
        energy_now = max(energy, dot_over_trees(problem, trees, v, velocities[MOMENTUM]))
        is_going = both(is_going, alpha * alpha * curvature > _STILL * energy_now)
    result["residual"] = max(result["residual"], relative)
    return NOT_CONVERGED if is_going else CONVERGED  # lanes part where only some have ended


@inlined
def end_search(
    problem: Problem,
    trees: Integers,
    constraints: Integers,
    pattern: Pattern,
    residual: float,  # both sides of (2), as measured last
    scale: float,
    gamma: Floats,
    v_star: Floats,
    work: Workspace,
    v: Floats,
    result: Statistics,
) -> None:
    """Notes the residual; where impulses cancel so that their last bits matter, velocities balance them first."""
    rounding = bound_rounding(problem, constraints, gamma, work.compliance)
    if residual + rounding > calc_tolerance(problem, scale):
        residual, scale = _balance(problem, trees, constraints, pattern, gamma, v_star, work, v)
    result["residual"] = max(result["residual"], residual / scale if scale > 0.0 else 0.0)


@device
def _balance(
    problem: Problem,
    trees: Integers,
    constraints: Integers,
    pattern: Pattern,
    gamma: Floats,
    v_star: Floats,
    work: Workspace,
    v: Floats,
) -> tuple[float, float]:
    """Moves v to what the impulses make of v*, if it is not there; returns both sides of (2)."""
    calc_momentum_left(problem, trees, constraints, gamma, v, v_star, work.velocities)
    residual, scale = _measure_momentum(problem, trees, work.velocities)
    if residual > calc_tolerance(problem, scale):
        for i in range(constraints.shape[0]):
            c = problem.constraints[constraints[i]]
            work.hessian[HESSIAN_SIZE * c["row_start"] : HESSIAN_SIZE * (c["row_start"] + c["num_rows"])] = 0.0
        if _calc_step(problem, trees, constraints, pattern, work) == CONVERGED:
            take_step(problem, trees, constraints, 1.0, v, work)
        calc_momentum_left(problem, trees, constraints, gamma, v, v_star, work.velocities)
        residual, scale = _measure_momentum(problem, trees, work.velocities)
    return residual, scale


@device
def calc_tolerance(problem: Problem, scale: float) -> float:
    """The right side of (2)."""
    return problem.settings["absolute_tolerance"] + problem.settings["relative_tolerance"] * scale


@device
def _calc_step(problem: Problem, trees: Integers, constraints: Integers, pattern: Pattern, work: Workspace) -> int:
    """Turns -grad l into dv, equation (1), and computes A dv and J dv.

    Returns:
        CONVERGED; SINGULAR_MATRIX if A is not positive definite, or NOT_A_NUMBER if H alone is not.
    """
    step, num_panels = work.velocities[STEP], trees.shape[0]
    shift = 0.0
    while True:
        assemble_hessian(problem, trees, constraints, pattern, 1.0 + shift, work.hessian, work.factor)
        if factor(problem.trees, pattern, num_panels, work.factor):
            break
        if shift == 0.0:
            set_matrix(problem, num_panels, pattern, pattern.panel_start[num_panels], work.factor)
            if not factor(problem.trees, pattern, num_panels, work.factor):
                return SINGULAR_MATRIX
        # Rounding, where stiffnesses and masses are 14 digits apart; a larger diagonal still gives a way down.
        shift = max(_LEAST_SHIFT, 100.0 * shift)
        if shift > 1.0:
            return NOT_A_NUMBER
    solve(problem.trees, pattern, num_panels, work.factor, step)
    multiply_matrix(problem, trees, step, work.velocities[MOMENTUM_STEP])
    multiply_jacobian(problem, constraints, step, work.velocity_step)
    return CONVERGED


_ROUNDING_OF_SLOPE = 4e-16  # of the terms of f, times the square root of their number
_MOST_LENGTHS = 100
_MOST_EXPANSIONS = 60


@device
def find_step_length(
    problem: Problem,
    constraints: Integers,  # of the island
    momentum_slope: float,  # dv^T A (v - v*)
    momentum_curvature: float,  # dv^T A dv
    relative_tolerance: float,  # of f, to |f(0)|
    is_wanted: Mask,  # whether to search at all
    work: Workspace,  # with laws, v_c and J dv
) -> tuple[float, int]:
    """alpha where (3) is zero, 0 if (3) is not negative at 0, 1 if it is not wanted; and the number of iterations."""
    zero, count = 0.0 * momentum_slope, 0
    if not any_of(is_wanted):
        return 1.0 + zero, count
    slope_0, _, _ = calc_slope(problem, constraints, zero, work)
    slope_0 += momentum_slope
    is_searching = both(is_wanted, slope_0 < 0.0)
    tolerance = relative_tolerance * abs(slope_0)
    rounding = _ROUNDING_OF_SLOPE * math.sqrt(1.0 * work.velocity_step.shape[0])
    low, high = zero, zero + math.inf  # infinite until there is a bracket
    alpha = select(is_wanted, select(slope_0 < 0.0, 1.0, zero), 1.0)
    while count < _MOST_LENGTHS and any_of(is_searching):
        count += 1
        slope, curvature, size = calc_slope(problem, constraints, alpha, work)
        size += abs(momentum_slope) + alpha * momentum_curvature
        slope += momentum_slope + alpha * momentum_curvature
        curvature += momentum_curvature
        is_searching = both(is_searching, abs(slope) > larger(tolerance, rounding * size))
        low, high = select(slope < 0.0, alpha, low), select(slope < 0.0, high, alpha)
        has_bracket = high < math.inf
        is_searching = both(is_searching, either(has_bracket, count <= _MOST_EXPANSIONS))
        most, following = select(has_bracket, high, 4.0 * alpha), alpha - slope / curvature
        is_above = either(both(low < following, count % 4 != 0), high == math.inf)
        is_inside = both(is_above, following < most)
        following = select(is_inside, following, select(has_bracket, 0.5 * (low + most), most))
        alpha = select(is_searching, following, alpha)
        is_searching = both(is_searching, high - low > 1e-15 * most)
    return alpha, count
