"""Bode, Nyquist and Nichols plots, and root loci."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.frequency.frequency_response import (
    FrequencyResponse,
    FrequencyResponseData,
    Zeros,
    require_finite,
    require_single,
)
from merganser.analysis.frequency.linearize_between import AnyLinearSystem
from merganser.framework.primitives import LinearSystem

Array = NDArray[Any]
_NUM_GAINS = 400


def BodePlot(response: FrequencyResponseData | AnyLinearSystem, axes: Any = None, label: str | None = None) -> Any:
    """Draws amplitude [dB] and phase [deg] over the frequency [rad/s], one line for each pair of output and input.

    Args:
        response: of FrequencyResponse, or a linear system.
        axes: two axes of matplotlib, for amplitude and phase; those of a new figure if None.
        label: of the lines.

    Returns:
        The two axes; save the picture by `axes[0].figure.savefig(path)`.
    """
    data = _data(response)
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(layout="constrained").subplots(2, 1, sharex=True)
    decibels, phase = data.decibels(), np.rad2deg(data.phase())
    for i, j, name in _pairs(data, label):
        axes[0].semilogx(data.omega, decibels[i, j], label=name)
        axes[1].semilogx(data.omega, phase[i, j], label=name)
    axes[0].set(ylabel=f"amplitude [dB{_units_of_gain(data)}]")
    axes[1].set(ylabel="phase [deg]", xlabel="frequency [rad/s]")
    axes[1].yaxis.set_major_locator(_steps_of_45(axes[1]))
    for ax in axes:
        if data.time_period:
            ax.axvline(np.pi / data.time_period, color="grey", linewidth=0.8, linestyle="--")
        ax.grid(alpha=0.3, which="both")
    _legend(axes[0], data, label)
    return axes


def _units_of_gain(data: FrequencyResponseData) -> str:
    """What 0 dB are one of, if both ports have units."""
    model: Any = getattr(data.model, "model", data.model)
    output, input = (port.get_units() for port in (model.get_output_port(), model.get_input_port()))
    return f" of {output} per {input}" if output and input and output != input else ""


def NyquistPlot(response: FrequencyResponseData | AnyLinearSystem, axes: Any = None, label: str | None = None) -> Any:
    """Draws G(j omega) in the plane of complex numbers, for positive and (dashed) negative frequencies.

    Closed by negative feedback, a loop gain with P unstable poles is stable if the curve goes -P times clockwise around
    the point -1, which is marked.

    Args:
        response: of FrequencyResponse, or a linear system.
        axes: of matplotlib; a new figure's if None.
        label: of the lines.

    Returns:
        The axes; save the picture by `axes.figure.savefig(path)`.
    """
    data = _data(response)
    axes = _new_axes() if axes is None else axes
    for i, j, name in _pairs(data, label):
        G = data.response[i, j][np.isfinite(data.response[i, j])]
        (line,) = axes.plot(G.real, G.imag, label=name)
        axes.plot(G.real, -G.imag, color=line.get_color(), linestyle="--", linewidth=0.8)
        if len(G) > 2:  # an arrow towards higher frequencies, in the middle of the curve
            length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(G)))])
            k = int(np.clip(np.searchsorted(length, 0.5 * length[-1]), 1, len(G) - 1))
            ends = {"xytext": (G[k - 1].real, G[k - 1].imag), "xy": (G[k].real, G[k].imag)}
            axes.annotate("", **ends, arrowprops={"arrowstyle": "->", "color": line.get_color()})
    axes.plot(-1.0, 0.0, "+", color="black", markersize=9)
    axes.set(xlabel="real part", ylabel="imaginary part")
    axes.axhline(0.0, color="grey", linewidth=0.5)
    axes.axvline(0.0, color="grey", linewidth=0.5)
    axes.grid(alpha=0.3)
    _legend(axes, data, label)
    return axes


def NicholsPlot(response: FrequencyResponseData | AnyLinearSystem, axes: Any = None, label: str | None = None) -> Any:
    """Draws the amplitude [dB] over the phase [deg], with lines of constant amplitude of the closed loop.

    Args:
        response: of a loop gain (see OpenLoopAt), or the linear system.
        axes: of matplotlib; a new figure's if None.
        label: of the lines.

    Returns:
        The axes; save the picture by `axes.figure.savefig(path)`.
    """
    data = _data(response)
    axes = _new_axes() if axes is None else axes
    decibels, phase = data.decibels(), np.rad2deg(data.phase())
    for i, j, name in _pairs(data, label):
        axes.plot(phase[i, j], decibels[i, j], label=name)
    axes.plot(-180.0, 0.0, "+", color="black", markersize=9)
    turns = 360.0 * np.arange(np.floor(phase.min() / 360.0) + 1.0, np.floor(phase.max() / 360.0) + 2.0)
    angles = np.deg2rad(np.linspace(1e-3, 360.0 - 1e-3, 721))
    limits = axes.get_xlim(), axes.get_ylim()
    for closed in (-20.0, -12.0, -6.0, -3.0, -1.0, 1.0, 3.0, 6.0, 12.0):
        T = 10.0 ** (closed / 20.0) * np.exp(1j * angles)
        L = T / (1.0 - T)
        x, y = np.mod(np.rad2deg(np.angle(L)), 360.0) - 360.0, 20.0 * np.log10(np.abs(L))
        for turn in turns:
            axes.plot(x + turn, y, color="grey", linewidth=0.4)
        height = y.max() if closed > 0.0 else y.min()
        if abs(closed) > 1.0 and limits[1][0] < height < limits[1][1]:
            axes.annotate(f"{closed:g} dB", (-180.0, height), fontsize=7, color="grey", ha="center")
    axes.set(xlabel="phase [deg]", ylabel="amplitude [dB]", xlim=limits[0], ylim=limits[1])
    axes.grid(alpha=0.3)
    _legend(axes, data, label)
    return axes


def RootLocusPlot(loop: LinearSystem, gains: ArrayLike | None = None, axes: Any = None) -> Any:
    """Draws the poles of the closed loop 1 + k L = 0 for gains k from 0 on; crosses are poles of L, circles its zeros.

    Args:
        loop: the loop gain L, of one input and one output, with negative feedback (see OpenLoopAt).
        gains: k, shape [N]; by default from 1e-3 to 1e3.
        axes: of matplotlib; a new figure's if None.

    Returns:
        The axes; save the picture by `axes.figure.savefig(path)`.

    Raises:
        ValueError: there is more than one input or output.
    """
    require_finite(loop, "RootLocusPlot")
    require_single(loop, "RootLocusPlot")
    axes = _new_axes() if axes is None else axes
    k = np.geomspace(1e-3, 1e3, _NUM_GAINS) if gains is None else np.asarray(gains, dtype=np.float64)
    poles, T = np.linalg.eigvals(loop.A()), loop.time_period()
    branches = [poles]
    for gain in k:
        closed = loop.A() - loop.B() @ loop.C() * (gain / (1.0 + gain * loop.D()[0, 0]))
        branches.append(_in_order_of(branches[-1], np.linalg.eigvals(closed)))
    for branch in np.array(branches).T:
        axes.plot(branch.real, branch.imag, color="tab:blue", linewidth=1.0)
    axes.plot(poles.real, poles.imag, "x", color="black")
    zeros = Zeros(loop)
    axes.plot(zeros.real, zeros.imag, "o", color="black", fillstyle="none")
    if T:
        circle = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 200))
        axes.plot(circle.real, circle.imag, color="grey", linewidth=0.8, linestyle="--")
        axes.set_aspect("equal")
    else:
        axes.axvline(0.0, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xlabel="real part" + ("" if T else " [1/s]"), ylabel="imaginary part" + ("" if T else " [1/s]"))
    axes.grid(alpha=0.3)
    return axes


def _in_order_of(before: Array, roots: Array) -> Array:
    """Roots in such an order that each is next to the one before."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(np.abs(before[:, np.newaxis] - roots))
    return roots[order]


def _data(response: FrequencyResponseData | AnyLinearSystem) -> FrequencyResponseData:
    return response if isinstance(response, FrequencyResponseData) else FrequencyResponse(response)


def _pairs(data: FrequencyResponseData, label: str | None) -> list[tuple[int, int, str]]:
    num_outputs, num_inputs, _ = data.response.shape
    if num_outputs == num_inputs == 1:
        return [(0, 0, label or "")]
    before = "" if label is None else f"{label}: "
    return [(i, j, f"{before}u{j} to y{i}") for i in range(num_outputs) for j in range(num_inputs)]


def _legend(axes: Any, data: FrequencyResponseData, label: str | None) -> None:
    if label is not None or data.response.shape[:2] != (1, 1):
        axes.legend()


def _new_axes() -> Any:
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


def _steps_of_45(axes: Any) -> Any:
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    span = axes.dataLim.height  # of all lines
    return MultipleLocator(45.0) if 45.0 <= span <= 450.0 else MaxNLocator(6)
