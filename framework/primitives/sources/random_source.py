"""RandomSource: gives random numbers, drawn again periodically; and the function that wires up all random inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode, NextDiscreteStateOf
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import use_native_event
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import (
    DEFAULT_SEED,
    GeneratorBox,
    RandomDistribution,
    RandomGenerator,
    drawn,
    twister_is_known,
)
from merganser.framework.core.values.state import State
from merganser.framework.native.memory.addresses import address_of_array, twister_of, words_of_twister
from merganser.framework.primitives._arguments import checked_positive_period, checked_size

__all__ = ["AddRandomInputs", "RandomSource"]

_SEEDS = 2**32


class RandomSource(LeafSystem):
    """Gives independent random numbers at the port `output`, which stay the same for one sampling interval.

    Each block has a seed of its own, from which its default contexts begin, so that simulations can be repeated.
    SetRandomContext() draws another seed. `set_fixed_seed` prescribes one for both.

    Args:
        distribution: of each number: uniform on [0, 1), Gaussian (mean 0, variance 1), or exponential (mean 1).
        num_outputs: how many numbers.
        sampling_interval_sec: time between two samples, the first one at 0 [s].

    Raises:
        TypeError: the distribution is no RandomDistribution.
        ValueError: the number is negative, or the interval not positive.
    """

    _next_seed = itertools.count(DEFAULT_SEED)

    def __init__(self, distribution: RandomDistribution, num_outputs: int, sampling_interval_sec: float) -> None:
        super().__init__()
        if not isinstance(distribution, RandomDistribution):
            raise TypeError(f"RandomSource: distribution must be a RandomDistribution, got {distribution!r}.")
        self._distribution = distribution
        self._size = checked_size(num_outputs, "RandomSource: num_outputs")
        period = checked_positive_period(sampling_interval_sec, "RandomSource: sampling_interval_sec")
        self._instance_seed = next(self._next_seed) % _SEEDS
        self._fixed_seed: int | None = None
        self.DeclareStateOutputPort("output", self.DeclareDiscreteState(self._size))
        self._generator_index = self.DeclareAbstractState(GeneratorBox())
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._draw_sample)
        use_native_event(self, _CodeOfSource(self))

    def get_fixed_seed(self) -> int | None:
        """Returns the seed that set_fixed_seed() prescribed, or None."""
        return self._fixed_seed

    def set_fixed_seed(self, seed: int | None) -> None:
        """Prescribes the seed of default and random contexts made from now on; None for none.

        Raises:
            ValueError: it is not between 0 and 2^32 - 1.
        """
        if seed is not None:
            RandomGenerator(seed)  # refuses what is no seed
        self._fixed_seed = seed

    def SetDefaultState(self, context: Context, state: Any) -> None:
        self._begin(state, self._instance_seed if self._fixed_seed is None else self._fixed_seed)

    def SetRandomState(self, context: Context, state: Any, generator: RandomGenerator) -> None:
        self._begin(state, generator() if self._fixed_seed is None else self._fixed_seed)

    def _begin(self, state: State, seed: int) -> None:
        state.get_mutable_abstract_state(self._generator_index).set_value(RandomGenerator(seed))
        self._renew(state)

    def _draw_sample(self, context: Context, state: State) -> None:
        self._renew(state)

    def _renew(self, state: State) -> None:
        generator = state.get_mutable_abstract_state(self._generator_index).get_mutable_value()
        sample = np.empty(self._size)
        drawn.interpreted(generator, self._distribution.value, sample)
        state.get_mutable_discrete_state().set_value(0, sample)


class _CodeOfSource:
    """Drawing a sample as an operation, which works on the generator in the abstract state itself."""

    operation = ""

    def __init__(self, source: RandomSource) -> None:
        self._source = source

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation."""
        source = self._source
        box = context.peek_state().get_abstract_state(int(source._generator_index))
        if not isinstance(box, GeneratorBox) or not twister_is_known():
            return None
        generator, settle = box.get_value(), _Undoing(context, box)
        arrays = generator.spare, settle.before, settle.spare_before, settle.was_called
        known = *twister_of(generator.bit_generator), *map(address_of_array, arrays)
        code = *known, source._distribution.value, NextDiscreteStateOf(0), 0, source._size
        return NativeCode(drawn.operation("giw"), code, settle)


class _Undoing:
    """Takes a draw back whose sample did not become the state, since other updates at that time could not be made.

    Python makes all of them again, then.

    Attributes:
        box: in the abstract state, with the generator that the operation advances.
        before, spare_before: the generator before the last draw, and its spare number.
        was_called: whether there was one since Python last took over, shape [1].
    """

    def __init__(self, context: Any, box: GeneratorBox) -> None:
        self._context, self.box = context, box
        self.before: NDArray[np.uint32] = words_of_twister(box.get_value().bit_generator).copy()
        self.spare_before = box.get_value().spare.copy()
        self.was_called: NDArray[np.int64] = np.zeros(1, np.int64)

    def forget(self) -> None:
        """Nothing is to be taken back: the generator is that of another simulation now."""
        self.was_called[0] = 0

    def __call__(self) -> None:
        if self.was_called[0]:
            self.was_called[0] = 0
            context = self._context
            sample, state = context.room_for_update(), context.peek_state().get_discrete_state()
            if (sample.value() != state.value()).any():
                generator = self.box.get_value()
                words_of_twister(generator.bit_generator)[:] = self.before
                generator.spare[:] = self.spare_before


def AddRandomInputs(sampling_interval_sec: float, builder: DiagramBuilder) -> int:
    """Adds a RandomSource for each random input port in a diagram that is neither connected nor exported.

    Args:
        sampling_interval_sec: time between two samples of all new sources [s].
        builder: of the diagram.

    Returns:
        The number of sources added.

    Raises:
        TypeError: there is no DiagramBuilder.
        ValueError: the interval is not positive.
    """
    if not isinstance(builder, DiagramBuilder):
        raise TypeError(f"AddRandomInputs takes a DiagramBuilder, got {type(builder).__name__}.")
    period = checked_positive_period(sampling_interval_sec, "AddRandomInputs: sampling_interval_sec")
    open_ports = [
        port
        for system in builder.GetSystems()
        for port in (system.get_input_port(i) for i in range(system.num_input_ports()))
        if port.get_random_type() is not None and not builder.IsConnectedOrExported(port)
    ]
    for port in open_ports:
        source = builder.AddSystem(RandomSource(port.get_random_type(), port.size(), period))
        builder.Connect(source.get_output_port(), port)
    return len(open_ports)
