"""Linear quadratic regulators, for systems and for matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.system_dynamics import state_values
from merganser.framework import Context, OutputPortSelection, System
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.primitives import AffineSystem, Linearize, LinearSystem

Array = NDArray[Any]
_NONE = np.zeros((0, 0))
# Relative to the size of a matrix: how unsymmetric it may be, and how far below zero its eigenvalues may lie.
_SYMMETRY_TOLERANCE = 1e-10
_DEFINITENESS_TOLERANCE = 1e-12
_CONTROLLABILITY_TOLERANCE = 1e-9


@overload
def LinearQuadraticRegulator(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike = ..., F: ArrayLike = ...
) -> tuple[Array, Array]: ...
@overload
def LinearQuadraticRegulator(system: LinearSystem, Q: ArrayLike, R: ArrayLike, N: ArrayLike = ...) -> LinearSystem: ...
@overload
def LinearQuadraticRegulator(
    system: System,
    context: Context,
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike = ...,
    input_port_index: int = ...,
) -> AffineSystem: ...
def LinearQuadraticRegulator(*args: Any, **kwargs: Any) -> Any:
    """Computes the state feedback u = -K x that minimizes a quadratic cost over an infinite time.

        J = integral of x' Q x + u' R u + 2 x' N u                               (1)
        0 = A' S + S A - (S B + N) R^-1 (B' S + N') + Q                          (2)
        K = R^-1 (B' S + N')                                                     (3)

    (Anderson and Moore 1990, chapter 2.) Three forms:

        LinearQuadraticRegulator(A, B, Q, R, N=[], F=[])         -> (K [m, n], S [n, n])
        LinearQuadraticRegulator(system, Q, R, N=[])             -> LinearSystem, for a LinearSystem
        LinearQuadraticRegulator(system, context, Q, R, N=[], input_port_index=0) -> AffineSystem

    The first takes constraints F x = 0 [k, n] that the dynamics keep by themselves: the regulator then acts
    on the states that fulfil them. The last linearizes the system about the equilibrium in `context`, and
    returns the regulator u = u0 - K (x - x0); its input is the whole state. A system with a time period gets
    the discrete-time regulator.

    Raises:
        ValueError: sizes do not match, or an element is not finite.
        RuntimeError: Q is not positive semidefinite, R is not positive definite, the operating point is not
            an equilibrium, or no stabilizing feedback exists.
    """
    name = "LinearQuadraticRegulator"
    first = args[0] if args else kwargs.get("system")
    if not isinstance(first, System):
        optional: dict[str, Any] = {"N": _NONE, "F": _NONE}
        return _of_matrices(**bind_overload(name, ("A", "B", "Q", "R", *optional), optional, args, kwargs))
    second = args[1] if len(args) > 1 else kwargs.get("context")
    if isinstance(second, Context):
        optional = {"N": _NONE, "input_port_index": 0}
        return _of_nonlinear_system(
            **bind_overload(name, ("system", "context", "Q", "R", *optional), optional, args, kwargs)
        )
    if not isinstance(first, LinearSystem):
        raise TypeError(
            "LinearQuadraticRegulator(system, Q, R) takes a LinearSystem; for system "
            f"'{first.GetSystemPathname()}' ({type(first).__name__}) give the equilibrium too: "
            "LinearQuadraticRegulator(system, context, Q, R)."
        )
    return _of_linear_system(**bind_overload(name, ("system", "Q", "R", "N"), {"N": _NONE}, args, kwargs))


def DiscreteTimeLinearQuadraticRegulator(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike = _NONE
) -> tuple[Array, Array]:
    """Computes the feedback u[k] = -K x[k] for x[k+1] = A x[k] + B u[k].

    Minimizes the sum of x' Q x + u' R u + 2 x' N u by the discrete algebraic Riccati equation (Anderson and
    Moore 1990, chapter 2).

    Returns:
        K, shape [m, n], and the cost-to-go matrix S, shape [n, n].

    Raises:
        ValueError: sizes do not match, or an element is not finite.
        RuntimeError: R is not positive definite, [Q N; N' R] is not positive semidefinite, or no stabilizing
            feedback exists.
    """
    from scipy.linalg import solve_discrete_are

    a, b, q, r, n = checked_problem(A, B, Q, R, N)
    require_definite("[Q N; N' R]", np.block([[q, n], [n.T, r]]), "positive semidefinite")
    S = _solve(solve_discrete_are, (a, b, q, r, n), is_unstable_in_discrete_time)
    K = np.linalg.solve(r + b.T @ S @ b, b.T @ S @ a + n.T)
    _require_stable(a, b, K, is_unstable_in_discrete_time)
    return K, S


def _of_matrices(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike = _NONE, F: ArrayLike = _NONE
) -> tuple[Array, Array]:
    from scipy.linalg import null_space, solve_continuous_are

    a, b, q, r, n = checked_problem(A, B, Q, R, N)
    f = np.zeros((0, len(a))) if np.size(F) == 0 else np.atleast_2d(numbers_of(F, "LQR: F"))
    if f.shape[1] != len(a):
        raise ValueError(f"LQR: F has shape {f.shape}; with A {a.shape} it must have {len(a)} columns.")
    # With x = T z, where the columns of T span the states that fulfil F x = 0, the problem has no
    # constraints.
    T = null_space(f) if len(f) else np.eye(len(a))
    if T.shape[1] == 0:
        raise ValueError(f"LQR: F has rank {len(a)}: no state but zero fulfils F x = 0.")
    a, b, q, n = T.T @ a @ T, T.T @ b, T.T @ q @ T, T.T @ n
    S = _solve(solve_continuous_are, (a, b, q, r, n), is_unstable)  # (2)
    K = np.linalg.solve(r, b.T @ S + n.T)  # (3)
    _require_stable(a, b, K, is_unstable)
    return K @ T.T, T @ S @ T.T


def _of_linear_system(system: LinearSystem, Q: ArrayLike, R: ArrayLike, N: ArrayLike = _NONE) -> LinearSystem:
    K = _gain(system, Q, R, N)
    return LinearSystem(D=-K, time_period=system.time_period())


def _of_nonlinear_system(
    system: System,
    context: Context,
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike = _NONE,
    input_port_index: int = 0,
) -> AffineSystem:
    linear = Linearize(system, context, input_port_index, OutputPortSelection.kNoOutput)
    K = _gain(linear, Q, R, N)
    x0 = state_values(context)
    u0 = system.get_input_port(input_port_index).Eval(context)
    return AffineSystem(D=-K, y0=u0 + K @ x0, time_period=linear.time_period())


def _gain(linear: LinearSystem, Q: ArrayLike, R: ArrayLike, N: ArrayLike) -> Array:
    regulate = DiscreteTimeLinearQuadraticRegulator if linear.time_period() > 0.0 else _of_matrices
    return regulate(linear.A(), linear.B(), Q, R, N)[0]


def checked_problem(A: Any, B: Any, Q: Any, R: Any, N: Any) -> tuple[Array, Array, Array, Array, Array]:
    """A, B, Q, R and N as matrices of consistent sizes; an empty N means zeros.

    Raises:
        TypeError: one does not consist of numbers.
        ValueError: they do not, or an element is not finite.
        RuntimeError: Q is not positive semidefinite, or R is not positive definite.
    """
    a, b, q, r = (numbers_of(x, f"LQR: {name}") for name, x in zip("ABQR", (A, B, Q, R)))
    a, q, r = np.atleast_2d(a), np.atleast_2d(q), np.atleast_2d(r)
    b = b.reshape(-1, 1) if b.ndim < 2 else b
    states, inputs = len(a), b.shape[1]
    n = np.zeros((states, inputs)) if np.size(N) == 0 else numbers_of(N, "LQR: N")
    n = n.reshape(-1, 1) if n.ndim < 2 else n
    of_states, of_inputs, of_both = (states, states), (inputs, inputs), (states, inputs)
    for name, matrix, shape in (
        ("A", a, of_states), ("B", b, of_both), ("Q", q, of_states), ("R", r, of_inputs), ("N", n, of_both)
    ):  # fmt: skip
        if matrix.shape != shape:
            raise ValueError(
                f"LQR: {name} has shape {matrix.shape}; with A {a.shape} and B {b.shape} it must be {shape}."
            )
        if not np.isfinite(matrix).all():
            raise ValueError(f"LQR: {name} has elements that are not finite.")
    require_definite("Q", q, "positive semidefinite")
    require_definite("R", r, "positive definite")
    return a, b, q, r, n


def numbers_of(values: ArrayLike, what: str) -> Array:
    """An array of floats.

    Raises:
        TypeError: `values` are no numbers, or rows differ in length; the message begins with `what`.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must consist of numbers, in rows of one length; got {values!r}.") from None


def require_definite(name: str, matrix: Array, kind: str) -> None:
    """Raises a RuntimeError unless a matrix is symmetric and "positive definite" or "positive semidefinite"."""
    scale = np.abs(matrix).max(initial=0.0)
    asymmetry = np.abs(matrix - matrix.T).max(initial=0.0)
    if asymmetry > _SYMMETRY_TOLERANCE * scale:
        raise RuntimeError(f"LQR: {name} must be symmetric; it differs from its transpose by up to {asymmetry:.6g}.")
    smallest = np.linalg.eigvalsh(matrix).min(initial=np.inf)
    slack = _DEFINITENESS_TOLERANCE * scale
    if smallest < -slack or (kind == "positive definite" and smallest <= slack):
        raise RuntimeError(f"LQR: {name} must be {kind}; its smallest eigenvalue is {smallest:.6g}.")


def _solve(solver: Any, problem: tuple[Array, ...], is_unstable: Callable[[Array], Array]) -> Array:
    a, b, q, r, n = problem
    try:
        return solver(a, b, q, r, s=n)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(f"LQR: no stabilizing feedback exists. {_explain(a, b, is_unstable)} ({error})") from error


def _require_stable(a: Array, b: Array, K: Array, is_unstable: Callable[[Array], Array]) -> None:
    if is_unstable(np.linalg.eigvals(a - b @ K)).any():
        raise RuntimeError(f"LQR: no stabilizing feedback was found. {_explain(a, b, is_unstable)}")


def is_unstable(modes: Array) -> Array:
    """Which eigenvalues do not decay in continuous time."""
    return modes.real >= 0.0


def is_unstable_in_discrete_time(modes: Array) -> Array:
    """Which eigenvalues do not decay in discrete time."""
    return np.abs(modes) >= 1.0


def _explain(a: Array, b: Array, is_unstable: Callable[[Array], Array]) -> str:
    unreached = unreached_modes(a, b, is_unstable)
    if not unreached:
        return "Check Q and N: some unstable mode seems to cost nothing, or less than nothing."
    return f"Unstable eigenvalues of A that no input can move: {', '.join(f'{mode:.6g}' for mode in unreached)}."


def unreached_modes(a: Array, b: Array, is_unstable: Callable[[Array], Array]) -> list[complex]:
    """The unstable eigenvalues of A that no input reaches (Popov-Belevitch-Hautus test).

    Args:
        a: shape [n, n].
        b: shape [n, m].
        is_unstable: returns a mask of the unstable eigenvalues in an array.
    """
    tolerance = _CONTROLLABILITY_TOLERANCE * (1.0 + np.abs(a).max(initial=0.0) + np.abs(b).max(initial=0.0))
    modes = np.linalg.eigvals(a)
    return [
        mode
        for mode in modes[is_unstable(modes)]
        if np.linalg.svd(np.hstack([a - mode * np.eye(len(a)), b]), compute_uv=False)[-1] < tolerance
    ]
