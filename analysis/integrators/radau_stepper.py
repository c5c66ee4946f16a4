"""RadauStepper: what the compiled steps of a Radau integrator (radau_step.py) work on, as seen from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import radau_fields as f
from merganser.analysis.integrators.collocation import CollocationMethod
from merganser.analysis.integrators.jacobian import JacobianComputationScheme
from merganser.analysis.integrators.newton import NewtonCounts
from merganser.analysis.integrators.radau_step import radau_attempt, radau_step
from merganser.framework.core.native_code import may_compile
from merganser.framework.native import specialize
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import run_operations

if TYPE_CHECKING:
    from merganser.analysis.integrators.radau import RadauMethod

__all__ = ["RadauStepper", "is_available"]

_STEP = CompiledOperation(radau_step)
_COUNTS = slice(f.COUNTS, f.COUNTS + f.NUM_COUNTS)


def is_available() -> bool:
    """Whether steps can be compiled; not so with NUMBA_DISABLE_JIT=1."""
    return may_compile()


class RadauStepper:
    """The compiled steps of one integrator, with all that they keep from step to step.

    Args:
        method: the Radau method.
        flat: the array of a root Context: time first, then the continuous state and its derivatives.
        x_start: where the state at the start of a step is found, shape [n].
        xdot_start: where its derivatives go, shape [n].

    Attributes:
        place: address of the fields of integers.
        operation: address of `radau_step`.
        place_of_reals: and of those of floats.
        x_start, xdot_start: as given.
    """

    def __init__(
        self, method: CollocationMethod, flat: NDArray[Any], x_start: NDArray[Any], xdot_start: NDArray[Any]
    ) -> None:
        self._integers = np.zeros(f.NUM_INTEGERS, dtype=np.int64)
        self._reals = np.zeros(f.NUM_REALS)
        self._arrays: list[NDArray[Any]] = []  # kept alive, since only their addresses are passed on
        self.place: int = self._integers.ctypes.data
        self.operation = _STEP.address()
        self.place_of_reals: int = self._reals.ctypes.data
        self.x_start, self.xdot_start = x_start, xdot_start
        n, num_stages = len(x_start), len(method.c)
        i = self._integers
        i[f.NUM_STATES], i[f.NUM_STAGES] = n, num_stages
        i[f.FACTORED_FOR] = i[f.FILTERED_FOR] = -1
        self._set_up_method(method)
        self._put(f.REALS, self._reals)
        self._put(f.VALUES, flat)
        self._put(f.X_START, x_start)
        self._put(f.XDOT_START, xdot_start)
        for field in (f.Z, f.Z_BEFORE, f.Z_GUESS, f.F):
            self._put(field, np.zeros((num_stages, n)))
        for field in (f.X_TRIED, f.X_BASE, f.XDOT_BASE, f.WORK):
            self._put(field, np.zeros(n))
        for field in (f.J, f.J_BEFORE, f.J_ITERATION, f.LU_REAL, f.LU_FILTER):
            self._put(field, np.zeros((n, n)))
        self._put(f.WORK_COMPLEX, np.zeros(n, dtype=np.complex128))
        self._put(f.LU_COMPLEX, np.zeros((n, n), dtype=np.complex128))
        for field in (f.PIVOTS_REAL, f.PIVOTS_COMPLEX, f.PIVOTS_FILTER):
            self._put(field, np.zeros(n, dtype=np.int64))
        self._call = (
            np.array([self.operation]), np.array([self.place]), flat.ctypes.data, 0,
        )  # fmt: skip
        self._run = specialize(run_operations, *self._call)
        self._attempt: Any = None

    def _put(self, field: int, array: NDArray[Any]) -> None:
        self._arrays.append(array)
        self._integers[field] = array.ctypes.data

    def _set_up_method(self, method: CollocationMethod) -> None:
        """Constants by rows, see radau_fields.py; of two conjugate eigenvalues the upper one counts double."""
        num_stages = len(method.c)
        rows = np.zeros((f.EXTRAPOLATION + num_stages, num_stages))
        complex_rows = np.zeros((f.C, num_stages), dtype=np.complex128)
        for k, value in enumerate(method.eigenvalues):
            if abs(value.imag) < 1e-9:
                rows[f.LAMBDA, 0] = value.real
                rows[f.T_INVERSE], rows[f.T_COLUMN] = method.T_inv[k].real, method.T[:, k].real
                self._integers[f.HAS_REAL] = 1
            elif value.imag > 0.0:
                complex_rows[f.LAMBDA, 0] = value
                complex_rows[f.T_INVERSE], complex_rows[f.T_COLUMN] = method.T_inv[k], 2.0 * method.T[:, k]
                self._integers[f.HAS_COMPLEX] = 1
        rows[f.C], rows[f.E] = method.c, method.e
        rows[f.EXTRAPOLATION :] = np.linalg.inv(method.c[:, np.newaxis] ** np.arange(1, num_stages + 1))
        self._reals[f.GAMMA_0] = method.gamma_0
        self._put(f.METHOD, rows)
        self._put(f.METHOD_COMPLEX, complex_rows)

    # ------------------------------------------------------------------ what the integrator says

    def note_settings(self, integrator: RadauMethod) -> None:
        """Takes over the knobs of the integrator."""
        self._integers[f.IS_FIXED_STEP : f.IS_CENTRAL + 1] = (
            integrator._is_fixed_step,
            integrator._uses_full_newton,
            integrator._reuses_jacobian,
            integrator._jacobian_scheme is JacobianComputationScheme.kCentralDifference,
        )
        self._reals[f.ACCURACY] = integrator.get_accuracy_in_use()

    def drop_jacobian(self) -> None:
        """Lets the next step compute a Jacobian."""
        self._integers[f.HAS_J] = 0

    # ------------------------------------------------------------------ steps

    def begin(self, time: float, h: float, knows_start: bool) -> None:
        """Begins an attempt of size h [s]; `knows_start` says that it is not the first one of its step."""
        self._integers[f.PHASE], self._integers[f.KNOWS_START] = f.BEGIN, knows_start
        self._reals[f.TIME], self._reals[f.H] = time, h

    def go_on(self) -> int:
        """Takes the attempt as far as it gets; returns what it wants next, see radau_fields.py."""
        self._run(*self._call)
        return self._integers.item(f.WANTED)

    def finish(self, addresses: NDArray[Any], starts: NDArray[Any], values: int, numbers: int) -> int:
        """Takes the whole attempt, with operations that compute the derivatives; returns how often they did."""
        arguments = (addresses, starts, values, numbers, self.operation, self.place)
        if self._attempt is None:
            self._attempt = specialize(radau_attempt, *arguments)
        num_evaluations: int = self._attempt(*arguments)
        return num_evaluations

    def error(self) -> float:
        """The outcome of an attempt, see IntegratorBase._step."""
        return self._reals.item(f.ERROR)

    def restore(self, keeps_counts: bool = False) -> None:
        """Returns all that is kept to what it was before the step in progress, so that it can be taken anew.

        Args:
            keeps_counts: whether what has been counted in this step goes on to count.
        """
        self._integers[f.PHASE], self._integers[f.KEEPS_COUNTS] = f.RESTORE, keeps_counts
        self._run(*self._call)

    def take_counts(self, counts: NewtonCounts, error_counts: NewtonCounts) -> None:
        """Adds what has been counted since the last time to the counts for the result and for the error estimate."""
        numbers = self._integers[_COUNTS].tolist()
        self._integers[_COUNTS] = 0
        counts.add(*numbers[:5])
        error_counts.add(*numbers[5:])
