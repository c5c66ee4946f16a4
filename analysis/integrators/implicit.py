"""ImplicitIntegrator: Jacobians, Newton iterations and their bookkeeping, for all implicit methods."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.collocation import CollocationMethod
from merganser.analysis.integrators.jacobian import FullMatrix, JacobianComputationScheme, LinearAlgebra
from merganser.analysis.integrators.newton_arrays import (
    ConjugatePair,
    NewtonArrays,
    RealEigenvalue,
    SolverArrays,
    factored_dtype,
    kept_dtype,
    knobs_dtype,
)
from merganser.framework import Context, System
from merganser.framework.core.inside import scalar_of

Array = NDArray[Any]
Shapes = list[tuple[tuple[int, ...], Any]]  # of arrays, with their types

_MOST_COMPILED = 30  # state variables of compiled steps; beyond, LAPACK's factorizations are faster
_COUNTS = (
    ("derivative_evaluations", "evaluations"),
    ("jacobian_evaluations", "jacobians"),
    ("derivative_evaluations_for_jacobian", "evaluations_for_jacobians"),
    ("iteration_matrix_factorizations", "factorizations"),
    ("newton_raphson_iterations", "iterations"),
)


class ImplicitIntegrator(IntegratorBase):
    """An integrator that solves equations for each step, by Newton's method: for stiff systems.

    The Jacobian of the derivatives comes from differences. It is kept from step to step until iterations converge
    slowly (`set_reuse`); if they do not converge with a new one either, the step is made shorter.
    `set_use_full_newton` computes a new one for each iteration.
    """

    first_step_share = 1.0
    most_compiled = _MOST_COMPILED
    is_compiled_at_once = True  # as LAPACK's results would differ in their last digits
    made_for_context = IntegratorBase.made_for_context | {"_kept", "_linear_algebra"}

    def __init__(self, system: System, context: Context | None = None) -> None:
        self._knobs: Any = np.zeros(1, knobs_dtype)[0]
        self._kept: Any = np.zeros(1, kept_dtype)[0]
        super().__init__(system, context)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._kept = np.zeros(1, kept_dtype)[0]
        knobs = np.zeros(1, knobs_dtype)
        knobs[0] = state["_knobs"]
        super().__setstate__({**state, "_knobs": knobs[0]})

    def supports_error_estimation(self) -> bool:
        return True

    # ------------------------------------------------------------------ knobs

    def _reset_knobs(self) -> None:
        self._knobs["reuses_jacobian"], self._knobs["is_full_newton"] = True, False
        self._knobs["is_central"] = False
        self._drop_jacobian()

    def _drop_jacobian(self) -> None:
        """Makes the next step compute a Jacobian."""
        self._kept["has_J"] = False

    def set_reuse(self, reuse: bool) -> None:
        """Whether to keep Jacobians and factors from step to step; otherwise each step computes its own."""
        self._knobs["reuses_jacobian"] = reuse

    def get_reuse(self) -> bool:
        """Whether Jacobians are kept from step to step."""
        return bool(self._knobs["reuses_jacobian"] and not self._knobs["is_full_newton"])

    def set_use_full_newton(self, flag: bool) -> None:
        """Whether to compute a Jacobian for each iteration."""
        self._knobs["is_full_newton"] = flag

    def get_use_full_newton(self) -> bool:
        """Whether a Jacobian is computed for each iteration."""
        return bool(self._knobs["is_full_newton"])

    def set_jacobian_computation_scheme(self, scheme: JacobianComputationScheme) -> None:
        """Sets the kind of differences that Jacobians are computed by."""
        if not isinstance(scheme, JacobianComputationScheme):
            raise TypeError(f"The scheme must be a JacobianComputationScheme, got {scheme!r}.")
        self._knobs["is_central"] = scheme is JacobianComputationScheme.kCentralDifference
        self._drop_jacobian()

    def get_jacobian_computation_scheme(self) -> JacobianComputationScheme:
        """The kind of differences that Jacobians are computed by."""
        schemes = JacobianComputationScheme
        return schemes.kCentralDifference if self._knobs["is_central"] else schemes.kForwardDifference

    # ------------------------------------------------------------------ statistics

    def _summary(self) -> list[tuple[str, float]]:
        failures = self.get_num_substep_failures()
        summary: list[tuple[str, float]] = [
            ("integrator_num_step_shrinkages_from_substep_failures", failures),
            ("integrator_num_substep_failures", failures),
        ]
        for name, field in _COUNTS:
            result, error = getattr(self._step_counts.of_result, field), self._error_count(field)
            if name != "derivative_evaluations":  # the base class has that one
                summary.append((f"integrator_num_{name}", result + error))
            summary.append((f"integrator_num_integrator_{name}", result))
            summary.append((f"integrator_num_error_estimator_{name}", error))
        return summary

    def _count(self, name: str) -> int:
        """The counters, for the result and for the error estimate."""
        count: int = getattr(self._step_counts.of_result, name)
        return count + self._error_count(name)

    def _error_count(self, name: str) -> int:
        count: int = getattr(self._step_counts.of_error, name)
        return count

    def get_num_jacobian_evaluations(self) -> int:
        """Number of Jacobians computed."""
        return self._count("jacobians")

    def get_num_derivative_evaluations_for_jacobian(self) -> int:
        """Number of evaluations of derivatives for the differences of Jacobians."""
        return self._count("evaluations_for_jacobians")

    def get_num_iteration_matrix_factorizations(self) -> int:
        """Number of times that the matrices of the iterations were factored."""
        return self._count("factorizations")

    def get_num_newton_raphson_iterations(self) -> int:
        """Number of iterations."""
        return self._count("iterations")

    def get_num_error_estimator_derivative_evaluations(self) -> int:
        """Number of evaluations of derivatives that only the error estimate needed."""
        return self._error_count("evaluations")

    def get_num_error_estimator_jacobian_evaluations(self) -> int:
        """Number of Jacobians that only the error estimate needed."""
        return self._error_count("jacobians")

    def get_num_error_estimator_derivative_evaluations_for_jacobian(self) -> int:
        """Number of evaluations for the Jacobians that only the error estimate needed."""
        return self._error_count("evaluations_for_jacobians")

    def get_num_error_estimator_iteration_matrix_factorizations(self) -> int:
        """Number of matrices factored that only the error estimate needed."""
        return self._error_count("factorizations")

    def get_num_error_estimator_newton_raphson_iterations(self) -> int:
        """Number of iterations that only the error estimate needed."""
        return self._error_count("iterations")

    # ------------------------------------------------------------------ arrays

    def reset_context(self, context: Context) -> None:
        super().reset_context(context)
        self._prepare_all()  # at once, since settings drop some of it again

    def _make_arrays(self, n: int, dtype: Any) -> Any:
        if np.dtype(dtype).kind == "O":
            raise TypeError(
                f"{type(self).__name__} solves its equations for floats only; system "
                f"'{self._system.GetSystemPathname()}' is one of {scalar_of(self._system).__name__}. Use an explicit "
                "integrator, such as RungeKutta3Integrator."
            )
        self._linear_algebra = self._make_linear_algebra()
        solvers, further = self._methods(), self._further_arrays(n, dtype)
        kept: Shapes = [((1,), kept_dtype)]
        matrices: Shapes = [((n, n), float)]
        for method in solvers:
            kept += [((len(method.c), n), dtype), ((1,), factored_dtype)]
            # Factors and pivots for a real eigenvalue, and for a pair of them
            real, pair = n if method.has_real_eigenvalue else 0, n if method.has_complex_eigenvalue else 0
            matrices += [((real, real), float), ((real,), np.int64), ((pair, pair), np.complex128), ((pair,), np.int64)]
        self._memory, (kept_record, *small) = _carve(kept + further[0])
        self._kept = kept_record[0]
        self._bulk, (J, *large) = _carve(matrices + further[1])
        offset, change, x_base, xdot_base, xdot_up, xdot_down, residual = np.zeros((7, n), dtype)
        newton = NewtonArrays(
            self._knobs, self._kept, self._x_start, self._xdot_start, offset, change, x_base, xdot_base, xdot_up,
            xdot_down, J, np.zeros((n, n)), residual, np.zeros(n, np.complex128),
        )  # fmt: skip
        made = []
        for method in solvers:
            (z, factored, *small), (lu, pivots, lu_complex, pivots_complex, *large) = small, large
            made.append(_solver_arrays(method, (lu, pivots), (lu_complex, pivots_complex), z, factored[0]))
        return self._gather(newton, made, small + large)

    @abc.abstractmethod
    def _methods(self) -> list[CollocationMethod]:
        """The methods whose equations are solved in a step, for each of its solvers."""

    def _further_arrays(self, n: int, dtype: Any) -> tuple[Shapes, Shapes]:
        """Arrays that are kept from step to step, after those of newton_arrays.py: small ones, then matrices."""
        return [], []

    @abc.abstractmethod
    def _gather(self, newton: NewtonArrays, solvers: list[SolverArrays], further: list[Array]) -> Any:
        """The record of all arrays, which begins with `newton`."""

    def _make_linear_algebra(self) -> LinearAlgebra:
        """The way in which Python solves with Jacobians."""
        return FullMatrix()


def _solver_arrays(
    method: CollocationMethod,
    factors: tuple[Array, Array],
    complex_factors: tuple[Array, Array],
    z: Array,
    factored: Any,
) -> SolverArrays:
    """The arrays of a solver; of two conjugate eigenvalues the upper one counts double."""
    num_stages = len(method.c)
    real = RealEigenvalue(np.zeros(1), np.zeros(num_stages), np.zeros(num_stages), *factors)
    value, T_inverse, T_column = (np.zeros(size, np.complex128) for size in (1, num_stages, num_stages))
    pair = ConjugatePair(value, T_inverse, T_column, *complex_factors)
    for k, value in enumerate(method.eigenvalues):
        if abs(value.imag) < 1e-9:
            real.value[0], real.T_inverse[:], real.T_column[:] = value.real, method.T_inv[k].real, method.T[:, k].real
        elif value.imag > 0.0:
            pair.value[0], pair.T_inverse[:], pair.T_column[:] = value, method.T_inv[k], 2.0 * method.T[:, k]
    c, e = np.array(method.c, float), np.array(method.e, float)
    extrapolation = np.ascontiguousarray(np.linalg.inv(c[:, np.newaxis] ** np.arange(1, num_stages + 1)))
    return SolverArrays(real, pair, c, e, float(method.gamma_0), extrapolation, z, z.copy(), z.copy(), factored)


def _carve(wanted: Shapes) -> tuple[Array, list[Array]]:
    """One block of memory, and arrays of some shapes and types in it, one after the other."""
    sizes = [math.prod(shape) * np.dtype(kind).itemsize // 8 for shape, kind in wanted]
    memory = np.zeros(sum(sizes))
    ends = np.cumsum(sizes)
    return memory, [
        memory[end - size : end].view(kind).reshape(shape) for (shape, kind), size, end in zip(wanted, sizes, ends)
    ]
