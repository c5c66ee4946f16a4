"""Random vectors as data."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.common.records import copyable
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.schema.distributions import Deterministic, Distribution, Gaussian, Uniform

if TYPE_CHECKING:
    from merganser.framework.symbolic import Expression


Vector = NDArray[np.float64]
_LARGEST_SIZE = 6


def _nothing() -> Vector:
    return np.zeros(0)


@dataclass(eq=False)
class DistributionVector(abc.ABC):
    """How the numbers of a vector are distributed, each independently of the others.

    Raises:
        ValueError: a vector of a class of fixed size has another size.
    """

    _size: ClassVar[int | None] = None
    _sized: ClassVar[tuple[str, ...]] = ()  # attributes of which each has this size

    def __post_init__(self) -> None:
        for name in self._sized:
            if self._size is not None and np.size(getattr(self, name)) == 0:
                setattr(self, name, np.zeros(self._size))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'.")
        vector = np.array(value, dtype=np.float64).reshape(-1)
        if name in self._sized and self._size is not None and vector.size not in (0, self._size):
            raise ValueError(f"{type(self).__name__}.{name} has {self._size} numbers; given {vector.size}.")
        object.__setattr__(self, name, vector)

    def Sample(self, generator: RandomGenerator) -> Vector:
        """Draws a vector.

        Raises:
            RuntimeError: the numbers that describe it are not equally many.
        """
        return np.array([each.Sample(generator) for each in self._elements("Sample")])

    def Mean(self) -> Vector:
        """The mean of the distribution."""
        return np.array([each.Mean() for each in self._elements("Mean")])

    def ToSymbolic(self) -> NDArray[Any]:
        """Expressions of new random variables that are distributed so.

        Raises:
            RuntimeError: the numbers that describe it are not equally many.
        """
        return np.array([each.ToSymbolic() for each in self._elements("ToSymbolic")], dtype=object)

    def _only_value(self) -> Vector | None:
        """The value where there is no randomness, else None."""
        values = [each._only_value() for each in self._elements("GetDeterministicValue")]
        return None if None in values else np.array(values, dtype=np.float64)

    @abc.abstractmethod
    def _elements(self, method: str) -> list[Distribution]:
        """The distribution of each number; errors name the method."""


@copyable
@dataclass(eq=False)
class DeterministicVectorX(DistributionVector):
    """A vector without randomness; in a settings file the same as its numbers."""

    _sized = ("value",)
    value: Vector = field(default_factory=_nothing)

    def _elements(self, method: str) -> list[Distribution]:
        return [Deterministic(float(x)) for x in self.value]


@copyable
@dataclass(eq=False)
class GaussianVectorX(DistributionVector):
    """Normally distributed numbers.

    Attributes:
        mean: shape [n].
        stddev: shape [n], or [1] if it is the same for all.
    """

    _sized = ("mean",)
    mean: Vector = field(default_factory=_nothing)
    stddev: Vector = field(default_factory=_nothing)

    def _elements(self, method: str) -> list[Distribution]:
        if self.stddev.size not in (1, self.mean.size):
            raise RuntimeError(
                f"{type(self).__name__}.{method}(): the mean has {self.mean.size} numbers, and stddev, which must have "
                f"as many or one, has {self.stddev.size}."
            )
        pairs = zip(self.mean, np.broadcast_to(self.stddev, self.mean.shape))
        return [Gaussian(float(mean), float(stddev)) for mean, stddev in pairs]


@copyable
@dataclass(eq=False)
class UniformVectorX(DistributionVector):
    """Numbers that are uniformly distributed, each from its `min` up to its `max`."""

    _sized = ("min", "max")
    min: Vector = field(default_factory=_nothing)
    max: Vector = field(default_factory=_nothing)

    def _elements(self, method: str) -> list[Distribution]:
        if self.min.size != self.max.size:
            raise RuntimeError(
                f"{type(self).__name__}.{method}(): min has {self.min.size} numbers and max has {self.max.size}."
            )
        return [Uniform(float(low), float(high)) for low, high in zip(self.min, self.max)]


class _BySize:
    """The classes of vectors of a size: `GaussianVector[3]`, and `GaussianVector[None]` for any size."""

    def __init__(self, name: str, of_any_size: type[DistributionVector]) -> None:
        self._name = name
        self._classes: dict[int | None, type[DistributionVector]] = {None: of_any_size}
        self.__doc__ = of_any_size.__doc__
        for size in range(1, _LARGEST_SIZE + 1):
            content = {"_size": size, "__doc__": self.__doc__, "__module__": __name__}
            made = type(f"{name}[{size}]", (of_any_size,), content)
            self._classes[size] = globals()[made.__name__] = made  # pickle finds it there

    @property
    def param_list(self) -> list[tuple[int | None]]:
        """The sizes, each in a tuple."""
        return [(size,) for size in self._classes]

    def __getitem__(self, size: int | None) -> type[DistributionVector]:
        if size not in self._classes:
            raise RuntimeError(f"{self._name}: there is no class for the size {size!r}, only up to {_LARGEST_SIZE}.")
        return self._classes[size]

    def __call__(self, *args: Any, **kwargs: Any) -> DistributionVector:
        return self._classes[None](*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._name}, by size>"


DeterministicVector = _BySize("DeterministicVector", DeterministicVectorX)
GaussianVector = _BySize("GaussianVector", GaussianVectorX)
UniformVector = _BySize("UniformVector", UniformVectorX)


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
