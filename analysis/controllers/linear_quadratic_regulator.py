"""Linear quadratic regulators, for systems and for matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, System
from merganser.framework.primitives import AffineSystem, Linearize, LinearSystem

__all__ = ["DiscreteTimeLinearQuadraticRegulator", "LinearQuadraticRegulator"]

Array = NDArray[Any]


def LinearQuadraticRegulator(*args: Any, **kwargs: Any) -> Any:
    """Computes the state feedback u = -K x that minimizes a quadratic cost over an infinite time.

        J = integral of x' Q x + u' R u + 2 x' N u                               (1)
        0 = A' S + S A - (S B + N) R^-1 (B' S + N') + Q                          (2)
        K = R^-1 (B' S + N')                                                     (3)

    (Anderson and Moore 1990, chapter 2.) Three forms:

        LinearQuadraticRegulator(A, B, Q, R, N=None)             -> (K [m, n], S [n, n])
        LinearQuadraticRegulator(system, Q, R, N=None)           -> LinearSystem, for a LinearSystem
        LinearQuadraticRegulator(system, context, Q, R, N=None, input_port_index=0) -> AffineSystem

    The last linearizes the system about the equilibrium in `context`, and returns the regulator
    u = u0 - K (x - x0); its input is the whole state. A system with a time period gets the discrete-time regulator.

    Raises:
        ValueError: sizes do not match, Q is not positive semidefinite or R not positive definite.
        RuntimeError: the operating point is not an equilibrium, or no stabilizing feedback exists.
    """
    if not isinstance(args[0] if args else kwargs.get("A"), System) and "system" not in kwargs:
        return _of_matrices(*args, **kwargs)
    second = args[1] if len(args) > 1 else kwargs.get("context")
    if isinstance(second, Context):
        return _of_nonlinear_system(*args, **kwargs)
    return _of_linear_system(*args, **kwargs)


def DiscreteTimeLinearQuadraticRegulator(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Computes the feedback u[k] = -K x[k] for x[k+1] = A x[k] + B u[k].

    Minimizes the sum of x' Q x + u' R u + 2 x' N u by the discrete algebraic Riccati equation.

    Returns:
        K, shape [m, n], and the cost-to-go matrix S, shape [n, n].

    Raises:
        ValueError: sizes do not match, Q is not positive semidefinite or R not positive definite.
        RuntimeError: no stabilizing feedback exists.
    """
    from scipy.linalg import solve_discrete_are

    a, b, q, r, n = _checked(A, B, Q, R, N)
    S = _solve(solve_discrete_are, a, b, q, r, n)
    K = np.linalg.solve(r + b.T @ S @ b, b.T @ S @ a + n.T)
    _require_stable(np.abs(np.linalg.eigvals(a - b @ K)) < 1.0, a, b)
    return K, S


def _of_matrices(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None = None
) -> tuple[Array, Array]:
    from scipy.linalg import solve_continuous_are

    a, b, q, r, n = _checked(A, B, Q, R, N)
    S = _solve(solve_continuous_are, a, b, q, r, n)  # (2)
    K = np.linalg.solve(r, b.T @ S + n.T)  # (3)
    _require_stable(np.linalg.eigvals(a - b @ K).real < 0.0, a, b)
    return K, S


def _of_linear_system(
    system: LinearSystem, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None = None
) -> LinearSystem:
    K, _ = _gain(system, Q, R, N)
    return LinearSystem(np.zeros((0, 0)), np.zeros((0, K.shape[1])), np.zeros((len(K), 0)), -K, system.time_period())


def _of_nonlinear_system(
    system: System,
    context: Context,
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike | None = None,
    input_port_index: int = 0,
) -> AffineSystem:
    linear = Linearize(system, context, input_port_index, -1)
    K, _ = _gain(linear, Q, R, N)
    x0 = context.get_continuous_state_vector() if context.num_continuous_states() else context.get_discrete_state_vector()
    u0 = system.get_input_port(input_port_index).Eval(context)
    none = np.zeros
    return AffineSystem(
        none((0, 0)), none((0, K.shape[1])), none(0), none((len(K), 0)), -K, u0 + K @ x0.CopyToVector(), linear.time_period()
    )  # fmt: skip


def _gain(linear: LinearSystem, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None) -> tuple[Array, Array]:
    regulate = DiscreteTimeLinearQuadraticRegulator if linear.time_period() > 0.0 else _of_matrices
    return regulate(linear.A(), linear.B(), Q, R, N)


def _checked(A: Any, B: Any, Q: Any, R: Any, N: Any) -> tuple[Array, Array, Array, Array, Array]:
    a, b, q, r = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (A, B, Q, R))
    states, inputs = len(a), b.shape[1]
    n = np.zeros((states, inputs)) if N is None or np.size(N) == 0 else np.atleast_2d(np.asarray(N, dtype=float))
    wanted = {"A": (states, states), "B": (states, inputs), "Q": (states, states), "R": (inputs, inputs), "N": (states, inputs)}
    for (name, shape), matrix in zip(wanted.items(), (a, b, q, r, n)):
        if matrix.shape != shape:
            raise ValueError(f"LQR: {name} has shape {matrix.shape}; with A {a.shape} and B {b.shape} it must be {shape}.")
        if not np.isfinite(matrix).all():
            raise ValueError(f"LQR: {name} has elements that are not finite.")
    for name, matrix, least in (("Q", q, -1e-12 * max(1.0, np.abs(q).max(initial=0.0))), ("R", r, 0.0)):
        smallest = np.linalg.eigvalsh((matrix + matrix.T) / 2).min(initial=np.inf)
        if not np.allclose(matrix, matrix.T, atol=1e-10 * (1 + np.abs(matrix).max())) or not (
            smallest > least or (name == "Q" and smallest >= least)
        ):
            kind = "positive semidefinite" if name == "Q" else "positive definite"
            raise ValueError(f"LQR: {name} must be symmetric and {kind}; its smallest eigenvalue is {smallest:.6g}.")
    return a, b, q, r, n


def _solve(solver: Any, a: Array, b: Array, q: Array, r: Array, n: Array) -> Array:
    try:
        return solver(a, b, q, r, s=n)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError as error:
        raise RuntimeError(f"LQR: no stabilizing feedback exists. {_uncontrollable_modes(a, b)} ({error})") from error


def _require_stable(stable: Array, a: Array, b: Array) -> None:
    if not stable.all():
        raise RuntimeError(f"LQR: no stabilizing feedback was found. {_uncontrollable_modes(a, b)}")


def _uncontrollable_modes(a: Array, b: Array) -> str:
    """Names the eigenvalues of A that no input reaches (Popov-Belevitch-Hautus test)."""
    scale = 1.0 + np.abs(a).max(initial=0.0) + np.abs(b).max(initial=0.0)
    modes = [
        mode
        for mode in np.linalg.eigvals(a)
        if np.linalg.svd(np.hstack([a - mode * np.eye(len(a)), b]), compute_uv=False)[-1] < 1e-9 * scale
    ]
    listed = ", ".join(f"{mode:.6g}" for mode in modes)
    return f"Eigenvalues of A that no input can move: {listed}." if modes else "Check Q: some mode costs nothing."
