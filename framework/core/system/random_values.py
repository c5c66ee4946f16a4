"""Random numbers, reproducible from a seed, and contexts with random values.

The generator is the 32-bit Mersenne Twister (Matsumoto and Nishimura, 1998), seeded by one integer as in C++.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.errors import Where, refuse_result
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.values import AbstractValue

Array = NDArray[Any]

DEFAULT_SEED = 5489
_WORD = 2**32
_TWO_32 = float(_WORD)
_BELOW_ONE = math.nextafter(1.0, 0.0)
_NUM_WORDS = 624


class RandomDistribution(Enumeration):
    """Distributions of random inputs."""

    kUniform = 0
    kGaussian = 1
    kExponential = 2


_UNIFORM, _GAUSSIAN = RandomDistribution.kUniform.value, RandomDistribution.kGaussian.value


@functools.cache
def _no_seeds() -> Any:
    """Numbers for a twister that is seeded by one integer at once; to make good ones takes 200 us.

    They are made late: the import of numpy.random takes 9 ms.
    """
    from numpy.random.bit_generator import ISeedSequence

    class NoSeeds(ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Array:
            return np.zeros(n_words, dtype)

    return NoSeeds()


class RandomGenerator:
    """A source of random 32-bit words: `generator()` gives the next one.

    Two generators made with the same seed give the same words.

    Args:
        seed: an integer from 0 to 2³² - 1.

    Attributes:
        spare: of two normal numbers that were made at a time, the one that a sample has left for the next, shape [2]:
            whether there is one, and it.
    """

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        if not isinstance(seed, (int, np.integer)):
            raise TypeError(f"RandomGenerator: the seed is an integer, got {seed!r}.")
        if not 0 <= seed < _WORD:
            raise ValueError(f"RandomGenerator: the seed must be an integer from 0 to 2**32 - 1; got {seed!r}.")
        self._state = np.random.RandomState(np.random.MT19937(_no_seeds()))
        self._state.seed(int(seed))
        self.spare = np.zeros(2)

    def copy_from(self, other: RandomGenerator) -> None:
        """From now on gives the words that the other one gives; in 3 us, where a deep copy takes 300."""
        self.spare[:] = other.spare
        if twister_is_known():
            self._words()[:] = other._words()
        else:
            self._state.set_state(("MT19937", *other._plain_state()[:2]))

    def _words(self) -> NDArray[np.uint32]:
        """The state where numpy keeps it: the words, then the position among them; only where `twister_is_known`."""
        from merganser.framework.native.memory.addresses import words_of_twister

        return words_of_twister(self.bit_generator)

    @property
    def bit_generator(self) -> Any:
        """Numpy's MT19937, which gives the words."""
        state: Any = self._state
        return state._bit_generator

    def __deepcopy__(self, memo: dict[int, Any]) -> RandomGenerator:
        clone = RandomGenerator()
        clone.copy_from(self)
        return clone

    def __call__(self) -> int:
        """Returns the next word, an integer from 0 to 2³² - 1."""
        return int(self._state.randint(0, _WORD, dtype=np.uint32))

    def _plain_state(self) -> list[Any]:
        state: Any = self._state.get_state(legacy=False)["state"]
        return [state["key"], int(state["pos"]), self.spare.copy()]

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        if len(state) != 3:
            raise ValueError("a generator has words, a position among them, and a spare number")
        words, position, spare = state
        if not (isinstance(words, np.ndarray) and words.dtype == np.uint32 and words.shape == (_NUM_WORDS,)):
            raise ValueError(f"a generator has {_NUM_WORDS} words of 32 bits")
        if type(position) is not int or not 0 <= position <= _NUM_WORDS:  # numpy reads words there, wherever it is
            raise ValueError(f"a generator stands at one of its {_NUM_WORDS} words or behind them, not at {position!r}")
        if not (isinstance(spare, np.ndarray) and spare.dtype == np.float64 and spare.shape == (2,)):
            raise ValueError("a generator has a spare number and says whether it is there")
        known: Any = ("MT19937", words, position)
        self._state.set_state(known)
        self.spare[:] = spare

    def uniform(self) -> float:
        """Returns a number drawn uniformly from [0, 1), made of two words."""
        return uniform(self)


def next_word(generator: Any) -> int:
    """The next word of a RandomGenerator."""
    word: int = generator()
    return word


def spare_of(generator: Any) -> Array:
    """The spare number of a RandomGenerator, and whether there is one."""
    spare: Array = generator.spare
    return spare


def uniform(generator: Any) -> float:
    """A number drawn uniformly from [0, 1), made of two words."""
    low, high = next_word(generator), next_word(generator)
    value = (float(low) + float(high) * _TWO_32) / (_TWO_32 * _TWO_32)
    return value if value < 1.0 else _BELOW_ONE


