"""Whether a linear system can be steered, and whether its state can be seen (R. Kalman, 1960).

Modes are tested one by one (M. Hautus, 1969): (A, B) is stabilizable if [A - lambda I, B] has full rank for each
eigenvalue lambda of A that does not decay by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.primitives.linear.linear_system import LinearSystem

__all__ = [
    "ControllabilityMatrix",
    "IsControllable",
    "IsDetectable",
    "IsObservable",
    "IsStabilizable",
    "ObservabilityMatrix",
]

Array = NDArray[Any]


def ControllabilityMatrix(sys: LinearSystem) -> Array:
    """[B, A B, ..., A^(n-1) B], shape [n, n num_inputs], for a system with n state variables."""
    A, blocks = sys.A(), [sys.B()]
    for _ in range(1, sys.num_states()):
        blocks.append(A @ blocks[-1])
    return np.hstack(blocks)


def ObservabilityMatrix(sys: LinearSystem) -> Array:
    """[C; C A; ...; C A^(n-1)], shape [n num_outputs, n], for a system with n state variables."""
    A, blocks = sys.A(), [sys.C()]
    for _ in range(1, sys.num_states()):
        blocks.append(blocks[-1] @ A)
    return np.vstack(blocks)


def IsControllable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether inputs can take the state anywhere: the controllability matrix has rank n.

    Args:
        sys: the system.
        threshold: singular values of this share of the largest one, or less, count as zero; by default rounding errors.
    """
    return _rank(ControllabilityMatrix(sys), threshold) == sys.num_states()


def IsObservable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether the state follows from the outputs: the observability matrix has rank n. As `IsControllable`."""
    return _rank(ObservabilityMatrix(sys), threshold) == sys.num_states()


def IsStabilizable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether inputs reach every mode that does not decay by itself. The arguments are those of `IsControllable`."""
    return _reaches_lasting_modes(sys.A(), sys.B(), sys.time_period() > 0.0, threshold)


def IsDetectable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether outputs show every mode that does not decay by itself. The arguments are those of `IsControllable`."""
    return _reaches_lasting_modes(sys.A().T, sys.C().T, sys.time_period() > 0.0, threshold)


def _reaches_lasting_modes(A: Array, B: Array, is_discrete: bool, threshold: float | None) -> bool:
    n = len(A)
    for mode in np.linalg.eigvals(A):
        decays = abs(mode) < 1.0 if is_discrete else mode.real < 0.0
        if not decays and _rank(np.hstack([A - mode * np.eye(n), B]), threshold) < n:
            return False
    return True


def _rank(matrix: Array, threshold: float | None) -> int:
    if matrix.size == 0:
        return 0
    sizes = np.linalg.svd(matrix, compute_uv=False)
    share = max(matrix.shape) * np.finfo(np.float64).eps if threshold is None else threshold
    return int(np.count_nonzero(sizes > share * sizes[0]))
