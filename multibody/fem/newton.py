"""Free motion of a body: Newton's method for the equations of assembly.py, with a line search.

    A d = -r(v+),   v+ <- v+ + s d                                                        (1)

r is the gradient of the energy that a step minimizes (but for the derivative of damping), d leads downwards as A is
positive definite, and s is such that the slope along d is no longer steep and upwards:

    d . r(v+ + s d) <= -d . r(v+) / 2                                                     (2)

found by linear interpolation of the slope between 0 and s. It ends where |r| is at most the material's tolerance times
the size of the forces that r is the sum of. A is that of the material first; where the factorization
finds that it is not positive definite, it is made of convex parts of the elements. Linear materials take one iteration.

As A lacks the derivative of damping, iterations may go on and on where elements are inside out. After some, the search
starts over, with damping as it was before the step: then it is for the minimum of an energy.

Source: J. Nocedal, S. Wright, Numerical Optimization (2006), chapter 3.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.fem.assembly import assemble_tangent, calc_residual, set_positions, start_step
from merganser.multibody.fem.layout import (
    CONVERGED,
    NOT_CONVERGED,
    NOT_FINITE,
    SINGULAR_MATRIX,
    BodyArrays,
    NodeValues,
    Report,
    StepWork,
)
from merganser.multibody.linear.factorization import factor, solve

_MOST_ITERATIONS = 200
_MOST_SEARCHES = 12
_STRESS_ROUNDING = 1e-15  # of stresses before they cancel
_NEARLY, _EXACT = 100.0, 1e-8  # times the tolerance, if that is exact, where rounding may keep r from getting less
_KEPT_FROM = 20  # iterations


@device
def calc_free_motion(
    time_step: float,
    body: BodyArrays,
    q_start: Floats,
    q_in: Floats,
    v_in: Floats,
    force_in: Floats,
    work: StepWork,
    q_out: Floats,
    v_out: Floats,
    report: Report,
) -> int:
    """One step from q, v under external forces.

    Args:
        time_step: h [s].
        body: at rest.
        q_start: positions before the step, of which rotations of linear corotated elements are [m], shape
            [3 num_nodes].
        q_in, v_in: the same, and velocities [m/s], but of held nodes where they are held, and zero.
        force_in: f_ext [N].
        work: is written.
        q_out, v_out: after the step.
        report: record of report_dtype.

    Returns:
        CONVERGED, or another status of layout.py.
    """
    is_convex, is_kept = 0, 0
    for i in range(v_in.shape[0]):
        v_out[i] = v_in[i] if body.unknown[i // 3] >= 0 else 0.0
    start_step(body, q_start, work)
    _evaluate(body, time_step, q_in, v_in, force_in, is_kept, work, q_out, v_out)
    report["iterations"] = report["line_searches"] = report["is_damping_kept"] = 0
    last = math.inf
    while True:
        report["residual"] = _norm(body, work.residual)
        report["tolerance"] = _tolerance(body, time_step, force_in, q_out, v_in, v_out, work)
        norm, tolerance = report["residual"], report["tolerance"]
        if not norm < math.inf:
            return NOT_FINITE
        nearly = max(1.0, min(_NEARLY, _EXACT / body.material["tolerance"]))
        if norm <= tolerance or (norm <= nearly * tolerance and norm > 0.5 * last):
            return CONVERGED
        if report["iterations"] == _MOST_ITERATIONS:
            return NOT_CONVERGED
        last = norm
        report["iterations"] += 1
        if report["iterations"] == _KEPT_FROM and body.material["stiffness_damping"] > 0.0:
            is_kept = report["is_damping_kept"] = 1
            for i in range(q_in.shape[0]):
                work.damping_positions[i] = q_in[i]
                v_out[i] = v_in[i] if body.unknown[i // 3] >= 0 else 0.0
            _evaluate(body, time_step, q_in, v_in, force_in, is_kept, work, q_out, v_out)
        is_convex = factor_tangent(body, time_step, is_convex, is_kept, q_out, work)
        if is_convex < 0:
            return SINGULAR_MATRIX
        _set_direction(body, work)
        _search(body, time_step, q_in, v_in, force_in, is_kept, work, q_out, v_out, report)


free_motion = kernel(calc_free_motion)


@device
def _evaluate(
    body: BodyArrays, time_step: float, q_in: NodeValues, v_in: NodeValues, force_in: NodeValues, is_kept: int,
    work: StepWork, q_out: NodeValues, v_next: NodeValues,
) -> None:  # fmt: skip
    """q+ and r."""
    set_positions(time_step, q_in, v_in, v_next, q_out)
    if is_kept == 0:
        for i in range(q_out.shape[0]):
            work.damping_positions[i] = q_out[i]
    calc_residual(body, time_step, v_in, force_in, q_out, v_next, work)


@device
def factor_tangent(
    body: BodyArrays, time_step: float, is_convex: int, is_kept: int, q_next: NodeValues, work: StepWork
) -> int:
    """Factors A; returns whether it had to be of convex parts, and -1 if these were not enough."""
    assemble_tangent(body, time_step, q_next, is_convex, is_kept, work)
    if factor(body.trees, body.pattern, body.trees.shape[0], work.panels):
        return is_convex
    if is_convex == 0:
        assemble_tangent(body, time_step, q_next, 1, is_kept, work)
        if factor(body.trees, body.pattern, body.trees.shape[0], work.panels):
            return 1
    return -1


@device
def _norm(body: BodyArrays, values: NodeValues) -> float:
    """Of what belongs to nodes that move."""
    total = 0.0
    for node in range(body.unknown.shape[0]):
        if body.unknown[node] >= 0:
            for i in range(3 * node, 3 * node + 3):
                total += values[i] * values[i]
    return math.sqrt(total)


@device
def _tolerance(
    body: BodyArrays, time_step: float, force_in: NodeValues, q_next: NodeValues, v_in: NodeValues, v_next: NodeValues,
    work: StepWork,
) -> float:  # fmt: skip
    """What the norm of r may be at the end, from stresses, inertial and external forces [N]."""
    scale, rounding = _norm(body, force_in), 0.0
    elastic, inertial = 0.0, 0.0
    stiffness = 2.0 * body.material["mu"] + abs(body.material["lambda"])
    for e in range(body.elements.shape[0]):
        element, P = body.elements[e], work.points[e]["P"]
        stress, rate, gradient, far = 0.0, 0.0, 0.0, 0.0
        for i in range(3):
            for j in range(3):
                stress += P[i, j] * P[i, j]
        for a in range(4):
            for i in range(3):
                at, slope = 3 * element["nodes"][a] + i, element["gradients"][a, i]
                rate += (v_next[at] - v_in[at]) * (v_next[at] - v_in[at])
                gradient += slope * slope
                far = max(far, abs(q_next[at]))
        area = element["volume"] * element["volume"] * gradient
        share = 0.25 * body.material["density"] * element["volume"] / time_step
        elastic += area * stress
        inertial += share * share * rate
        rounding += area * (1.0 + far * math.sqrt(gradient)) ** 2
    scale += math.sqrt(elastic) + math.sqrt(inertial)
    return body.material["tolerance"] * scale + _STRESS_ROUNDING * stiffness * math.sqrt(rounding)


@device
def _set_direction(body: BodyArrays, work: StepWork) -> None:
    """Equation (1), left."""
    for node in range(body.unknown.shape[0]):
        if body.unknown[node] >= 0:
            for i in range(3):
                work.direction[body.unknown[node] + i] = -work.residual[3 * node + i]
    solve(body.trees, body.pattern, body.trees.shape[0], work.panels, work.direction)


@device
def _slope(body: BodyArrays, work: StepWork) -> float:
    """d . r."""
    total = 0.0
    for node in range(body.unknown.shape[0]):
        if body.unknown[node] >= 0:
            for i in range(3):
                total += work.direction[body.unknown[node] + i] * work.residual[3 * node + i]
    return total


@device
def _search(
    body: BodyArrays,
    time_step: float,
    q_in: NodeValues,
    v_in: NodeValues,
    force_in: NodeValues,
    is_kept: int,
    work: StepWork,
    q_out: NodeValues,
    v_io: NodeValues,
    report: Report,
) -> None:
    """Equation (1), right, with (2)."""
    first, share = _slope(body, work), 1.0
    for i in range(v_io.shape[0]):
        work.trial[i] = v_io[i]
    for search in range(_MOST_SEARCHES):
        for node in range(body.unknown.shape[0]):
            if body.unknown[node] >= 0:
                for i in range(3):
                    v_io[3 * node + i] = work.trial[3 * node + i] + share * work.direction[body.unknown[node] + i]
        _evaluate(body, time_step, q_in, v_in, force_in, is_kept, work, q_out, v_io)
        slope = _slope(body, work)
        if slope <= -0.5 * first or search == _MOST_SEARCHES - 1:
            return
        report["line_searches"] += 1
        share *= max(0.1, first / (first - slope)) if slope < math.inf else 0.1