@native
def drawn(generator: Any, distribution: int, sample: Array) -> None:
    """Independent numbers of a RandomDistribution, given by its value: those that follow on the last sample's."""
    i, spare = 0, spare_of(generator)
    if spare[0] != 0.0 and len(sample) > 0:
        sample[0], spare[0] = spare[1], 0.0
        i = 1
    while i < len(sample):
        if distribution == _GAUSSIAN:  # the polar method (Marsaglia and Bray, 1964) gives two at a time
            x = 2.0 * uniform(generator) - 1.0
            y = 2.0 * uniform(generator) - 1.0
            square = x * x + y * y
            if 0.0 < square <= 1.0:
                scale = math.sqrt(-2.0 * math.log(square) / square)
                sample[i] = y * scale
                if i + 1 < len(sample):
                    sample[i + 1] = x * scale
                else:
                    spare[0], spare[1] = 1.0, x * scale
                i += 2
        else:
            number = uniform(generator)
            sample[i] = number if distribution == _UNIFORM else -math.log1p(-number)
            i += 1


@functools.cache
def twister_is_known() -> bool:
    """Whether numpy keeps a generator as `words_of_twister` says, so that its state can be copied as an array."""
    generator = RandomGenerator(1)
    generator()
    words, position, _ = generator._plain_state()
    return generator._words().tolist() == [*words.tolist(), position]


class GeneratorBox(AbstractValue):
    """The box of a generator that is a block's abstract state: it keeps its own one, and takes over what others give.

    Updates of abstract state work on copies, two at each event.
    """

    __slots__ = ()

    def __init__(self, generator: RandomGenerator | None = None) -> None:
        super().__init__(RandomGenerator() if generator is None else generator)

    def set_value(self, value: Any) -> None:
        """Takes over the state of a generator.

        Raises:
            TypeError: the value is not a RandomGenerator.
        """
        if not isinstance(value, RandomGenerator):
            raise TypeError(f"Expected a RandomGenerator, got {type(value).__name__}.")
        self._value.copy_from(value)

    def SetFrom(self, other: AbstractValue) -> None:
        """Takes over the state of the generator in another box."""
        self.set_value(other.get_value())


def draw(distribution: RandomDistribution, size: int, generator: RandomGenerator) -> Array:
    """Draws independent numbers; a spare one of the last sample is not used.

    Args:
        distribution: uniform on [0, 1), Gaussian with mean 0 and variance 1, or exponential with mean 1.
        size: how many.
        generator: where randomness comes from.

    Returns:
        Shape [size].
    """
    if not isinstance(distribution, RandomDistribution):
        raise TypeError(f"draw: expected a RandomDistribution, got {distribution!r}.")
    sample = np.empty(size)
    generator.spare[0] = 0.0
    drawn.interpreted(generator, distribution.value, sample)
    return sample


def CalcProbabilityDensity(distribution: RandomDistribution, x: Any) -> Any:
    """The probability density of a vector of independent numbers.

    Args:
        distribution: uniform on [0, 1), Gaussian with mean 0 and variance 1, or exponential with mean 1.
        x: floats or AutoDiffXd, shape [n].

    Returns:
        A number of the type of those in x.
    """
    if not isinstance(distribution, RandomDistribution):
        raise TypeError(f"CalcProbabilityDensity: expected a RandomDistribution, got {distribution!r}.")
    density: Any = 1.0
    for number in np.ravel(x):
        if distribution is RandomDistribution.kGaussian:
            density = density * np.exp(-0.5 * number * number) / math.sqrt(2.0 * math.pi)
        elif number < 0.0 or (distribution is RandomDistribution.kUniform and number >= 1.0):
            density = 0.0 * number * density
        elif distribution is RandomDistribution.kExponential:
            density = density * np.exp(-number)
    return density


class RandomContextMethods(SystemBase):
    """What every System can do to make its state and parameters random."""

    def SetRandomContext(self, context: Any, generator: RandomGenerator) -> None:
        """Sets state and parameters to random values, by `SetRandomState` and `SetRandomParameters`.

        Systems that override neither get their defaults. The same seed gives the same values.
        """
        self.ValidateContext(context)
        if not callable(generator):
            raise TypeError(
                f"System '{self.GetSystemPathname()}', SetRandomContext: expected a RandomGenerator, got "
                f"{type(generator).__name__}."
            )
        self._set_random(context, generator)

    def _set_random(self, context: Any, generator: RandomGenerator) -> None:
        for child in context._children:
            child.system._set_random(child, generator)


class LeafRandomMethods(RandomContextMethods):
    """What a leaf system can override to say how its state and parameters are random."""

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        """Override: sets random values of the state, which has its default values before."""

    def SetRandomParameters(self, context: Any, parameters: Any, generator: RandomGenerator) -> None:
        """Override: sets random values of the parameters, which have their default values before."""

    def _set_random(self, context: Any, generator: RandomGenerator) -> None:
        self._set_defaults(context)
        where = Where("Random values of system '{}'", self)
        for method, values in (
            (self.SetRandomParameters, context.get_mutable_parameters()),
            (self.SetRandomState, context.get_mutable_state()),
        ):
            result = method(context, values, generator)
            if result is not None:
                refuse_result(where, method, result, values)
