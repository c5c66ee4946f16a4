"""Points that keep the constraints of a nonlinear program, near a guess, by damped least squares.

With gaps r(x) that are 0 where the constraints hold, a step d of the variables that can move minimizes

    |r + J d|^2 + mu |d|^2,   x + d within the box                                                          (1)

mu falls when |r| does and grows when it does not (Marquardt 1963); variables that a step would drive through a bound
that they are at stay there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.solvers.damped_steps import call, damped_step
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm

_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 0.1, 1e-8, 1e4
_LESS, _MORE = 0.3, 3.0  # factors of the damping
_SLOW = 1e-2  # a change by less than this part of the gaps is none
EXACT = 1e-9
MOST_STEPS = 100
_FEW = 50  # variables, whose order does not matter
_PATIENCE = 6  # steps without a decrease; one without a change counts twice


class _Point(NamedTuple):
    """A point, the worst violation there, the gaps, their derivatives and the sum of their squares."""

    x: Array
    violation: float
    r: Array
    J: Array
    size: float


def _point(form: NonlinearForm, x: Array) -> _Point:
    violation, r, J = form.gaps(x)
    return _Point(x, violation, r, J, float(r @ r))


def _order_of_elimination(form: NonlinearForm) -> NDArray[np.int64]:
    """Variables of the same rows come one after the other, so that J^T J is a band (Cuthill and McKee 1969)."""
    n, (rows, columns) = form.num_vars, form.entries
    if n < _FEW:
        return np.arange(n)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    J = csr_array((np.ones(rows.size), (rows, columns)), (form.g_lower.size, n))
    return np.ascontiguousarray(reverse_cuthill_mckee(csr_array(J.T @ J), symmetric_mode=True), np.int64)


def feasible_point(
    form: NonlinearForm, start: Array, most_steps: int = MOST_STEPS, enough: float = EXACT
) -> tuple[Array, float, int]:
    """Searches for a point that satisfies the constraints, as exactly as possible.

    Args:
        form: the program.
        start: where to begin, in the box of the variables.
        most_steps: how many steps there may be.
        enough: the worst violation at which the search ends.

    Returns:
        The last point, its worst violation, which may be NaN, and the number of steps.
    """
    n = start.size
    works = _order_of_elimination(form), np.empty(n, np.int64), np.empty(n), np.empty((n, n))
    here, damping, patience, count = _point(form, start), _FIRST_DAMPING, _PATIENCE, 0
    while not here.violation <= enough and patience > 0 and count < most_steps:
        count += 1
        step = np.empty(n)
        call(damped_step, here.J, here.r, here.x, form.x_lower, form.x_upper, damping, *works, step)
        there = _point(form, here.x + step)
        is_flat = abs(there.size - here.size) < _SLOW * here.size
        patience = patience - 1 - is_flat if is_flat or not there.size < here.size else _PATIENCE
        if there.size < here.size:
            here, damping = there, max(_LESS * damping, _LEAST_DAMPING)
            form.show(here.x)
        else:  # also where a function returned NaN
            damping = min(_MORE * damping, _MOST_DAMPING)
    return here.x, here.violation, count
