"""The response of linear models to sine waves, and what follows from it: margins, damping, step responses.

    G(s) = C (s I - A)^-1 B + D,    s = j omega, or z = exp(j omega T) in discrete time      (1)

Where outputs z come back as inputs w = E z after delays tau_i, E = diag(exp(-s tau_i)), the response from u to y is

    G_yu + G_yw E (I - G_zw E)^-1 G_zu                                                       (2)
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.frequency.linearize_between import (
    AnyLinearSystem,
    LinearSystemWithDelays,
    linearize_exactly,
)
from merganser.framework import Context, InputPort, OutputPort, System
from merganser.framework.primitives import LinearSystem

Array = NDArray[Any]
_DECADES_AROUND = 1.5  # of the poles and zeros, in the frequencies chosen by default
_NUM_FREQUENCIES = 500


@dataclasses.dataclass(frozen=True, eq=False)
class FrequencyResponseData:
    """The response of a linear system to sine waves.

    Attributes:
        omega: frequencies [rad/s], shape [N].
        response: complex amplitude of each output for each input of amplitude one, shape [num_outputs, num_inputs, N].
        time_period: of a discrete system [s]; 0 in continuous time.
        model: the linear system, with exact delays if there are such blocks.
    """

    omega: Array
    response: Array
    time_period: float
    model: AnyLinearSystem

    def magnitude(self) -> Array:
        """Amplitude of the outputs, shape [num_outputs, num_inputs, N]."""
        return np.abs(self.response)

    def decibels(self) -> Array:
        """The amplitude in decibels, 20 log10 |G|, shape [num_outputs, num_inputs, N]."""
        with np.errstate(divide="ignore"):
            return 20.0 * np.log10(np.abs(self.response))

    def phase(self) -> Array:
        """The phase without jumps along the frequencies [rad], shape [num_outputs, num_inputs, N]."""
        return np.unwrap(np.angle(self.response), axis=-1)


def FrequencyResponse(
    system: System | LinearSystemWithDelays,
    context: Context | None = None,
    omega: ArrayLike | None = None,
    input_port: InputPort | None = None,
    output_port: OutputPort | None = None,
    open_loop_at: Iterable[InputPort] = (),
) -> FrequencyResponseData:
    """The response of a system's output to small sine waves at its input, about an operating point.

    Exact delays (TransportDelay) are exp(-s delay).

    Args:
        system: a LinearSystem, what `OpenLoopAt` gives, or any system that `LinearizeBetween` takes.
        context: the operating point; a LinearSystem needs none.
        omega: frequencies [rad/s], shape [N]; by default some decades around the poles, up to pi / period.
        input_port, output_port, open_loop_at: see LinearizeBetween.

    Raises:
        TypeError: a system that is not a LinearSystem has no context.
        ValueError: a frequency is negative, not finite, or above pi / period, where a sampled signal has no meaning.
    """
    model: AnyLinearSystem
    if isinstance(system, LinearSystemWithDelays) or (context is None and isinstance(system, LinearSystem)):
        model = system
    elif context is not None:
        model = linearize_exactly(system, context, input_port, output_port, open_loop_at)
    else:
        raise TypeError(
            f"FrequencyResponse: system '{system.GetSystemPathname()}' is not linear; give the context of its "
            "operating point."
        )
    T = model.time_period()
    frequencies = _default_frequencies(model) if omega is None else np.atleast_1d(np.asarray(omega, dtype=np.float64))
    limit = np.pi / T * (1.0 + 1e-12) if T else np.inf
    wrong = ~(np.isfinite(frequencies) & (frequencies >= 0.0) & (frequencies <= limit))
    if frequencies.ndim != 1 or wrong.any():
        got = f"shape {frequencies.shape}" if frequencies.ndim != 1 else f"{frequencies[wrong][0]:g} rad/s"
        raise ValueError(
            f"FrequencyResponse: omega must be a vector of frequencies from 0 to {limit:g} rad/s; got {got}."
        )
    return FrequencyResponseData(frequencies, response_of(model, frequencies), T, model)


def response_of(model: AnyLinearSystem, omega: Array) -> Array:
    """(1), or (2), at frequencies [rad/s], shape [num_outputs, num_inputs, N]; infinite at a pole."""
    if isinstance(model, LinearSystemWithDelays):
        p, m, G = model.num_outputs(), model.num_inputs(), response_of(model.model, omega).transpose(2, 0, 1)
        E = np.exp(-1j * omega[:, np.newaxis] * model.delays)[:, np.newaxis]
        came_back = np.linalg.solve(np.eye(len(model.delays)) - G[:, p:, m:] * E, G[:, p:, :m])
        return (G[:, :p, :m] + (G[:, :p, m:] * E) @ came_back).transpose(1, 2, 0)  # (2)
    T, n = model.time_period(), model.num_states()
    A, B, C = model.A(), model.B(), model.C()
    result = np.repeat(model.D().astype(complex)[:, :, np.newaxis], len(omega), axis=2)
    for k, s in enumerate(np.exp(1j * omega * T) if T else 1j * omega):
        try:
            result[:, :, k] += C @ np.linalg.solve(s * np.eye(n) - A, B)
        except np.linalg.LinAlgError:
            result[:, :, k] = np.inf
    return result


def _default_frequencies(model: AnyLinearSystem) -> Array:
    """Frequencies [rad/s] around poles, and those of delays."""
    T, delays = model.time_period(), np.zeros(0)
    if isinstance(model, LinearSystemWithDelays):
        delays, model = model.delays, model.model
    roots = np.linalg.eigvals(model.A()) if model.num_states() else np.zeros(0)
    if T:
        with np.errstate(divide="ignore"):
            roots = np.log(roots[np.abs(roots) > 1e-9].astype(complex)) / T
    sizes = np.concatenate([np.abs(roots), 1.0 / delays])
    sizes = sizes[sizes > 1e-9 * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if len(sizes) else (1.0, 1.0)
    high = high * 10.0**_DECADES_AROUND
    if T:
        high = np.pi / T
    return np.geomspace(min(low / 10.0**_DECADES_AROUND, high / 100.0), high, _NUM_FREQUENCIES)


class Mode(NamedTuple):
    """A pole of a linear system.

    Attributes:
        pole: s, or z of a discrete system.
        natural_frequency: |s| [rad/s], in discrete time of the s with z = exp(s T).
        damping: -Re s / |s|; 1 or -1 of a real pole, negative for one that grows.
    """

    pole: complex
    natural_frequency: float
    damping: float


def Damp(model: LinearSystem) -> list[Mode]:
    """The poles of a linear system with their natural frequencies and damping, slow ones first."""
    require_finite(model, "Damp")
    T, poles = model.time_period(), np.linalg.eigvals(model.A()) if model.num_states() else np.zeros(0)
    found = []
    for pole in poles.astype(complex):
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.log(pole) / T if T else pole
        size = float(abs(s))
        damping = 1.0 if size in (0.0, np.inf) else float(-s.real / size)
        found.append(Mode(complex(pole), size, damping))
    return sorted(found, key=lambda mode: (mode.natural_frequency, mode.pole.imag))


def Zeros(model: LinearSystem) -> Array:
    """The transmission zeros of a square linear system, where [[A - z I, B], [C, D]] is singular.

    Raises:
        ValueError: the numbers of inputs and outputs differ.
    """
    require_finite(model, "Zeros")
    from scipy.linalg import eigvals

    n, m = model.num_states(), model.num_inputs()
    if model.num_outputs() != m:
        raise ValueError(f"Zeros takes as many inputs as outputs; this system has {m} and {model.num_outputs()}.")
    pencil, identity = np.block([[model.A(), model.B()], [model.C(), model.D()]]), np.zeros((n + m, n + m))
    identity[:n, :n] = np.eye(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha, beta = eigvals(pencil, identity, homogeneous_eigvals=True)
    finite = np.abs(beta) > 1e-12 * np.abs(alpha).max(initial=1.0)
    return np.sort_complex(alpha[finite] / beta[finite])


class StabilityMargins(NamedTuple):
    """How far the loop gain L of a closed loop is from instability.

    Attributes:
        gain_margin: factor of the gain at which the loop is at the edge, of several that which is nearest to 1, as a
            ratio; inf without such a factor.
        phase_margin: lag of the phase at which it is [rad], of several the smallest; negative of a lead.
        delay_margin: smallest delay at which it is [s].
        modulus_margin: least distance of L from -1.
        phase_crossover: frequency of the gain margin [rad/s]; nan without one.
        gain_crossover: frequency of the phase margin [rad/s]; nan without one.
    """

    gain_margin: float
    phase_margin: float
    delay_margin: float
    modulus_margin: float
    phase_crossover: float
    gain_crossover: float


def Margins(loop: AnyLinearSystem) -> StabilityMargins:
    """Gain, phase, delay and modulus margins of a loop gain, of one input and one output (see `OpenLoopAt`).

    Crossings are located between frequencies of a grid, which is finer around poles and zeros. Those of exact delays
    have no end, so that a grid is as fine as they take it up to where the phase of the longest one is 300 rad.

    Raises:
        ValueError: there is more than one input or output.
    """
    from scipy.optimize import brentq, minimize_scalar

    require_single(loop, "Margins")

    def L(omega: float) -> complex:
        return complex(response_of(loop, np.array([omega]))[0, 0, 0])

    omega = fine_frequencies(loop)
    response = response_of(loop, omega)[0, 0]

    def crossings(of_response: Callable[[Any], Any]) -> list[float]:
        """Frequencies where a real function of L passes zero."""
        values = of_response(response)
        found = [float(w) for w, value in zip(omega, values) if value == 0.0]
        for k in np.flatnonzero(values[:-1] * values[1:] < 0.0):
            found.append(float(brentq(lambda w: of_response(L(w)), omega[k], omega[k + 1], xtol=1e-14, rtol=1e-14)))
        return sorted(found)

    gains = [(w, -1.0 / L(w).real) for w in crossings(np.imag) if L(w).real < 0.0]
    phases = [(w, float(np.angle(-L(w)))) for w in crossings(lambda G: np.abs(G) - 1.0)]
    at_phase, gain = min(gains, key=lambda pair: abs(np.log(pair[1])), default=(np.nan, np.inf))
    at_gain, phase = min(phases, key=lambda pair: abs(pair[1]), default=(np.nan, np.inf))
    delay = min((np.mod(lag, 2.0 * np.pi) / w for w, lag in phases if w > 0.0), default=np.inf)
    k = int(np.argmin(np.abs(1.0 + response)))
    bounds = omega[max(k - 1, 0)], omega[min(k + 1, len(omega) - 1)]
    nearest = minimize_scalar(lambda w: abs(1.0 + L(w)), bounds=bounds, method="bounded", options={"xatol": 1e-12})
    modulus = float(min(nearest.fun, abs(1.0 + response[k])))
    return StabilityMargins(gain, phase, float(delay), modulus, at_phase, at_gain)


def fine_frequencies(model: AnyLinearSystem) -> Array:
    """The default frequencies, and more around lightly damped poles and zeros [rad/s]."""
    T, grid = model.time_period(), [_default_frequencies(model)]
    if isinstance(model, LinearSystemWithDelays):
        grid += [np.linspace(0.0, 300.0, 3001) / delay for delay in np.unique(model.delays)]
        model, p, m = model.model, model.num_outputs(), model.num_inputs()
        model = LinearSystem(model.A(), model.B()[:, :m], model.C()[:p], model.D()[:p, :m])
    with np.errstate(divide="ignore", invalid="ignore"):
        for root in (*np.linalg.eigvals(model.A()), *Zeros(model)):
            s = np.log(complex(root)) / T if T else complex(root)
            if np.isfinite(s) and abs(s.imag) > abs(s.real):
                width = max(abs(s.real), 1e-9 * abs(s))
                grid.append(abs(s.imag) + width * np.linspace(-5.0, 5.0, 101))
    omega = np.unique(np.concatenate(grid))
    return omega[(omega > 0.0) & (omega <= (np.pi / T if T else np.inf))]


class StepResponseInfo(NamedTuple):
    """Figures of a step response.

    Attributes:
        rise_time: from 10 to 90 % of the final value [s].
        settling_time: after which the response stays within 2 % of it [s].
        overshoot: above the final value, as a share of it.
        undershoot: below zero, as a share of the final value.
        peak: largest value.
        peak_time: when [s].
        final_value: the value at the end.
    """

    rise_time: float
    settling_time: float
    overshoot: float
    undershoot: float
    peak: float
    peak_time: float
    final_value: float


def StepInfo(times: ArrayLike, values: ArrayLike, final_value: float | None = None) -> StepResponseInfo:
    """Figures of a step response that has been logged, by python-control (extra `control`).

    Args:
        times: [s], shape [N], such as `log.sample_times()`.
        values: one signal, shape [N], such as `log.data()[0]`.
        final_value: where it settles; by default the last value.

    Raises:
        ImportError: python-control is not installed.
        ValueError: the shapes differ.
    """
    t, y = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 2:
        raise ValueError(f"StepInfo: expected two vectors of one size, at least 2; got shapes {t.shape} and {y.shape}.")
    last = float(y[-1]) if final_value is None else float(final_value)
    info = _control("StepInfo").step_info(y, T=t - t[0], yfinal=last)
    return StepResponseInfo(
        float(info["RiseTime"]),
        float(info["SettlingTime"]),
        0.01 * float(info["Overshoot"]),
        0.01 * float(info["Undershoot"]),
        float(info["Peak"]),
        float(info["PeakTime"] + t[0]),
        last,
    )


def to_control(model: LinearSystem) -> Any:
    """The same system as a StateSpace of python-control (extra `control`).

    Raises:
        ImportError: python-control is not installed.
    """
    require_finite(model, "to_control")
    T = model.time_period()
    return _control("to_control").StateSpace(model.A(), model.B(), model.C(), model.D(), T or 0)


def _control(function: str) -> Any:
    try:
        return importlib.import_module("control")
    except ImportError as error:
        raise ImportError(f"{function} needs python-control: pip install merganser[control].") from error


def require_finite(model: AnyLinearSystem, function: str) -> None:
    """Refuses a system with exact delays."""
    if isinstance(model, LinearSystemWithDelays):
        raise TypeError(
            f"{function}: a system with exact delays has no finite number of poles and zeros. Put PadeDelay in place "
            "of TransportDelay."
        )


def require_single(model: AnyLinearSystem, function: str) -> None:
    if (model.num_outputs(), model.num_inputs()) != (1, 1):
        raise ValueError(
            f"{function} takes a system of one input and one output; this one has {model.num_inputs()} and "
            f"{model.num_outputs()}."
        )
