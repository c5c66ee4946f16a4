"""Random numbers and random vectors as data: what a setting is, or how it is distributed."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.common.records import copyable
from merganser.framework.core.system.random_values import RandomDistribution, RandomGenerator, draw

if TYPE_CHECKING:
    from merganser.framework.symbolic import Expression


@dataclass(eq=False)
class Distribution(abc.ABC):
    """How a number is distributed."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'.")
        object.__setattr__(self, name, [float(x) for x in value] if name == "values" else float(value))

    @abc.abstractmethod
    def Sample(self, generator: RandomGenerator) -> float:
        """Draws a number.

        Raises:
            RuntimeError: there is nothing to draw from.
        """

    @abc.abstractmethod
    def Mean(self) -> float:
        """The mean of the distribution."""

    @abc.abstractmethod
    def ToSymbolic(self) -> Expression:
        """An expression of a new random variable that is distributed so."""

    @abc.abstractmethod
    def _only_value(self) -> float | None:
        """The value where there is no randomness, else None."""


@copyable
@dataclass(eq=False)
class Deterministic(Distribution):
    """A number without randomness; in a settings file the same as the number itself."""

    value: float = 0.0

    def Sample(self, generator: RandomGenerator) -> float:
        """The value."""
        return self.value

    def Mean(self) -> float:
        """The value."""
        return self.value

    def ToSymbolic(self) -> Expression:
        """The value as a constant."""
        from merganser.framework.symbolic import Expression

        return Expression(self.value)

    def _only_value(self) -> float | None:
        return self.value


@copyable
@dataclass(eq=False)
class Gaussian(Distribution):
    """A normally distributed number."""

    mean: float = 0.0
    stddev: float = 0.0

    def Sample(self, generator: RandomGenerator) -> float:
        """Draws a number."""
        return self.mean + self.stddev * float(draw(RandomDistribution.kGaussian, 1, generator)[0])

    def Mean(self) -> float:
        """The mean of the distribution."""
        return self.mean

    def ToSymbolic(self) -> Expression:
        """mean + stddev x, where x is a new standard normal variable."""
        return self.mean + self.stddev * random_variable(RandomDistribution.kGaussian)

    def _only_value(self) -> float | None:
        return self.mean if self.stddev == 0.0 else None


@copyable
@dataclass(eq=False)
class Uniform(Distribution):
    """A number that is uniformly distributed from `min` up to `max`."""

    min: float = 0.0
    max: float = 0.0

    def Sample(self, generator: RandomGenerator) -> float:
        """Draws a number."""
        return self.min + (self.max - self.min) * generator.uniform()

    def Mean(self) -> float:
        """The mean of the distribution."""
        return 0.5 * (self.min + self.max)

    def ToSymbolic(self) -> Expression:
        """min + (max - min) x, where x is a new variable that is uniform on [0, 1)."""
        return self.min + (self.max - self.min) * random_variable(RandomDistribution.kUniform)

    def _only_value(self) -> float | None:
        return self.min if self.min == self.max else None


@copyable
@dataclass(eq=False)
class UniformDiscrete(Distribution):
    """One of several numbers, all equally likely."""

    values: list[float] = field(default_factory=list)

    def Sample(self, generator: RandomGenerator) -> float:
        """Draws one of the numbers.

        Raises:
            RuntimeError: it has no values.
        """
        values = self._required("Sample")
        chances = np.cumsum(np.full(len(values), 1.0 / len(values)))
        chances[-1] = 1.0
        return float(values[int(np.searchsorted(chances, generator.uniform()))])

    def Mean(self) -> float:
        """The mean of the numbers.

        Raises:
            RuntimeError: it has no values.
        """
        values = self._required("Mean")
        return sum(values) / len(values)

    def ToSymbolic(self) -> Expression:
        """A choice among the numbers by a new variable that is uniform on [0, 1).

        Raises:
            RuntimeError: there are no numbers.
        """
        from merganser.framework.symbolic import Expression, if_then_else

        values = self._required("ToSymbolic")
        place = len(values) * random_variable(RandomDistribution.kUniform)
        chosen = Expression(values[-1])
        for i in reversed(range(len(values) - 1)):
            chosen = if_then_else(place < i + 1.0, values[i], chosen)
        return chosen

    def _only_value(self) -> float | None:
        return self.values[0] if len(self.values) == 1 else None

    def _required(self, method: str) -> list[float]:
        if not len(self.values):
            raise RuntimeError(f"UniformDiscrete.{method}(): there are no values to choose from.")
        return self.values


def random_variable(distribution: RandomDistribution) -> Any:
    """A new variable of a distribution, for expressions."""
    from merganser.framework.symbolic import Variable

    kind = {RandomDistribution.kUniform: "uniform", RandomDistribution.kGaussian: "gaussian"}[distribution]
    return Variable(f"random_{kind}_0", Variable.Type[f"RANDOM_{kind.upper()}"])


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
