"""Linear systems given by transfer functions, zeros and poles, filters by name, or objects of other libraries.

A transfer function becomes a chain of integrators, its controllable form (Kailath 1980, "Linear Systems", section
2.1); zeros, poles and filters become a chain of first- and second-order parts, whose state variables keep their sizes
where the coefficients of one polynomial would differ by many powers of ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.primitives._arguments import checked_period, checked_size, checked_vector
from merganser.framework.primitives.linear_system import LinearSystem

Array = NDArray[Any]
_Matrices = tuple[Array, Array, Array, Array]
_CONJUGATE = 1e-10  # roots that differ from conjugates of each other by this share belong together


class TransferFunction(LinearSystem):
    """y(s) = G(s) u(s) with rational functions G, of z instead of s in discrete time.

    Args:
        num: coefficients of the numerator by descending powers; or a nested list, num[i][j] from input j to output i.
        den: coefficients of the denominator; a nested list like num, or one for all.
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    Raises:
        ValueError: a denominator is zero, or of a lower degree than its numerator; nested lists have different shapes.
    """

    def __init__(self, num: Any, den: Any, time_period: float = 0.0) -> None:
        numerators = num if _is_nested(num) else [[num]]
        rows, columns = len(numerators), len(numerators[0])
        denominators = den if _is_nested(den) else [[den] * columns] * rows
        shapes = {(len(table), *map(len, table)) for table in (numerators, denominators)}
        if shapes != {(rows, *[columns] * rows)}:
            raise ValueError(
                f"TransferFunction: num and den must have as many rows and columns; num has the lengths "
                f"{[len(row) for row in numerators]} and den {[len(row) for row in denominators]}."
            )
        entries = [
            [_controllable(numerators[i][j], denominators[i][j], f"[{i}][{j}]") for j in range(columns)]
            for i in range(rows)
        ]
        super().__init__(*_side_by_side(entries), time_period)


class ZeroPole(LinearSystem):
    """y(s) = gain (s - z0) (s - z1) ... / ((s - p0) (s - p1) ...) u(s), of z instead of s in discrete time.

    Args:
        zeros, poles: complex ones with their conjugates, shapes [number of zeros], [number of poles].
        gain: a number.
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    Raises:
        ValueError: there are more zeros than poles, or a complex root has no conjugate.
    """

    def __init__(self, zeros: ArrayLike, poles: ArrayLike, gain: float = 1.0, time_period: float = 0.0) -> None:
        super().__init__(*_chain(zeros, poles, gain, "ZeroPole"), time_period)


class SignalFilter(LinearSystem):
    """A filter by the name of its design, as scipy.signal has them.

    Args:
        order: of the filter; a band filter has twice as many state variables.
        cutoff: edge of the band [rad/s]; two of them for "bandpass" and "bandstop".
        design: "butterworth", "bessel", "chebyshev1", "chebyshev2" or "elliptic".
        band: "lowpass", "highpass", "bandpass" or "bandstop".
        ripple: of a chebyshev1 or elliptic filter in its band [dB].
        attenuation: of a chebyshev2 or elliptic filter outside of it [dB].
        time_period: time between two samples of a digital filter [s]; 0 for an analog one.
        size: number of signals, each of which is filtered.

    Raises:
        ValueError: there is no such design or band; a cutoff is not positive, or above pi / time_period.
    """

    def __init__(
        self,
        order: int,
        cutoff: ArrayLike,
        design: str = "butterworth",
        band: str = "lowpass",
        *,
        ripple: float = 1.0,
        attenuation: float = 40.0,
        time_period: float = 0.0,
        size: int = 1,
    ) -> None:
        from scipy import signal

        order, size = checked_size(order, "SignalFilter: order", 1), checked_size(size, "SignalFilter: size", 1)
        period = checked_period(time_period, "SignalFilter: time_period")
        edges = checked_vector(cutoff, "SignalFilter: cutoff")
        designs: dict[str, tuple[Any, dict[str, Any]]] = {
            "butterworth": (signal.butter, {}),
            "bessel": (signal.bessel, {"norm": "mag"}),
            "chebyshev1": (signal.cheby1, {"rp": ripple}),
            "chebyshev2": (signal.cheby2, {"rs": attenuation}),
            "elliptic": (signal.ellip, {"rp": ripple, "rs": attenuation}),
        }
        num_edges = {"lowpass": 1, "highpass": 1, "bandpass": 2, "bandstop": 2}
        if design not in designs or band not in num_edges:
            raise ValueError(
                f"SignalFilter: design must be one of {list(designs)} and band one of {list(num_edges)}; got "
                f"'{design}' and '{band}'."
            )
        limit = np.pi / period if period else np.inf
        if len(edges) != num_edges[band] or not (np.diff([0.0, *edges, limit]) > 0.0).all():
            raise ValueError(
                f"SignalFilter: a {band} filter takes {num_edges[band]} ascending cutoff between 0 and {limit:g} "
                f"rad/s; got {edges.tolist()}."
            )
        make, more = designs[design]
        where: dict[str, Any] = {"fs": 2.0 * np.pi / period} if period else {"analog": True}
        at = edges if len(edges) > 1 else edges[0]
        zeros, poles, gain = make(order, Wn=at, btype=band, output="zpk", **more, **where)
        A, B, C, D = (np.kron(np.eye(size), matrix) for matrix in _chain(zeros, poles, gain, "SignalFilter"))
        super().__init__(A, B, C, D, period)


class StateSpace(LinearSystem):
    """The linear system of an object of python-control, scipy.signal or the like.

    Args:
        system: has A, B, C, D; or num and den; or zeros, poles and gain; and, unless it is continuous, its period dt.

    Raises:
        TypeError: the object has none of these.
        ValueError: it is discrete without a period.
    """

    def __init__(self, system: Any) -> None:
        dt = getattr(system, "dt", None)
        if dt is True:
            raise ValueError("StateSpace: the system is discrete without a period; give it one, such as dt=0.1.")
        if isinstance(system, LinearSystem):
            matrices: Any = system.A(), system.B(), system.C(), system.D()
            dt = system.time_period()
        elif all(hasattr(system, name) for name in "ABCD"):
            matrices = tuple(np.asarray(getattr(system, name), dtype=np.float64) for name in "ABCD")
        elif hasattr(system, "num") and hasattr(system, "den"):
            found = TransferFunction(_lists(system.num), _lists(system.den))
            matrices = found.A(), found.B(), found.C(), found.D()
        elif all(hasattr(system, name) for name in ("zeros", "poles", "gain")):
            matrices = _chain(system.zeros, system.poles, system.gain, "StateSpace")
        else:
            raise TypeError(
                f"StateSpace: expected an object with A, B, C, D, with num, den, or with zeros, poles, gain; got "
                f"{type(system).__name__}."
            )
        A, B, C, D = matrices
        super().__init__(A, B, C, D, float(dt or 0.0))


def _is_nested(coefficients: Any) -> bool:
    """Whether these are the coefficients of a matrix of polynomials, and not those of one."""
    return isinstance(coefficients, Sequence) and len(coefficients) > 0 and isinstance(coefficients[0], Sequence)


def _lists(coefficients: Any) -> Any:
    """Coefficients as python-control (lists or an array of arrays) and scipy (an array) have them, as lists."""
    if isinstance(coefficients, np.ndarray) and coefficients.dtype != object and coefficients.ndim == 1:
        return coefficients
    return [[np.asarray(entry, dtype=np.float64) for entry in row] for row in coefficients]


def _controllable(num: ArrayLike, den: ArrayLike, where: str) -> _Matrices:
    """Matrices of a proper rational function."""
    a = np.trim_zeros(checked_vector(den, f"TransferFunction: den{where}"), "f")
    b = np.trim_zeros(checked_vector(num, f"TransferFunction: num{where}"), "f")
    if len(a) == 0:
        raise ValueError(f"TransferFunction: the denominator den{where} is zero.")
    if len(b) > len(a):
        raise ValueError(
            f"TransferFunction: the numerator num{where} has the degree {len(b) - 1}, above that of the denominator, "
            f"{len(a) - 1}: it would need future inputs. Add poles that are fast enough not to matter."
        )
    n = len(a) - 1
    b, a = np.concatenate([np.zeros(n + 1 - len(b)), b]) / a[0], a / a[0]
    A = np.eye(n, k=-1)
    if n:
        A[0] = -a[1:]
    return A, np.eye(n, 1), (b[1:] - b[0] * a[1:]).reshape(1, n), b[:1].reshape(1, 1)


def _side_by_side(entries: list[list[_Matrices]]) -> _Matrices:
    """One system of the matrices from each input to each output."""
    from scipy.linalg import block_diag

    rows, columns = len(entries), len(entries[0])
    every = [(i, j, *entries[i][j]) for i in range(rows) for j in range(columns)]
    n = sum(len(A) for _, _, A, *_ in every)
    B, C, D, start = np.zeros((n, columns)), np.zeros((rows, n)), np.zeros((rows, columns)), 0
    for i, j, A, b, c, d in every:
        end = start + len(A)
        B[start:end, j], C[i, start:end], D[i, j], start = b[:, 0], c[0], d[0, 0], end
    return block_diag(*(A for _, _, A, *_ in every if len(A)), np.zeros((0, 0))), B, C, D


def _chain(zeros: ArrayLike, poles: ArrayLike, gain: float, where: str) -> _Matrices:
    """First- and second-order parts, one after the other, each with those zeros that are nearest to its poles."""
    numerators = _real_factors(zeros, f"{where}: zeros")
    denominators = _real_factors(poles, f"{where}: poles", in_pairs=True)
    num_zeros, num_poles = (sum(len(f) - 1 for f in factors) for factors in (numerators, denominators))
    if num_zeros > num_poles:
        raise ValueError(
            f"{where}: there are {num_zeros} zeros and {num_poles} poles; a system with more zeros than poles would "
            "need future inputs."
        )
    above: list[Array] = [np.ones(1) for _ in denominators]
    for z in numerators:  # quadratic ones first, as they fit into fewer places
        fitting = [k for k, a in enumerate(denominators) if len(above[k]) + len(z) - 1 <= len(a)]
        nearest = min(fitting, key=lambda k: abs(_mean_root(denominators[k]) - _mean_root(z)))
        above[nearest] = np.polymul(above[nearest], z)
    share = abs(float(gain)) ** (1.0 / max(1, len(denominators)))  # of each part, so that no signal is much smaller
    A, B, C, D = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[np.sign(float(gain))]])
    if not denominators:
        D *= share
    for numerator, denominator in zip(above, denominators):
        a, b, c, d = _controllable(share * numerator, denominator, "")
        A = np.block([[A, np.zeros((len(A), len(a)))], [b @ C, a]])
        B, C, D = np.vstack([B, b @ D]), np.hstack([d @ C, c]), d @ D
    return A, B, C, D


def _mean_root(factor: Array) -> float:
    return float(-factor[1] / (len(factor) - 1))


def _real_factors(roots: ArrayLike, where: str, in_pairs: bool = False) -> list[Array]:
    """Polynomials s - r and s^2 + p s + q with these roots, quadratic ones first; real roots in pairs if wanted."""
    left = list(np.atleast_1d(np.asarray(roots, dtype=complex)).ravel())
    quadratic, real = [], []
    while left:
        root = left.pop()
        if abs(root.imag) <= _CONJUGATE * abs(root):
            real.append(root.real)
            continue
        distances = [abs(other - root.conjugate()) for other in left]
        if not distances or min(distances) > _CONJUGATE * abs(root):
            raise ValueError(f"{where}: the complex root {root:g} has no conjugate; a real system has both.")
        left.pop(int(np.argmin(distances)))
        quadratic.append(np.array([1.0, -2.0 * root.real, abs(root) ** 2]))
    real.sort(key=abs)
    while in_pairs and len(real) > 1:
        p, q = real.pop(), real.pop()
        quadratic.append(np.array([1.0, -p - q, p * q]))
    return [*quadratic, *(np.array([1.0, -r]) for r in real)]
