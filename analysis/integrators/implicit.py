"""ImplicitIntegrator: Jacobians, Newton iterations and their bookkeeping, for all implicit methods."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.jacobian import (
    FullLinearization,
    JacobianComputationScheme,
    Linearization,
    difference_jacobian,
)
from merganser.analysis.integrators.newton import NewtonCounts, NewtonSolver
from merganser.framework import Context
from merganser.framework.core.inside import scalar_of

__all__ = ["ImplicitIntegrator"]

Array = NDArray[Any]

# The error of the iterations, as a share of the accuracy or, in steps without error control, of the state.
SHARE_OF_ACCURACY = 0.03
SHARE_OF_STATE = 1e-10
SLOW = 0.2  # a Jacobian with which iterations converge more slowly than this is not used in the next step
# Nor is one computed for a step this many times shorter. It came from a faster phase of the motion, and can make
# the changes of an iteration small although its errors are not.
GROWN = 3.0
_COUNTS = (
    ("derivative_evaluations", "derivative_evaluations"),
    ("jacobian_evaluations", "jacobian_evaluations"),
    ("derivative_evaluations_for_jacobian", "derivative_evaluations_for_jacobian"),
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

    def supports_error_estimation(self) -> bool:
        return True

    # ------------------------------------------------------------------ knobs

    def _reset_knobs(self) -> None:
        self._reuses_jacobian = True
        self._uses_full_newton = False
        self._jacobian_scheme = JacobianComputationScheme.kForwardDifference
        self._drop_jacobian()
        self._is_linearization_new = False
        self._h_linearized = 0.0
        self._is_slow = False

    def _drop_jacobian(self) -> None:
        """Lets the next step compute a Jacobian."""
        self._linearization: Linearization | None = None

    def set_reuse(self, reuse: bool) -> None:
        """Whether to keep Jacobians and factors from step to step; otherwise each attempt computes its own."""
        self._reuses_jacobian = reuse

    def get_reuse(self) -> bool:
        """Whether Jacobians are kept from step to step."""
        return self._reuses_jacobian and not self._uses_full_newton

    def set_use_full_newton(self, flag: bool) -> None:
        """Whether to compute a Jacobian for each iteration."""
        self._uses_full_newton = flag

    def get_use_full_newton(self) -> bool:
        """Whether a Jacobian is computed for each iteration."""
        return self._uses_full_newton

    def set_jacobian_computation_scheme(self, scheme: JacobianComputationScheme) -> None:
        """Sets the kind of differences that Jacobians are computed by."""
        if not isinstance(scheme, JacobianComputationScheme):
            raise TypeError(f"The scheme must be a JacobianComputationScheme, got {scheme!r}.")
        self._jacobian_scheme = scheme
        self._drop_jacobian()

    def get_jacobian_computation_scheme(self) -> JacobianComputationScheme:
        """The kind of differences that Jacobians are computed by."""
        return self._jacobian_scheme

    # ------------------------------------------------------------------ statistics

    def _reset_counts(self) -> None:
        self._counts = NewtonCounts()  # for the result
        self._error_counts = NewtonCounts()  # for the error estimate

    def _summary(self) -> list[tuple[str, float]]:
        failures = self.get_num_substep_failures()
        summary: list[tuple[str, float]] = [
            ("integrator_num_step_shrinkages_from_substep_failures", failures),
            ("integrator_num_substep_failures", failures),
        ]
        for name, field in _COUNTS:
            result, error = getattr(self._counts, field), getattr(self._error_counts, field)
            if name != "derivative_evaluations":  # the base class has that one
                summary.append((f"integrator_num_{name}", result + error))
            summary.append((f"integrator_num_integrator_{name}", result))
            summary.append((f"integrator_num_error_estimator_{name}", error))
        return summary

    def get_num_jacobian_evaluations(self) -> int:
        """Number of Jacobians computed."""
        return self._counts.jacobian_evaluations + self._error_counts.jacobian_evaluations

    def get_num_derivative_evaluations_for_jacobian(self) -> int:
        """Number of evaluations of derivatives for the differences of Jacobians."""
        counts = self._counts, self._error_counts
        return sum(count.derivative_evaluations_for_jacobian for count in counts)

    def get_num_iteration_matrix_factorizations(self) -> int:
        """Number of times that the matrices of the iterations were factored."""
        return self._counts.factorizations + self._error_counts.factorizations

    def get_num_newton_raphson_iterations(self) -> int:
        """Number of iterations."""
        return self._counts.iterations + self._error_counts.iterations

    def get_num_error_estimator_derivative_evaluations(self) -> int:
        """Number of evaluations of derivatives that only the error estimate needed."""
        return self._error_counts.derivative_evaluations

    def get_num_error_estimator_jacobian_evaluations(self) -> int:
        """Number of Jacobians that only the error estimate needed."""
        return self._error_counts.jacobian_evaluations

    def get_num_error_estimator_derivative_evaluations_for_jacobian(self) -> int:
        """Number of evaluations for the Jacobians that only the error estimate needed."""
        return self._error_counts.derivative_evaluations_for_jacobian

    def get_num_error_estimator_iteration_matrix_factorizations(self) -> int:
        """Number of matrices factored that only the error estimate needed."""
        return self._error_counts.factorizations

    def get_num_error_estimator_newton_raphson_iterations(self) -> int:
        """Number of iterations that only the error estimate needed."""
        return self._error_counts.iterations

    # ------------------------------------------------------------------ Jacobians and stages

    def reset_context(self, context: Context) -> None:
        super().reset_context(context)
        self._prepare_all()  # at once, since settings drop some of it again

    def _prepare(self) -> None:
        if self._x.dtype == object:
            raise TypeError(
                f"{type(self).__name__} solves its equations for floats only; system "
                f"'{self._system.GetSystemPathname()}' is one of {scalar_of(self._system).__name__}. Use an explicit "
                "integrator, such as RungeKutta3Integrator."
            )
        self._drop_jacobian()
        self._prepare_solvers()

    @abc.abstractmethod
    def _prepare_solvers(self) -> None:
        """Makes Newton solvers, once the size of the state is known."""

    def _linearize(self, J: Array) -> Linearization:
        """The form of the Jacobian with which the method solves."""
        return FullLinearization(J)

    def _begin_attempt(self, time: float) -> None:
        """Looks at the start of the step, and drops a Jacobian that must or should not be kept."""
        if self._knows_start:
            return
        self._evaluate_start()
        self._counts.derivative_evaluations += 1
        self._start_time = time
        self._is_linearization_new = False
        if self._is_slow or not self.get_reuse():
            self._linearization = None
        self._is_slow = False

    def _linearize_at(self, time: float, x: Array, xdot: Array, counts: NewtonCounts) -> Linearization:
        """Computes the Jacobian at this time and state, where the derivatives are `xdot`."""

        def derivatives(x: Array) -> Array:
            self._move(time, x - self._x_start)
            self._x[:] = x  # the sum of the two is rounded
            return self._evaluate()

        before = self._num_derivative_evaluations
        J = difference_jacobian(derivatives, x, xdot, self._jacobian_scheme)
        evaluations = self._num_derivative_evaluations - before
        counts.jacobian_evaluations += 1
        counts.derivative_evaluations += evaluations
        counts.derivative_evaluations_for_jacobian += evaluations
        return self._linearize(J)

    def _tolerance(self) -> float:
        """Largest error of the iterations in any state variable."""
        magnitude = max(1.0, float(np.abs(self._x_start).max()))
        if self._is_fixed_step:
            return SHARE_OF_STATE * magnitude
        return max(SHARE_OF_ACCURACY * self.get_accuracy_in_use(), 1e-14 * magnitude)

    def _solve(
        self, solver: NewtonSolver, time: float, h: float, z: Array, counts: NewtonCounts, offset: Array | None = None
    ) -> bool:
        """Solves for the stages of a step, with a new Jacobian if need be.

        Args:
            solver: for the method.
            time: where the step begins [s].
            h: its size [s].
            z: a guess of the changes of the state up to the stages, overwritten by the result, shape [s, n].
            counts: where to count.
            offset: the step begins at the state `_x_start` plus this.

        Returns:
            Whether a solution was found.
        """

        def derivatives(c: float, change: Array) -> Array:
            self._move(time + c * h, change if offset is None else offset + change)
            return self._evaluate()

        def linearize_here(z: Array) -> None:
            xdot = derivatives(1.0, z[-1]).copy()
            counts.derivative_evaluations += 1
            solver.factor(self._linearize_at(time + h, self._x.copy(), xdot, counts), h, counts)

        if self._uses_full_newton:
            return solver.solve(derivatives, h, z, self._tolerance(), counts, linearize_here)
        if h > GROWN * self._h_linearized:
            self._linearization = None
        guess = z.copy()
        while True:
            if self._linearization is None:
                new = self._linearize_at(self._start_time, self._x_start.copy(), self._xdot_start, counts)
                self._linearization, self._is_linearization_new, self._h_linearized = new, True, h
            solver.factor(self._linearization, h, counts)
            if solver.solve(derivatives, h, z, self._tolerance(), counts):
                self._is_slow |= solver.rate > SLOW
                return True
            if self._is_linearization_new:
                return False
            self._linearization = None
            z[:] = guess
