"""PiecewisePolynomial: a matrix of polynomials on each segment."""

from __future__ import annotations

import bisect
import math
import types
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from merganser.framework.trajectories import _interpolation as interpolation
from merganser.framework.trajectories._interpolation import PiecewiseConstructors
from merganser.framework.trajectories._scalars import (
    Array,
    as_matrix,
    cast_entries,
    clamped,
    plain,
    scalar_of_array,
)
from merganser.framework.trajectories.polynomial import Polynomial, ToleranceType, horner
from merganser.framework.trajectories.trajectory import EPSILON_TIME, PiecewiseTrajectory

_FEW = 16  # elements


def trajectory_of_powers(times: Sequence[float], coefficients: Array) -> PiecewisePolynomial:
    """The trajectory with these coefficients of powers of t - times[i], shape [segment, power, row, col]."""
    return PiecewisePolynomial._of(times, coefficients)


class PiecewisePolynomial(PiecewiseConstructors, PiecewiseTrajectory):
    """Polynomials joined in time: on segment i, a matrix of polynomials in t - breaks[i].

    At a break, the value is that of the segment that starts there; beyond the ends, value and derivatives are those
    at the ends. Usually made by one of the static methods, of which each takes breaks and the samples there.

    Args:
        polynomials: for each segment a Polynomial or a matrix of Polynomials. Alone, without breaks, a matrix: the
            constant value on one segment of infinite length. Without arguments there are no segments.
        breaks: times where segments start, and the end, increasing, shape [n + 1].

    Raises:
        ValueError: breaks do not increase.
        RuntimeError: there are not n segments, or matrices have different shapes.
    """

    # Held as coefficients of powers, so that one product evaluates a whole matrix: [segment, power, row, col], and how
    # many coefficients each polynomial has, [segment, row, col], since there may be fewer than powers.

    def __init__(self, polynomials: Any = None, breaks: Sequence[Any] | None = None) -> None:
        if polynomials is None:
            super().__init__()
            self._set_coefficients(np.zeros((0, 1, 0, 0)))
        elif breaks is None:
            super().__init__([-math.inf, math.inf])
            self._set_coefficients(
                as_matrix(polynomials, "PiecewisePolynomial: constant value")[np.newaxis, np.newaxis]
            )
        else:
            super().__init__(breaks)
            matrices = [_matrix_of_polynomials(p) for p in polynomials]
            if len(matrices) != len(self._breaks) - 1 or len({m.shape for m in matrices}) > 1:
                raise RuntimeError(
                    f"PiecewisePolynomial: {len(self._breaks)} breaks take {len(self._breaks) - 1} polynomials, or "
                    f"matrices of the same shape; got {len(matrices)} of shapes {sorted({m.shape for m in matrices})}."
                )
            self._set_polynomials(np.array(matrices))

    @classmethod
    def _of(cls, times: Sequence[Any], coefficients: Array, sizes: Array | None = None) -> Self:
        """The trajectory with these coefficients, which are not copied."""
        result = cls.__new__(cls)
        result._set_breaks(list(times))
        result._set_coefficients(coefficients, sizes)
        return result

    def _set_coefficients(self, coefficients: Array, sizes: Array | None = None) -> None:
        self._coefficients = coefficients
        if sizes is None:
            n, powers, rows, cols = coefficients.shape
            sizes = np.full((n, rows, cols), powers)
        self._sizes = sizes
        self._derived: dict[int, tuple[Array, list[list[list[float]]] | None]] = {}

    def _set_polynomials(self, polynomials: Array) -> None:
        """Takes polynomials, shape [n, rows, cols]."""
        entries = [p if isinstance(p, Polynomial) else Polynomial(p) for p in polynomials.ravel().tolist()]
        sizes = np.array([p.GetDegree() + 1 for p in entries], dtype=int)
        powers = int(sizes.max(initial=1))
        dtype = object if any(p._coefficients.dtype == object for p in entries) else np.float64
        columns = np.zeros((powers, len(entries)), dtype=dtype)
        for column, p in enumerate(entries):
            columns[: p.GetDegree() + 1, column] = p._coefficients
        n, rows, cols = polynomials.shape
        coefficients = columns.reshape(powers, n, rows, cols).swapaxes(0, 1)
        self._set_coefficients(np.ascontiguousarray(coefficients), sizes.reshape(polynomials.shape))

    # ------------------------------------------------------------------ values

    def do_value(self, t: Any) -> Array:
        return self._evaluate(0, t)

    def do_rows(self) -> int:
        return self._checked_shape("rows")[2]

    def do_cols(self) -> int:
        return self._checked_shape("columns")[3]

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._evaluate(derivative_order, t)

    def DoMakeDerivative(self, derivative_order: int) -> PiecewisePolynomial:
        return self.derivative(derivative_order)

    def _evaluate(self, order: int, t: Any) -> Array:
        """Value or derivative, by Horner's rule in the same order for all scalars."""
        times = self._times
        if not times:
            raise RuntimeError(f"{self._name} has no segments, and no value.")
        if type(t) is float and times[0] is self._breaks[0] <= t <= self._breaks[-1]:
            index = bisect.bisect_right(times, t, 1, len(times) - 1) - 1
        else:
            index = 0 if len(times) == 2 else self._segment_with(t)
            t = clamped(t, times[0], times[-1], self._name)
        coefficients, rows = self._held(order)
        matrices = coefficients[index]
        if len(matrices) == 1:
            return matrices[0].copy()
        s = t - times[index]
        if rows is None or type(s) is not float:
            return horner(matrices, s)
        values = []
        for first, *others in rows[index]:
            value = first
            for c in others:
                value = value * s + c
            values.append(value)
        return np.array(values).reshape(matrices.shape[1:])

    def _held(self, order: int) -> tuple[Array, list[list[list[float]]] | None]:
        """Coefficients of a derivative; of small float matrices also as lists, [segment][element][falling power].

        A cubic of two elements is evaluated from lists in a sixth of the time.
        """
        if order not in self._derived:
            coefficients = self._derivative_coefficients(order)
            n, powers, rows, cols = coefficients.shape
            is_small = rows * cols <= _FEW and coefficients.dtype == np.float64
            falling = np.moveaxis(coefficients[:, ::-1], 1, 3).reshape(n, rows * cols, powers)
            self._derived[order] = coefficients, falling.tolist() if is_small else None
        return self._derived[order]

    def _derivative_coefficients(self, order: int) -> Array:
        coefficients = self._coefficients
        for _ in range(order):
            powers = np.arange(1.0, coefficients.shape[1]).reshape(-1, 1, 1)
            coefficients = coefficients[:, 1:] * powers if coefficients.shape[1] > 1 else 0.0 * coefficients
        return coefficients

    def _checked_shape(self, what: str) -> tuple[int, ...]:
        if not self._breaks:
            raise RuntimeError(f"{self._name} has no segments; the number of {what} is undefined.")
        return self._coefficients.shape

    # ------------------------------------------------------------------ calculus

    def derivative(self, derivative_order: int = 1) -> PiecewisePolynomial:
        """Returns the derivative of some order, at least 0.

        Raises:
            ValueError: the order is negative.
        """
        if derivative_order < 0:
            raise ValueError(f"{self._name}.derivative(): derivative_order must be at least 0, got {derivative_order}.")
        sizes = np.maximum(self._sizes - derivative_order, 1)
        return self._of(self._times, self._derivative_coefficients(derivative_order).copy(), sizes)

    def integral(self, value_at_start_time: Any = 0.0) -> PiecewisePolynomial:
        """Returns the continuous integral that has a given value at the start.

        Args:
            value_at_start_time: a number for all elements, or a matrix of shape [rows, cols].
        """
        powers = np.arange(1.0, self._coefficients.shape[1] + 1).reshape(-1, 1, 1)
        raised = self._coefficients / powers
        start = np.zeros(self._coefficients.shape[2:]) + np.asarray(value_at_start_time)
        segments = []
        for index, coefficients in enumerate(raised):
            segments.append(np.concatenate([start[np.newaxis], coefficients]))
            start = horner(segments[-1], self._times[index + 1] - self._times[index])
        return self._of(self._times, np.array(segments), self._sizes + 1) if segments else self.Clone()

    # ------------------------------------------------------------------ polynomials

    def getPolynomial(self, segment_index: int, row: int = 0, col: int = 0) -> Polynomial:
        """Returns the polynomial in t - start_time(segment_index) of one element.

        Raises:
            RuntimeError: there is no such segment.
            IndexError: there is no such element.
        """
        index = self._checked_segment(segment_index)
        self._check_block(row, col, 1, 1)
        size = self._sizes[index, row, col]
        return Polynomial._of(self._coefficients[index, :size, row, col].copy())

    def getPolynomialMatrix(self, segment_index: int) -> Array:
        """Returns the Polynomials of a segment, shape [rows, cols].

        Raises:
            RuntimeError: there is no such segment.
        """
        result = np.empty(self._coefficients.shape[2:], dtype=object)
        for row, col in np.ndindex(result.shape):
            result[row, col] = self.getPolynomial(segment_index, row, col)
        return result

    def getSegmentPolynomialDegree(self, segment_index: int, row: int = 0, col: int = 0) -> int:
        """Returns the degree of the polynomial of one element of a segment; errors as getPolynomial()."""
        return self.getPolynomial(segment_index, row, col).GetDegree()

    def setPolynomialMatrixBlock(
        self, replacement: Any, segment_index: int, row_start: int = 0, col_start: int = 0
    ) -> None:
        """Replaces some polynomials of a segment.

        Args:
            replacement: a matrix of Polynomials.
            segment_index: which segment.
            row_start, col_start: where the first one goes.

        Raises:
            RuntimeError: there is no such segment.
            IndexError: the block does not fit in.
        """
        block = _matrix_of_polynomials(replacement)
        index = self._checked_segment(segment_index)
        self._check_block(row_start, col_start, *block.shape)
        polynomials = np.array([self.getPolynomialMatrix(i) for i in range(self.get_number_of_segments())])
        polynomials[index, row_start : row_start + block.shape[0], col_start : col_start + block.shape[1]] = block
        self._set_polynomials(polynomials)

    def isApprox(
        self, other: PiecewisePolynomial, tol: float, tol_type: ToleranceType = ToleranceType.kRelative
    ) -> bool:
        """Returns whether segments, breaks and, up to a tolerance, all coefficients are those of another trajectory.

        Args:
            other: the other one.
            tol: the tolerance of coefficients, see Polynomial.CoefficientsAlmostEqual().
            tol_type: what it is relative to.
        """
        if self._coefficients.shape[::2] != other._coefficients.shape[::2] or not self._has_breaks_of(other):
            return False
        return self._coefficients.shape[3] == other._coefficients.shape[3] and all(
            p.CoefficientsAlmostEqual(q, tol, tol_type)
            for i in range(self.get_number_of_segments())
            for p, q in zip(self.getPolynomialMatrix(i).flat, other.getPolynomialMatrix(i).flat)
        )

    # ------------------------------------------------------------------ segments

    def ConcatenateInTime(self, other: PiecewisePolynomial) -> None:
        """Adds the segments of another trajectory, which starts where this one ends.

        Raises:
            RuntimeError: it starts elsewhere, or its values have another shape.
        """
        if not self._breaks:
            self._set_breaks(list(other._times))
            self._set_coefficients(other._coefficients.copy(), other._sizes.copy())
            return
        if (self.rows(), self.cols()) != (other.rows(), other.cols()):
            raise RuntimeError(
                f"{self._name}.ConcatenateInTime(): values have shape ({self.rows()}, {self.cols()}), but those of the "
                f"other trajectory ({other.rows()}, {other.cols()})."
            )
        if not abs(self._breaks[-1] - other._breaks[0]) < EPSILON_TIME:
            raise RuntimeError(
                f"{self._name}.ConcatenateInTime(): this trajectory ends at {self._breaks[-1]}, but the other one "
                f"starts at {other._breaks[0]}; shift it with shiftRight()."
            )
        self._append(other._times, other._coefficients, other._sizes)

    def AppendFirstOrderSegment(self, time: Any, sample: Any) -> None:
        """Adds a straight segment from the value at the end.

        Args:
            time: where the segment ends.
            sample: the value there, shape [rows, cols].

        Raises:
            RuntimeError: there is no segment yet.
            ValueError: the time is not beyond the end, or the sample has another shape.
        """
        times, samples = self._next_segment("AppendFirstOrderSegment", time, sample)
        self._append(times, interpolation.linear(times, samples))

    def AppendCubicHermiteSegment(self, time: Any, sample: Any, sample_dot: Any) -> None:
        """Adds a cubic segment that goes on from the value and the derivative at the end.

        Args:
            time: where the segment ends.
            sample, sample_dot: value and derivative there, shape [rows, cols].

        Raises:
            RuntimeError: there is no segment yet.
            ValueError: the time is not beyond the end, or a matrix has another shape.
        """
        times, samples = self._next_segment("AppendCubicHermiteSegment", time, sample)
        _, slopes = self._next_segment("AppendCubicHermiteSegment", time, sample_dot, derivative_order=1)
        self._append(times, interpolation.hermite(times, samples, slopes))

    def RemoveFinalSegment(self) -> None:
        """Removes the last segment.

        Raises:
            RuntimeError: there is no segment.
        """
        last = self._checked_segment(self.get_number_of_segments() - 1)
        times = self._times[:-1] if last else []
        self._set_breaks(times)
        self._set_coefficients(self._coefficients[:-1], self._sizes[:-1])

    def slice(self, start_segment_index: int, num_segments: int) -> PiecewisePolynomial:
        """Returns the trajectory of some segments, one after the other.

        Raises:
            RuntimeError: there are no such segments.
        """
        first = self._checked_segment(start_segment_index)
        end = self._checked_segment(first + num_segments - 1) + 1
        return self._of(self._times[first : end + 1], self._coefficients[first:end].copy(), self._sizes[first:end])

    # ------------------------------------------------------------------ time

    def shiftRight(self, offset: Any) -> None:
        """Moves all breaks: afterwards, the value at t is that from t - offset before."""
        self._set_breaks([time + offset for time in self._times])

    def ScaleTime(self, scale: Any) -> None:
        """Stretches time: afterwards, the value at t is that from t / scale before.

        Raises:
            ValueError: the scale is not positive.
        """
        if not plain(scale) > 0.0:
            raise ValueError(f"{self._name}.ScaleTime(): scale must be positive, got {scale}.")
        self._set_breaks([time * scale for time in self._times])
        powers = [1.0]
        for _ in range(self._coefficients.shape[1] - 1):
            powers.append(powers[-1] * scale)
        self._set_coefficients(self._coefficients / np.array(powers).reshape(-1, 1, 1), self._sizes)

    def ReverseTime(self) -> None:
        """Mirrors time: afterwards, the value at t is that from -t before."""
        powers = self._coefficients.shape[1]
        mirrored = 0.0 * self._coefficients
        for i, coefficients in enumerate(self._coefficients):
            # With h the length of the segment: sum_k c_k (h - s)^k = sum_j s^j (-1)^j sum_k c_k binom(k, j) h^(k - j).
            for j in range(powers):
                terms = [
                    coefficients[k] * (math.comb(k, j) * (self._times[i + 1] - self._times[i]) ** (k - j))
                    for k in range(j + 1, powers)
                ]
                mirrored[i, j] = (-1.0) ** j * sum(terms, coefficients[j])
        self._set_breaks([-time for time in reversed(self._times)])
        self._set_coefficients(mirrored[::-1].copy(), self._sizes[::-1])

    # ------------------------------------------------------------------ matrices

    def Block(self, start_row: int, start_col: int, block_rows: int, block_cols: int) -> PiecewisePolynomial:
        """Returns the trajectory of a block of the value.

        Raises:
            IndexError: the block does not fit in.
        """
        self._check_block(start_row, start_col, block_rows, block_cols)
        rows, cols = slice_of(start_row, block_rows), slice_of(start_col, block_cols)
        return self._of(self._times, self._coefficients[:, :, rows, cols].copy(), self._sizes[:, rows, cols])

    def Transpose(self) -> PiecewisePolynomial:
        """Returns the trajectory of the transposed value."""
        return self._of(self._times, self._coefficients.swapaxes(2, 3).copy(), self._sizes.swapaxes(1, 2))

    def Reshape(self, rows: int, cols: int) -> None:
        """Gives values another shape, with the elements in the order of columns.

        Raises:
            ValueError: there would be another number of elements.
        """
        if rows * cols != self.rows() * self.cols():
            raise ValueError(
                f"{self._name}.Reshape(): values of shape ({self.rows()}, {self.cols()}) cannot have shape "
                f"({rows}, {cols})."
            )
        n, powers = self._coefficients.shape[:2]
        transposed = self._coefficients.swapaxes(2, 3).reshape(n, powers, cols, rows)
        sizes = self._sizes.swapaxes(1, 2).reshape(n, cols, rows).swapaxes(1, 2)
        self._set_coefficients(transposed.swapaxes(2, 3).copy(), sizes)

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> PiecewisePolynomial:
        return self._combined(other, np.add)

    def __sub__(self, other: Any) -> PiecewisePolynomial:
        return self._combined(other, np.subtract)

    def __neg__(self) -> PiecewisePolynomial:
        return self._of(self._times, -self._coefficients, self._sizes)

    def __mul__(self, other: Any) -> PiecewisePolynomial:
        """The matrix product with another trajectory, or each element times a number."""
        if not isinstance(other, PiecewisePolynomial):
            if np.ndim(other) or isinstance(other, str):
                return NotImplemented
            return self._of(self._times, self._coefficients * other, self._sizes)
        self._require_same_breaks(other)
        n, p, rows, inner = self._coefficients.shape
        _, q, other_inner, cols = other._coefficients.shape
        if inner != other_inner:
            raise RuntimeError(f"{self._name}: cannot multiply values of shapes ({rows}, {inner}) and "
                               f"({other_inner}, {cols}).")  # fmt: skip
        product = np.zeros((n, p + q - 1, rows, cols), dtype=np.result_type(self._coefficients, other._coefficients))
        for i in range(p):
            for j in range(q):
                product[:, i + j] += np.matmul(self._coefficients[:, i], other._coefficients[:, j])
        return self._of(self._times, product)

    __rmul__ = __mul__

    def _combined(self, other: Any, operation: Any) -> PiecewisePolynomial:
        if not isinstance(other, PiecewisePolynomial):
            return NotImplemented
        self._require_same_breaks(other)
        polynomials = []
        for i in range(self.get_number_of_segments()):
            a, b = self.getPolynomialMatrix(i), other.getPolynomialMatrix(i)
            if a.shape != b.shape:
                raise RuntimeError(f"{self._name}: values have different shapes, {a.shape} and {b.shape}.")
            polynomials.append(operation(a, b))
        result = self.Clone()
        if polynomials:
            result._set_polynomials(np.array(polynomials))
        return result

    def _has_breaks_of(self, other: PiecewisePolynomial) -> bool:
        return len(self._breaks) == len(other._breaks) and all(
            x == y or abs(x - y) <= EPSILON_TIME for x, y in zip(self._breaks, other._breaks)
        )

    def _require_same_breaks(self, other: PiecewisePolynomial) -> None:
        if not self._has_breaks_of(other):
            raise RuntimeError(
                f"{self._name}: arithmetic needs the same breaks, got {self._breaks} and {other._breaks}."
            )

    # ------------------------------------------------------------------ files and copies

    __fields__ = (
        types.SimpleNamespace(name="breaks", type=np.ndarray),
        types.SimpleNamespace(name="polynomials", type=np.ndarray),
    )

    @property
    def breaks(self) -> Array:
        """The breaks, shape [n + 1]; with `polynomials` all there is to keep in a file."""
        return np.array(self._breaks)

    @breaks.setter
    def breaks(self, values: Any) -> None:
        self._set_breaks([float(time) for time in np.asarray(values).ravel()])

    @property
    def polynomials(self) -> Array:
        """Coefficients of rising powers, shape [n, rows, cols, degree + 1]."""
        if not self._breaks:
            return np.zeros((0, 0, 0, 1))
        return cast_entries(np.moveaxis(self._coefficients, 1, 3), float)

    @polynomials.setter
    def polynomials(self, values: Any) -> None:
        array = np.array(values, dtype=np.float64)
        if not array.size:  # as in a file, of no segments
            array = np.zeros((0, 0, 0, 1))
        if array.ndim != 4:
            raise ValueError(
                "PiecewisePolynomial: polynomials must have shape [segments, rows, cols, degree + 1], got "
                f"{array.shape}."
            )
        self._set_coefficients(np.ascontiguousarray(np.moveaxis(array, 3, 1)))

    def Clone(self) -> Self:
        result = type(self).__new__(type(self))
        result.__dict__.update(self.__dict__)
        result._set_breaks(list(self._times))
        result._set_coefficients(self._coefficients.copy(), self._sizes.copy())
        return result

    def __deepcopy__(self, memo: Any) -> Any:
        return self.Clone()

    # ------------------------------------------------------------------ details

    def _append(self, times: Sequence[Any], coefficients: Array, sizes: Array | None = None) -> None:
        """Adds segments with these breaks, of which the first one is there already."""
        if sizes is None:
            n, size, rows, cols = coefficients.shape
            sizes = np.full((n, rows, cols), size)
        powers = max(self._coefficients.shape[1], coefficients.shape[1])
        together = [_padded(self._coefficients, powers), _padded(coefficients, powers)]
        self._set_breaks([*self._times, *times[1:]])
        self._set_coefficients(np.concatenate(together), np.concatenate([self._sizes, sizes]))

    def _next_segment(self, caller: str, time: Any, sample: Any, derivative_order: int = 0) -> tuple[list[Any], Array]:
        """Breaks of a segment to append, and the samples (or derivatives) at both, shape [2, rows, cols]."""
        where = f"{self._name}.{caller}()"
        end = self.end_time()
        matrix = as_matrix(sample, where)
        if not plain(time) > plain(end):
            raise ValueError(f"{where}: the trajectory ends at {end}, and time must be beyond that; got {time}.")
        if matrix.shape != self._coefficients.shape[2:]:
            raise ValueError(
                f"{where}: values have shape {self._coefficients.shape[2:]}, but a sample has shape {matrix.shape}."
            )
        return [end, float(time) if isinstance(time, int) else time], np.array(
            [self.EvalDerivative(end, derivative_order), matrix]
        )

    def _check_block(self, start_row: int, start_col: int, block_rows: int, block_cols: int) -> None:
        rows, cols = self._coefficients.shape[2:]
        if min(start_row, start_col, block_rows, block_cols) < 0 or (
            start_row + block_rows > rows or start_col + block_cols > cols
        ):
            raise IndexError(
                f"{self._name}: values have shape ({rows}, {cols}); there is no block of shape "
                f"({block_rows}, {block_cols}) at ({start_row}, {start_col})."
            )

    def _scalar_type(self) -> Any:
        of_values = scalar_of_array(self._coefficients)
        return super()._scalar_type() if of_values is float else of_values

    def _cast(self, T: Any) -> Any:
        result = self.Clone()
        result._cast_breaks(T)
        result._set_coefficients(cast_entries(self._coefficients, T), self._sizes)
        return result


def slice_of(start: int, size: int) -> slice:
    """The slice of `size` elements from `start` on."""
    return slice(start, start + size)


def _matrix_of_polynomials(value: Any) -> Array:
    array = np.asarray(value, dtype=object)
    return array if array.ndim == 2 else array.reshape(-1, 1)


def _padded(coefficients: Array, powers: int) -> Array:
    n, size, rows, cols = coefficients.shape
    return np.concatenate([coefficients, np.zeros((n, powers - size, rows, cols))], axis=1)
