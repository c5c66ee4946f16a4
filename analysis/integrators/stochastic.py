"""Integrators of stochastic differential equations whose noise comes from WhiteNoise blocks.

    dx = f(t, x) dt + sum_j g_j(t, x) dW_j,    as a system computes it: xdot(t, x, w) = f + sum_j g_j w_j          (1)

with independent Brownian motions W_j, in Ito's sense. The increments over a step are those of the blocks' paths, which
do not depend on the steps, so that shorter steps converge to the same solution. P. Kloeden and E. Platen, 1992,
"Numerical Solution of Stochastic Differential Equations".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.fixed_steps import FixedStepIntegrator
from merganser.analysis.integrators.problem import (
    Problem,
    arrays_of_method,
    evaluate,
    move,
    multiply,
    set_time,
    step_of,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.framework.native.operations.brownian_motion import brownian_motion

_LINEARITY, _ROUNDING = 1e-6, 1e-12  # derivatives linear in the noise are so to this share of it, and of themselves


class StochasticArrays(NamedTuple):
    """The arrays of an attempt for m noises.

    Attributes:
        numbers: of the Context.
        rate_places, seed_places: where in these the values of the noises are, and their seeds, shape [m].
        channels: numbers of the noises in their blocks, shape [m].
        scale: square roots of the spectral densities, shape [m].
        last: the end of the last step [s], the seed, and W_j there, shape [m, 3].
        dW: increments of the Brownian motions over the step, shape [m].
        weights: of the noises in a sum, shape [m].
        f: derivatives without noise, shape [n].
        k, k_j: workspace for derivatives and changes, shape [n].
        g: derivatives by each noise, shape [m, n].
        change: of the state, shape [n].
    """

    numbers: Floats
    rate_places: Integers
    seed_places: Integers
    channels: Integers
    scale: Floats
    last: FloatTable
    dW: Floats
    weights: Floats
    f: Floats
    k: Floats
    k_j: Floats
    g: FloatTable
    change: Floats


_arrays_of = arrays_of_method(StochasticArrays)


@device
def _draw_increments(p: Problem) -> None:
    """dW_j = W_j(end of the step) - W_j(its start); most steps start where the last one has ended."""
    s, a = step_of(p), _arrays_of(p)
    dW, numbers, seed_places, channels, last = a.dW, a.numbers, a.seed_places, a.channels, a.last
    end = s.target if s.is_last and s.h == s.room else s.start + s.h
    for j in range(len(dW)):
        seed = numbers[seed_places[j]].real
        W = last[j, 2]
        if last[j, 0] != s.start or last[j, 1] != seed:
            W = brownian_motion(seed, channels[j], s.start)
        last[j, 0], last[j, 1], last[j, 2] = end, seed, brownian_motion(seed, channels[j], end)
        dW[j] = last[j, 2] - W


@device
def _evaluate(p: Problem, factor: float, weights: Floats, xdot_out: Floats) -> int:
    """xdot of (1) at the start of the step and the present state, for w_j = factor weights_j.

    A block gives sqrt(S_j) w_j. Afterwards the noise in the Context is zero again.
    """
    a = _arrays_of(p)
    numbers, places, scale = a.numbers, a.rate_places, a.scale
    for j in range(len(places)):
        numbers[places[j]] = scale[j] * (factor * weights[j])
    set_time(p, step_of(p).start)  # on which the noise depends
    status: int = evaluate(p, xdot_out)
    for j in range(len(places)):
        numbers[places[j]] = 0.0
    set_time(p, step_of(p).start)
    return status


@kernel
def try_euler_maruyama_step(p: Problem) -> int:
    """x(t+h) = x + h xdot(t, x, dW / h)."""
    s, a = step_of(p), _arrays_of(p)
    k, change, dW = a.k, a.change, a.dW
    time, h = s.start, s.h
    s.error = 0.0
    _draw_increments(p)
    status = _evaluate(p, 1.0 / h, dW, k)
    if status == SUCCEEDED:
        multiply(change, h, k)
        move(p, time + h, change)
    return status


@kernel
def try_milstein_step(p: Problem) -> int:
    """Equations (2) and (3) of MilsteinIntegrator."""
    s, a = step_of(p), _arrays_of(p)
    f, k, k_j, g, change, dW, weights = a.f, a.k, a.k_j, a.g, a.change, a.dW, a.weights
    time, h, m, n = s.start, s.h, len(a.dW), len(a.f)
    root = math.sqrt(h)
    s.error = 0.0
    _draw_increments(p)
    # f, and g_j as the derivatives by the noises.
    status = _evaluate(p, 0.0, dW, f)
    multiply(change, h, f)
    for j in range(m):
        for l in range(m):
            weights[l] = 1.0 if l == j else 0.0
        if status == SUCCEEDED:
            status = _evaluate(p, 1.0, weights, k)
        for i in range(n):
            g[j, i] = k[i] - f[i]
            change[i] += g[j, i] * dW[j]
    # What the noises, weighted as in (3), add at x_j, against what they add at x.
    for j in range(m):
        for i in range(n):
            k[i] = h * f[i] + root * g[j, i]
        for l in range(m):
            weights[l] = dW[j] * dW[l] - (h if l == j else 0.0)
        move(p, time, k)  # (2)
        if status == SUCCEEDED:
            status = _evaluate(p, 0.0, weights, k)
        if status == SUCCEEDED:
            status = _evaluate(p, 1.0, weights, k_j)
        for i in range(n):
            added = k_j[i] - k[i]
            for l in range(m):
                added -= weights[l] * g[l, i]
            change[i] += 0.5 / root * added  # (3)
    if status == SUCCEEDED:
        move(p, time + h, change)
    return status


class _StochasticIntegrator(FixedStepIntegrator):
    """A method for noise, without error control."""

    # Python draws an increment in 0.3 ms, compiled code in 2 us.
    takes_white_noise = is_compiled_at_once = True

    def Initialize(self) -> None:
        """Makes ready for integration from the current state.

        Raises:
            RuntimeError: as of other integrators; or there is noise without continuous state, or time derivatives are
                not linear in it.
        """
        super().Initialize()
        for leaf, (_, rate, scale) in self._bound_context().layout.root.white_noises:
            where = f"{type(self).__name__}: system '{leaf.system.GetSystemPathname()}'"
            if len(self._x) == 0:
                raise RuntimeError(
                    f"{where} gives white noise, which has no values at single times, and there is no continuous state "
                    "for it to change. Put BandLimitedWhiteNoise in its place."
                )
            numbers = self._store.flat[leaf.numeric_offsets[rate] :][: len(scale)]
            f, above, below = (self._derivatives_at(numbers, factor * scale) for factor in (0.0, 1.0, -1.0))
            size = np.abs(above - f) + np.abs(below - f)
            if (np.abs(above + below - 2.0 * f) > _LINEARITY * size + _ROUNDING * np.abs(f)).any():
                raise RuntimeError(
                    f"{where} gives white noise, and time derivatives are not linear in it, so that they do not define "
                    "a stochastic differential equation. Put BandLimitedWhiteNoise in its place."
                )

    def _derivatives_at(self, numbers: Any, noise: Any) -> Any:
        """The time derivatives for some noise, as floats."""
        try:
            numbers[:] = noise
            self._store.invalid |= self._down["time"]
            self._derivatives.update()
            return np.array([value.real for value in self._xdot])
        finally:
            numbers[:] = 0.0
            self._store.invalid |= self._down["time"]

    def _attempt_step(self) -> int:
        try:
            return super()._attempt_step()
        finally:  # an evaluation may raise an exception
            self._store.flat[self._arrays.rate_places] = 0.0
            self._store.invalid |= self._down["time"]

    def _make_arrays(self, n: int, dtype: Any) -> StochasticArrays:
        rates: list[int] = []
        seeds: list[int] = []
        channels: list[int] = []
        scales: list[float] = []
        for leaf, (seed, rate, scale) in self._bound_context().layout.root.white_noises:
            m = len(scale)
            rates += [leaf.numeric_offsets[rate] + j for j in range(m)]
            seeds += [leaf.numeric_offsets[seed]] * m
            channels += range(m)
            scales += scale.tolist()
        rate_places, seed_places, numbers = (np.array(each, dtype=np.int64) for each in (rates, seeds, channels))
        m = len(scales)
        dW, weights = np.zeros((2, m))
        self._memory = np.full(3 * m, math.nan)
        last = self._memory.reshape(m, 3)
        f, k, k_j, change = np.zeros((4, n), dtype)
        g = np.zeros((m, n), dtype)
        return StochasticArrays(
            self._store.flat, rate_places, seed_places, numbers, np.array(scales), last, dW, weights,
            f, k, k_j, g, change,
        )  # fmt: skip


class EulerMaruyamaIntegrator(_StochasticIntegrator):
    """Euler's method for noise from WhiteNoise blocks: of strong order 0.5, of order 1 where g_j are constant.

    x(t+h) = x + h f(t, x) + sum_j g_j(t, x) dW_j    (Kloeden and Platen, 10.2.4), one evaluation a step.
    """

    attempt = try_euler_maruyama_step
    scheme = "euler_maruyama"


class MilsteinIntegrator(_StochasticIntegrator):
    """Milstein's method for noise from WhiteNoise blocks: of strong order 1, also where g_j depend on the state.

    Without derivatives of g_j (Kloeden and Platen, 11.1.7), by 1 + 3 m evaluations a step for m noises,

        x_j = x + h f(t, x) + sqrt(h) g_j(t, x)                                                                (2)
        x(t+h) = x + h f + sum_j g_j dW_j
                 + 1 / (2 sqrt(h)) sum_jl (g_l(t, x_j) - g_l(t, x)) (dW_j dW_l - delta_jl h)                  (3)

    With several noises the order takes that they commute, (dg_l/dx) g_j = (dg_j/dx) g_l: one noise, or each on a state
    variable of its own, or constant g_j; otherwise it is 0.5.
    """

    attempt = try_milstein_step
    scheme = "milstein"
