"""Reads settings that may be random: a number, a vector, or a distribution of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.schema.distributions import Deterministic, Distribution, Gaussian, Uniform
from merganser.framework.schema.vectors import (
    DeterministicVectorX,
    DistributionVector,
    GaussianVectorX,
    UniformVectorX,
)

if TYPE_CHECKING:
    from merganser.framework.symbolic import Expression


def ToDistribution(var: float | Distribution) -> Distribution:
    """A number, or a distribution, as a distribution.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(var, Distribution):
        return var
    if np.ndim(var) or isinstance(var, str):
        raise TypeError(f"Expected a number or a distribution of numbers, got {var!r}.")
    return Deterministic(float(var))


def ToDistributionVector(vec: Any) -> DistributionVector:
    """A vector, or a distribution, as a distribution of vectors; distributions of numbers give vectors of size 1.

    Raises:
        TypeError: it is neither.
    """
    match vec:
        case DistributionVector():
            return vec
        case Deterministic():
            return DeterministicVectorX(np.array([vec.value]))
        case Gaussian():
            return GaussianVectorX(np.array([vec.mean]), np.array([vec.stddev]))
        case Uniform():
            return UniformVectorX(np.array([vec.min]), np.array([vec.max]))
    try:
        return DeterministicVectorX(np.array(vec, dtype=np.float64).reshape(np.shape(vec) or (1,)))
    except (TypeError, ValueError):
        raise TypeError(f"Expected numbers or a distribution of vectors, got {vec!r}.") from None


def Sample(var: float | Distribution, generator: RandomGenerator) -> float:
    """Draws a number, or returns it if it is not random."""
    return ToDistribution(var).Sample(generator)


def Mean(var: float | Distribution) -> float:
    """The mean of a number that may be random."""
    return ToDistribution(var).Mean()


def ToSymbolic(var: float | Distribution) -> Expression:
    """An expression of new random variables that is distributed as a number is."""
    return ToDistribution(var).ToSymbolic()


@also_named(vec="var")
def IsDeterministic(var: Any) -> bool:
    """Whether a number or a vector has one value only."""
    return _distribution(var)._only_value() is not None


@also_named(vec="var")
def GetDeterministicValue(var: Any) -> float | NDArray[np.float64]:
    """The only value of a number or a vector.

    Raises:
        RuntimeError: it is random.
    """
    value = _distribution(var)._only_value()
    if value is None:
        raise RuntimeError(f"GetDeterministicValue(): {var!r} is random.")
    return value


def _distribution(var: Any) -> Distribution | DistributionVector:
    is_number = isinstance(var, Distribution) or (np.ndim(var) == 0 and not isinstance(var, DistributionVector))
    return ToDistribution(var) if is_number else ToDistributionVector(var)
