"""Motions of a centre of mass whose zero-moment point goes where it should: ZmpPlanner.

Two inverted pendulums of constant height z, in the directions x and y, with state x = [c; cdot] and control u = cddot:

    xdot = A x + B u,   y = C x + D u = c - (z / g) u                                                     (1)

y is the zero-moment point, and y_d(t) is where it should be. With xbar = [c - y_d(tf); cdot] and ybar = y_d - y_d(tf),

    min  xbar(tf)' S xbar(tf) + integral of (y - y_d)' Q (y - y_d) + u' R u                               (2)

has the cost to go xbar' S xbar + xbar' s(t) + s_0(t), with S of the linear quadratic regulator for Q_1 = C'QC,
R_1 = R + D'QD, N = C'QD. With H = N + S B,

    sdot = A_2 s + B_2 ybar,   A_2 = H R_1^-1 B' - A',   B_2 = 2 (C' - H R_1^-1 D') Q,   s(tf) = 0        (3)
    u = K xbar + k_s s + k_y ybar,   K = -R_1^-1 H',   k_s = -R_1^-1 B' / 2,   k_y = R_1^-1 D' Q          (4)

On a segment from t_j on, where ybar = sum c_i (t - t_j)^i, a linear system wdot = M w + P ybar has the solution

    w = exp(M (t - t_j)) a_j + sum b_i (t - t_j)^i,    M b_i = (i + 1) b_(i+1) - P c_i                    (5)

which serves s, backwards in time, and then w = [xbar; s], forwards.

Source: R. Tedrake, S. Kuindersma, R. Deits and K. Miura, A closed-form solution for real-time ZMP gait generation and
feedback stabilization, IEEE-RAS Humanoids (2015). K here is minus their gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework.trajectories import ExponentialPlusPiecewisePolynomial, PiecewisePolynomial, Polynomial

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Model:
    """The matrices of (1) to (4); S and the gains K, k_s and k_y are those of the solution."""

    A: Array
    B: Array
    C: Array
    D: Array
    Q: Array
    R: Array
    S: Array
    K: Array
    k_s: Array
    k_y: Array
    A_2: Array
    B_2: Array


@dataclass(frozen=True, eq=False)
class _Plan:
    """A model, and what it does for one y_d."""

    model: _Model
    zmp: PiecewisePolynomial
    zmp_end: Array
    com: ExponentialPlusPiecewisePolynomial
    comd: ExponentialPlusPiecewisePolynomial
    comdd: ExponentialPlusPiecewisePolynomial
    s: ExponentialPlusPiecewisePolynomial


class ZmpPlanner:
    """Plans the motion of a centre of mass (CoM) for a zero-moment point (ZMP), and a feedback for it.

    All getters are for after Plan(); before, they raise RuntimeError. Equations (1) to (4) are those of the file.
    """

    def __init__(self) -> None:
        self._plan: _Plan | None = None

    def Plan(
        self,
        zmp_d: PiecewisePolynomial,
        x0: Any,
        height: float,
        gravity: float = 9.81,
        Qy: Any = np.eye(2),  # noqa: B008  never written
        R: Any = 0.1 * np.eye(2),  # noqa: B008
    ) -> None:
        """Plans a motion.

        Args:
            zmp_d: where the ZMP should be, y_d(t) [m], shape [2, 1].
            x0: [c; cdot] at its start time [m, m/s], shape [4].
            height: z, of the CoM above the ground [m].
            gravity: g [m/s^2].
            Qy: cost of the error of the ZMP, positive definite, shape [2, 2].
            R: cost of accelerations of the CoM, positive definite, shape [2, 2].

        Raises:
            ValueError: a size or a number is wrong, or a cost is not positive definite.
        """
        count = zmp_d.get_number_of_segments()
        if count < 1 or (zmp_d.rows(), zmp_d.cols()) != (2, 1):
            shape = f"shape {(zmp_d.rows(), zmp_d.cols())}" if count > 0 else "no segments"
            raise ValueError(f"ZmpPlanner.Plan: zmp_d must have the shape (2, 1), got {shape}.")
        start = np.array(x0, dtype=np.float64).ravel()
        if start.size != 4 or not np.isfinite(start).all():
            raise ValueError(f"ZmpPlanner.Plan: x0 must be 4 finite numbers, got {x0}.")
        model = _make_model(height, gravity, Qy, R)
        self._plan = _make_plan(model, zmp_d.Clone(), start)

    def has_planned(self) -> bool:
        """Whether Plan() has been called."""
        return self._plan is not None

    def _planned(self, caller: str) -> _Plan:
        if self._plan is None:
            raise RuntimeError(f"ZmpPlanner.{caller}: there is no plan. Call Plan() first.")
        return self._plan

    def ComputeOptimalCoMdd(self, time: float, x: Any) -> Array:
        """The acceleration of the CoM that is best at a time and a state: (4).

        Args:
            time: [s].
            x: [c; cdot] [m, m/s], shape [4].

        Returns:
            cddot [m/s^2], shape [2].
        """
        plan = self._planned("ComputeOptimalCoMdd")
        xbar, ybar = _vector("ComputeOptimalCoMdd: x", x, 4), plan.zmp.value(time).ravel() - plan.zmp_end
        xbar[:2] -= plan.zmp_end
        u: Array = plan.model.K @ xbar + plan.model.k_s @ plan.s.value(time).ravel() + plan.model.k_y @ ybar
        return u

    def comdd_to_cop(self, x: Any, u: Any) -> Array:
        """The centre of pressure C x + D u [m], shape [2], for x = [c; cdot], shape [4], and u = cddot, shape [2]."""
        model = self._planned("comdd_to_cop").model
        cop: Array = model.C @ _vector("comdd_to_cop: x", x, 4) + model.D @ _vector("comdd_to_cop: u", u, 2)
        return cop

    def get_A(self) -> Array:
        """A of (1), shape [4, 4]."""
        return self._planned("get_A").model.A.copy()

    def get_B(self) -> Array:
        """B of (1), shape [4, 2]."""
        return self._planned("get_B").model.B.copy()

    def get_C(self) -> Array:
        """C of (1), shape [2, 4]."""
        return self._planned("get_C").model.C.copy()

    def get_D(self) -> Array:
        """D of (1), shape [2, 2]."""
        return self._planned("get_D").model.D.copy()

    def get_Qy(self) -> Array:
        """The cost of the error of the ZMP, shape [2, 2]."""
        return self._planned("get_Qy").model.Q.copy()

    def get_R(self) -> Array:
        """The cost of accelerations, shape [2, 2]."""
        return self._planned("get_R").model.R.copy()

    def get_Vxx(self) -> Array:
        """S of the cost to go, shape [4, 4]."""
        return self._planned("get_Vxx").model.S.copy()

    @overload
    def get_Vx(self, time: float) -> Array: ...
    @overload
    def get_Vx(self) -> ExponentialPlusPiecewisePolynomial: ...
    def get_Vx(self, time: float | None = None) -> Any:
        """s of the cost to go, a trajectory of shape [4, 1]; with a time, its value then, shape [4]."""
        return _at(self._planned("get_Vx").s, time)

    @overload
    def get_desired_zmp(self, time: float) -> Array: ...
    @overload
    def get_desired_zmp(self) -> PiecewisePolynomial: ...
    def get_desired_zmp(self, time: float | None = None) -> Any:
        """Where the ZMP should be [m], a trajectory of shape [2, 1]; with a time, its value then, shape [2]."""
        return _at(self._planned("get_desired_zmp").zmp, time)

    @overload
    def get_nominal_com(self, time: float) -> Array: ...
    @overload
    def get_nominal_com(self) -> ExponentialPlusPiecewisePolynomial: ...
    def get_nominal_com(self, time: float | None = None) -> Any:
        """The CoM from x0 on [m], a trajectory of shape [2, 1]; with a time, its value then, shape [2]."""
        return _at(self._planned("get_nominal_com").com, time)

    @overload
    def get_nominal_comd(self, time: float) -> Array: ...
    @overload
    def get_nominal_comd(self) -> ExponentialPlusPiecewisePolynomial: ...
    def get_nominal_comd(self, time: float | None = None) -> Any:
        """The velocity of the CoM [m/s], as get_nominal_com()."""
        return _at(self._planned("get_nominal_comd").comd, time)

    @overload
    def get_nominal_comdd(self, time: float) -> Array: ...
    @overload
    def get_nominal_comdd(self) -> ExponentialPlusPiecewisePolynomial: ...
    def get_nominal_comdd(self, time: float | None = None) -> Any:
        """The acceleration of the CoM [m/s^2], as get_nominal_com()."""
        return _at(self._planned("get_nominal_comdd").comdd, time)

    def get_final_desired_zmp(self) -> Array:
        """Where the ZMP should be at the end [m], shape [2]."""
        return self._planned("get_final_desired_zmp").zmp_end.copy()


def _at(trajectory: Any, time: float | None) -> Any:
    return trajectory.Clone() if time is None else trajectory.value(time).ravel()


def _vector(what: str, given: Any, size: int) -> Array:
    vector = np.array(given, dtype=np.float64).ravel()
    if vector.size != size:
        raise ValueError(f"ZmpPlanner.{what} must have size {size}, got {vector.size}.")
    return vector


def _make_model(height: float, gravity: float, Qy: Any, R: Any) -> _Model:
    """The matrices, and the solution of the infinite time: (1) to (4)."""
    for what, number in (("height", height), ("gravity", gravity)):
        if not 0.0 < number < np.inf:
            raise ValueError(f"ZmpPlanner.Plan: {what} must be positive and finite, got {number}.")
    Q, R = (_cost(what, given) for what, given in (("Qy", Qy), ("R", R)))
    one, none = np.eye(2), np.zeros((2, 2))
    A, B = np.block([[none, one], [none, none]]), np.vstack((none, one))
    C, D = np.hstack((one, none)), -height / gravity * one
    R_1, N = R + D.T @ Q @ D, C.T @ Q @ D
    gain, S = LinearQuadraticRegulator(A, B, C.T @ Q @ C, R_1, N)
    inverse, H = np.linalg.inv(R_1), N + S @ B
    return _Model(
        A=A, B=B, C=C, D=D, Q=Q, R=R, S=S, K=-gain, k_s=-0.5 * inverse @ B.T, k_y=inverse @ D.T @ Q,
        A_2=H @ inverse @ B.T - A.T, B_2=2.0 * (C.T - H @ inverse @ D.T) @ Q,
    )  # fmt: skip


def _cost(what: str, given: Any) -> Array:
    matrix = np.array(given, dtype=np.float64)
    if matrix.shape != (2, 2) or not np.allclose(matrix, matrix.T) or not np.linalg.eigvalsh(matrix)[0] > 0.0:
        raise ValueError(f"ZmpPlanner.Plan: {what} must be positive definite, of shape (2, 2), got {given}.")
    return matrix


def _make_plan(model: _Model, zmp: PiecewisePolynomial, x0: Array) -> _Plan:
    """The solution for one y_d: (3) backwards, and then (1) with (4) forwards."""
    from scipy.linalg import expm  # most programs need no matrix exponentials

    breaks = np.array(zmp.get_segment_times())
    count, durations = len(breaks) - 1, np.diff(breaks)
    end = zmp.value(zmp.end_time()).ravel()
    ybar = [_coefficients(zmp, j) for j in range(count)]
    for c in ybar:
        c[0] -= end
    A_x, B_x = model.A + model.B @ model.K, model.B @ model.k_s
    M, P = np.block([[A_x, B_x], [np.zeros((4, 4)), model.A_2]]), np.vstack((model.B @ model.k_y, model.B_2))
    b = [_particular(M, P, c) for c in ybar]
    a = np.zeros((8, count))
    s_end = np.zeros(4)
    for j in reversed(range(count)):
        a[4:, j] = expm(-durations[j] * model.A_2) @ (s_end - _sum(b[j], durations[j])[4:])
        s_end = a[4:, j] + b[j][0, 4:]
    xbar = x0 - np.append(end, [0.0, 0.0])
    for j in range(count):
        a[:4, j] = xbar - b[j][0, :4]
        xbar = (expm(durations[j] * M) @ a[:, j] + _sum(b[j], durations[j]))[:4]

    def part(rows: Array, matrix: Array, of: Array, more: list[Array] | None = None) -> Any:
        """rows w, and a polynomial that is added to it."""
        first = 8 - rows.shape[1]
        polynomials = [each[:, first:] @ rows.T + (0.0 if more is None else more[j]) for j, each in enumerate(b)]
        columns = [np.array([[Polynomial(row)] for row in each.T]) for each in polynomials]
        return ExponentialPlusPiecewisePolynomial(rows, matrix, of, PiecewisePolynomial(columns, breaks.tolist()))

    of_x, of_u = np.eye(4, 8), np.hstack((model.K, model.k_s))
    shift = [np.vstack((end, np.zeros((len(c) - 1, 2)))) for c in ybar]
    return _Plan(
        model, zmp, end, com=part(of_x[:2], M, a, shift), comd=part(of_x[2:], M, a),
        comdd=part(of_u, M, a, [c @ model.k_y.T for c in ybar]), s=part(np.eye(4), model.A_2, a[4:]),
    )  # fmt: skip


def _coefficients(trajectory: PiecewisePolynomial, segment: int) -> Array:
    """c_i of a trajectory of two rows on a segment, shape [powers, 2]."""
    rows = [trajectory.getPolynomial(segment, row).GetCoefficients() for row in range(2)]
    coefficients = np.zeros((max(len(row) for row in rows), 2))
    for row, values in enumerate(rows):
        coefficients[: len(values), row] = np.ravel(values)
    return coefficients


def _particular(M: Array, P: Array, c: Array) -> Array:
    """b_i of (5), shape [powers, len(M)]."""
    inverse, b = np.linalg.inv(M), np.zeros((len(c) + 1, len(M)))
    for i in reversed(range(len(c))):
        b[i] = inverse @ ((i + 1) * b[i + 1] - P @ c[i])
    return b[:-1]


def _sum(b: Array, duration: float) -> Array:
    """The polynomial with the coefficients b after a duration."""
    total: Array = duration ** np.arange(len(b)) @ b
    return total
