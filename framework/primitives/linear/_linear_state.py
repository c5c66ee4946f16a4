"""The default and random state of blocks with linear dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.system.random_values import RandomDistribution, RandomGenerator, draw
from merganser.framework.primitives._arguments import checked_matrix, checked_vector

__all__ = ["LinearStateMethods"]

_ROUNDING = 1e-12  # of elements of a covariance, relative to the largest one


class LinearStateMethods:
    """What AffineSystem and TrajectoryAffineSystem have in common: one group of state, x, of n variables."""

    _time_period: float
    _default_state: NDArray[Any]  # shape [n]
    _spread: NDArray[Any]  # a root of the covariance S, S = spread spread', shape [n, n]

    def _configure_state(self, num_states: int) -> None:
        self._default_state = np.zeros(num_states)
        self._spread = np.zeros((num_states, num_states))

    def time_period(self) -> float:
        """Returns the time between two updates [s], or 0 for continuous time."""
        return self._time_period

    def configure_default_state(self: Any, x0: ArrayLike) -> None:
        """Sets the state of contexts made from now on, shape [num_states].

        Raises:
            ValueError: wrong size.
        """
        state = checked_vector(x0, "configure_default_state: x0")
        num_states = len(self._default_state)
        if state.size != num_states:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has {num_states} state variables; got {state.size} values."
            )
        self._default_state = state

    def configure_random_state(self: Any, covariance: ArrayLike) -> None:
        """Sets the covariance of the Gaussian distribution around the default state that SetRandomContext() draws from.

        Args:
            covariance: symmetric and positive semi-definite, shape [num_states, num_states].

        Raises:
            ValueError: it is not.
        """
        num_states = len(self._default_state)
        S = np.asarray(covariance, dtype=np.float64)
        what = f"System '{self.GetSystemPathname()}', configure_random_state"
        if S.shape != (num_states, num_states):
            raise ValueError(f"{what}: expected shape ({num_states}, {num_states}), got {S.shape}.")
        S = checked_matrix(S, num_states, num_states, what)
        margin = _ROUNDING * np.abs(S).max(initial=0.0)
        values, vectors = np.linalg.eigh(S) if num_states else (np.zeros(0), S)
        if np.abs(S - S.T).max(initial=0.0) > margin or values.min(initial=0.0) < -margin:
            raise ValueError(f"{what}: the covariance must be symmetric and positive semi-definite, got {S.tolist()}.")
        self._spread = vectors * np.sqrt(np.maximum(values, 0.0))

    def SetDefaultState(self, context: Context, state: Any) -> None:
        self._set_state(state, self._default_state)

    def SetRandomState(self, context: Context, state: Any, generator: RandomGenerator) -> None:
        deviation = self._spread @ draw(RandomDistribution.kGaussian, len(self._default_state), generator)
        self._set_state(state, self._default_state + deviation)

    def _set_state(self, state: Any, x: NDArray[Any]) -> None:
        if len(x) == 0:
            return
        if self._time_period == 0.0:
            state.get_mutable_continuous_state().SetFromVector(x)
        else:
            state.get_mutable_discrete_state().set_value(x)
