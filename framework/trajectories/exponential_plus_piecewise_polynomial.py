"""ExponentialPlusPiecewisePolynomial: solutions of linear differential equations with piecewise polynomial inputs."""

from __future__ import annotations

from typing import Any

from merganser.framework.trajectories._scalars import Array, as_matrix, plain
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.piecewise_trajectory import PiecewiseTrajectory


class ExponentialPlusPiecewisePolynomial(PiecewiseTrajectory):
    """On segment j, which starts at t_j, the value is K exp(A (t - t_j)) alpha_j + p(t).

    Beyond the ends, the exponential goes on, and p(t) is that at the end. There are no derivatives.

    Args:
        K: shape [rows, n].
        A: shape [n, n].
        alpha: alpha_j as columns, shape [n, number of segments].
        piecewise_polynomial_part: p, of shape [rows, 1].

    Raises:
        ValueError: sizes do not go together.
    """

    def __init__(self, K: Any, A: Any, alpha: Any, piecewise_polynomial_part: PiecewisePolynomial) -> None:
        name = "ExponentialPlusPiecewisePolynomial"
        self._K, self._A, self._alpha = (
            as_matrix(m, f"{name}: {what}") for m, what in ((K, "K"), (A, "A"), (alpha, "alpha"))
        )
        self._part: PiecewisePolynomial = piecewise_polynomial_part.Clone()
        n, segments = len(self._A), self._part.get_number_of_segments()
        shapes = {"K": (self._part.rows(), n), "A": (n, n), "alpha": (n, segments)}
        for (what, expected), matrix in zip(shapes.items(), (self._K, self._A, self._alpha)):
            if matrix.shape != expected:
                raise ValueError(f"{name}: {what} must have shape {expected}, got {matrix.shape}.")
        super().__init__(self._part._times)

    def shiftRight(self, offset: float) -> None:
        """Moves all breaks: afterwards, the value at t is that from t - offset before."""
        self._part.shiftRight(offset)
        self._set_breaks(self._part._times)

    def do_rows(self) -> int:
        return self._part.rows()

    def do_cols(self) -> int:
        return self._part.cols()

    def do_value(self, t: Any) -> Array:
        from scipy.linalg import expm  # most programs need no matrix exponentials

        index = self.get_segment_index(t)
        growth = expm(self._A * (plain(t) - self._breaks[index]))
        return self._part.value(t) + (self._K @ growth @ self._alpha[:, index]).reshape(-1, 1)
