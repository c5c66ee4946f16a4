"""Random numbers as data: what a number of a settings file is, or how it is distributed."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

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
