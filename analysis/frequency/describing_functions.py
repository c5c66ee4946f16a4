"""Describing functions of blocks with corners, jumps and hysteresis, and the limit cycles that they predict.

With a sine wave at its input, u = A sin(theta), a block's output has the first harmonic N(A) u, where

    N(A) = 1 / (pi A) integral of y(theta) (sin(theta) + j cos(theta)) over a period                   (1)

In a loop with negative feedback and the linear rest L, which lets little of the higher harmonics pass, an oscillation
keeps itself up where

    1 + N(A) L(j omega) = 0                                                                              (2)

(A. Gelb and W. Vander Velde, 1968, "Multiple-Input Describing Functions and Nonlinear System Design", chapters 2, 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.frequency.frequency_response import fine_frequencies, require_single, response_of
from merganser.analysis.frequency.linearize_between import AnyLinearSystem
from merganser.framework import System
from merganser.framework.core.inside import piecewise_leaves
from merganser.framework.primitives import RateLimiter
from merganser.framework.primitives.delays import ExactDelay

Array = NDArray[Any]
_ACCURACY = 1e-9  # of the integrals, as a share of the output
_NUM_INTERVALS = 64  # of half a period, in which changes of regions are looked for
_RESOLUTION = 1e-13  # of their angles [rad]
_SHARE = 1e-4  # of amplitude and frequency, for derivatives


def DescribingFunction(block: System, amplitudes: ArrayLike) -> Array:
    """N(A) of (1), computed from the block itself.

    Its memory, such as that of Relay and Backlash, is that of a sine wave that has been there for long. Of vectors, the
    first element counts, where all are A sin(theta).

    Args:
        block: with one input and one output, vectors, whose output depends on the input, and on where that has turned;
            or a diagram of such.
        amplitudes: A, positive, shape [N] or one number.

    Returns:
        Complex numbers of the shape of `amplitudes`; the phase is that of the first harmonic.

    Raises:
        ValueError: an amplitude is not positive and finite.
        RuntimeError: the output depends on time, or on rates.
    """
    A = np.asarray(amplitudes, dtype=np.float64)
    if not ((A > 0.0) & (math.inf > A)).all():
        raise ValueError(f"DescribingFunction: amplitudes must be positive and finite, got {amplitudes!r}.")
    context = block.CreateDefaultContext()
    parts = piecewise_leaves(context)
    timed = [part for _, part in parts if isinstance(part, RateLimiter | ExactDelay)]
    if timed or context.num_continuous_states() or block.GetUniquePeriodicDiscreteUpdateAttribute() is not None:
        name = (timed[0] if timed else block).GetSystemPathname()
        raise RuntimeError(
            f"DescribingFunction: the output of system '{name}' depends on time or rates. Take the blocks alone whose "
            "output follows from the input and where that has turned; what is linear belongs to the loop gain."
        )
    return np.array([_first_harmonic(block, context, parts, a) for a in A.ravel()]).reshape(A.shape)


def _first_harmonic(block: System, context: Any, parts: list[Any], A: float) -> complex:
    """(1), from one turning point of the input to the next: in between the memory of the last one counts."""
    from scipy.integrate import quad_vec

    u, y = block.get_input_port(), block.get_output_port()

    def output(theta: float) -> float:
        u.FixValue(context, np.full(u.size(), A * math.sin(theta)))
        return float(y.Eval(context)[0])

    def regions(theta: float) -> Array:
        output(theta)
        return np.concatenate([np.zeros(1), *(part.regions(own) for own, part in parts)])

    def turn(theta: float) -> None:
        output(theta)
        for _ in parts:  # what passes through several of them
            for own, part in parts:
                part.record(own, part.measure(own))

    result, right = 0.0j, 0.5 * math.pi
    for start in (right, -right):  # so that memories are those of a wave that has been there for long
        turn(start)
    for start in (right, -right):
        turn(start)
        grid = np.linspace(start, start + math.pi, _NUM_INTERVALS + 1)
        largest = max(abs(output(theta)) for theta in grid[::8])
        half, _ = quad_vec(
            lambda theta: output(theta) * complex(math.sin(theta), math.cos(theta)), start, start + math.pi,
            epsabs=_ACCURACY * max(largest, 1e-300), epsrel=0.0, limit=20_000, points=_changes(regions, grid),
        )  # fmt: skip
        result += half
    return complex(result) / (math.pi * A)


def _changes(regions: Callable[[float], Array], grid: Array) -> list[float]:
    """Where regions are others than before, by bisection within the intervals of a grid."""
    found, at = [], [regions(theta) for theta in grid]
    for low, high, before, after in zip(grid, grid[1:], at, at[1:]):
        while not np.array_equal(before, after):
            left, right = low, high  # the first change, then those after it
            beyond = after
            while right - left > _RESOLUTION:
                middle = 0.5 * (left + right)
                if np.array_equal(now := regions(middle), before):
                    left = middle
                else:
                    right, beyond = middle, now
            found.append(right)
            low, before = right, beyond
    return found


class LimitCycle(NamedTuple):
    """An oscillation that a loop keeps up, by (2).

    Attributes:
        amplitude: A, of the sine wave at the input of the block.
        frequency: omega [rad/s].
        is_stable: whether the loop returns to it from smaller and larger amplitudes; if not, it divides what dies away
            from what grows.
    """

    amplitude: float
    frequency: float
    is_stable: bool


def PredictLimitCycles(
    loop: AnyLinearSystem, block: System, amplitudes: ArrayLike, omega: ArrayLike | None = None
) -> list[LimitCycle]:
    """The oscillations of a loop of a linear system and a block, with negative feedback, by (2).

    It is as good as the linear part is a low pass: compare with a simulation.

    Args:
        loop: L, all of the loop but for the block, of one input and one output; OpenLoopAt gives it at the input of a
            Gain of one in place of the block.
        block: see DescribingFunction.
        amplitudes: between which to look, increasing, shape [N], at least 2; where N(A) bends, more find more.
        omega: frequencies between which to look [rad/s]; by default those of `Margins`.

    Returns:
        The limit cycles, those of small amplitudes first; empty without one.

    Raises:
        ValueError: there is more than one input or output, or the amplitudes do not increase.
    """
    from scipy.optimize import least_squares

    require_single(loop, "PredictLimitCycles")
    A = np.asarray(amplitudes, dtype=np.float64)
    if A.ndim != 1 or len(A) < 2 or not (np.diff(A) > 0.0).all():
        raise ValueError("PredictLimitCycles: amplitudes must be a vector of at least two increasing numbers.")
    w = fine_frequencies(loop) if omega is None else np.asarray(omega, dtype=np.float64)
    N, L = DescribingFunction(block, A), response_of(loop, w)[0, 0]

    def residual(unknowns: Array) -> Array:
        amplitude, frequency = np.exp(unknowns)
        value = 1.0 + DescribingFunction(block, amplitude) * response_of(loop, np.array([frequency]))[0, 0, 0]
        return np.array([value.real, value.imag])

    found: list[LimitCycle] = []
    for i, k in _crossings(N, L):
        # The borders of its image are curved: the zero may be in a rectangle next to this one.
        i0, i1, k0, k1 = max(i - 1, 0), min(i + 2, len(A) - 1), max(k - 1, 0), min(k + 2, len(w) - 1)
        low, high = np.log([A[i0], w[k0]]) - _SHARE, np.log([A[i1], w[k1]]) + _SHARE
        start = 0.5 * np.log([A[i] * A[i + 1], w[k] * w[k + 1]])
        exact = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
        solved = least_squares(residual, start, bounds=(low, high), **exact)
        amplitude, frequency = np.exp(solved.x)
        known = [np.allclose(cycle[:2], (amplitude, frequency), rtol=_SHARE) for cycle in found]
        if np.abs(solved.fun).max() < 1e-6 and not any(known):
            found.append(LimitCycle(float(amplitude), float(frequency), _is_stable(loop, block, amplitude, frequency)))
    return sorted(found)


def _crossings(N: Array, L: Array) -> Array:
    """Between which amplitudes i, i + 1 and frequencies k, k + 1 1 + N L is zero, shape [any, 2].

    There it goes once around zero, along the borders of this rectangle.
    """
    F = 1.0 + N[:, np.newaxis] * L
    corners = np.array([F[:-1, :-1], F[1:, :-1], F[1:, 1:], F[:-1, 1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = np.angle(np.roll(corners, -1, axis=0) / corners).sum(axis=0)
    return np.argwhere(np.abs(turned) > math.pi)


def _is_stable(loop: AnyLinearSystem, block: System, A: float, w: float) -> bool:
    """Whether a small change of the amplitude decays: with F = 1 + N(A) L(s), dF/dA dA + dF/ds ds = 0."""
    nearby = np.array([1.0 - _SHARE, 1.0, 1.0 + _SHARE])
    N, L = DescribingFunction(block, A * nearby), response_of(loop, w * nearby)[0, 0]
    F_A, F_s = (N[2] - N[0]) * L[1], N[1] * (L[2] - L[0]) / 1j
    return bool((F_A / F_s).real > 0.0)
