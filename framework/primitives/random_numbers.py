"""RandomSource: gives random numbers, drawn again periodically; and the function that wires up all random inputs.

WienerProcess, WhiteNoise, BandLimitedWhiteNoise: a path of Brownian motion and its rate of change, which are the same
for all steps of a simulation (native/operations/brownian_motion.py).

LinearTransformDensity: a linear transformation of random numbers, with the probability density of the result.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import names_of
from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode, NextDiscreteStateOf
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr, MatrixOf
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.scalars.element_functions import elements
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
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.element_functions import exp
from merganser.framework.native.memory.addresses import address_of_array, twister_of, words_of_twister
from merganser.framework.native.operations.brownian_motion import brownian_motion
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector
from merganser.framework.primitives.linear_system import affine

Array = NDArray[Any]
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
            raise TypeError(f"RandomSource: distribution must be {names_of(RandomDistribution)}, got {distribution!r}.")
        self._distribution = distribution
        self._size = checked_size(num_outputs, "RandomSource: num_outputs")
        period = checked_positive_period(sampling_interval_sec, "RandomSource: sampling_interval_sec")
        self._instance_seed = next(self._next_seed) % _SEEDS
        self._fixed_seed: int | None = None
        self.DeclareStateOutputPort("output", self.DeclareDiscreteState(self._size))
        self._generator_index = self.DeclareAbstractState(GeneratorBox())
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._draw_sample)
        self._sys_amend_last_event(native=_CodeOfSource(self))

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
    """Undoes a draw whose sample did not become the state because other updates at that time failed.

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
        """Drops the undo record: the generator is now that of another simulation."""
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


@native
def brownian_path(seed: Array, scale: Array, t: float, y: Array) -> None:
    """Brownian motion, an independent one for each element."""
    for i in range(len(y)):
        y[i] = scale[i] * brownian_motion(seed[0].real, i, t.real) + 0.0 * t


@native
def noise_within_step(rate: Array, t: float, y: Array) -> None:
    """The mean rate of a Brownian motion over the step that an integrator takes; it depends on the time."""
    for i in elements(y):
        y[i] = rate[i] + 0.0 * t


@native
def mean_noise(seed: Array, scale: Array, period: float, t: float, y: Array) -> None:
    """The mean of white noise from now on for a period: the increment of Brownian motion, divided by the period."""
    for i in range(len(y)):
        change = brownian_motion(seed[0].real, i, t.real + period) - brownian_motion(seed[0].real, i, t.real)
        y[i] = scale[i] * change / period + 0.0 * t


class _Brownian(LeafSystem):
    """Base of blocks that are driven by Brownian motion: what they are of, and the seed, a parameter."""

    def __init__(self, spectral_density: ArrayLike, size: int | None, seed: int | None) -> None:
        super().__init__()
        name = type(self).__name__
        density = checked_vector(spectral_density, f"{name}: spectral_density")
        n = density.size if size is None else checked_size(size, f"{name}: size", 1)
        if density.size not in (1, n):
            raise ValueError(f"{name}: spectral_density has {density.size} elements, expected {n} or one.")
        if not ((density >= 0.0) & (density < math.inf)).all():
            raise ValueError(f"{name}: spectral_density must be finite and not negative, got {density.tolist()}.")
        if seed is not None:
            RandomGenerator(seed)  # refuses what is no seed
        self._scale, self._fixed_seed = np.broadcast_to(np.sqrt(density), n).copy(), seed
        own = next(RandomSource._next_seed) % _SEEDS if seed is None else int(seed)
        self._seed_index = self.DeclareNumericParameter(BasicVector([float(own)]), name="seed")

    def SetRandomParameters(self, context: Context, parameters: Any, generator: RandomGenerator) -> None:
        if self._fixed_seed is None:
            parameters.get_mutable_numeric_parameter(self._seed_index).SetAtIndex(0, float(generator()))


class WienerProcess(_Brownian):
    """y(t) = sqrt(S) W(t): Brownian motion, the integral of white noise of the spectral density S; 0 at time 0.

    The value is a function of seed and time alone. Its variance is S |t|.

    Args:
        spectral_density: S [units of y squared per second], one number or shape [n].
        size: n, where the density is one number.
        seed: of all contexts, from 0 to 2^32 - 1. Without it each block has another one in its default contexts, so
            that simulations can be repeated, and SetRandomContext() draws one.

    Raises:
        ValueError: a density is negative, or the seed is none.
    """

    def __init__(self, spectral_density: ArrayLike = 1.0, size: int | None = None, seed: int | None = None) -> None:
        super().__init__(spectral_density, size, seed)
        calc = brownian_path.given(seed=self._seed_index, scale=self._scale)
        self.DeclareVectorOutputPort(kUseDefaultName, self._scale.size, calc)


class WhiteNoise(_Brownian):
    """White noise w, for time derivatives xdot = f(x) + G(x) w: a stochastic differential equation, in Ito's sense.

    Its integral is the path of a WienerProcess of the same density and seed. Only the integrators `euler_maruyama` and
    `milstein` take it, as it has no values at single times: there, and in the time derivatives of a context, it is 0,
    its mean. Others refuse it; BandLimitedWhiteNoise is for these, and for outputs.

    Args:
        spectral_density: S, two-sided [units of w squared per Hz], so that E[w(t) w(t')] = S delta(t - t'); one number
            or shape [n].
        size: n, where the density is one number.
        seed: see WienerProcess.

    Raises:
        ValueError: a density is negative, or the seed is none.
    """

    def __init__(self, spectral_density: ArrayLike = 1.0, size: int | None = None, seed: int | None = None) -> None:
        super().__init__(spectral_density, size, seed)
        rate = self.DeclareNumericParameter(BasicVector(0.0 * self._scale), name="rate")
        self.DeclareVectorOutputPort(kUseDefaultName, self._scale.size, noise_within_step)
        self._sys_white_noise = int(self._seed_index), int(rate), self._scale


class BandLimitedWhiteNoise(_Brownian):
    """The means of white noise over periods, for any integrator: flat up to about half the sampling frequency.

    At each multiple of the period it becomes the mean of the white noise of this density and seed until the next one;
    its variance is S / period. So with shorter periods it comes to the same path.

    Args:
        spectral_density: S, two-sided [units of y squared per Hz], one number or shape [n].
        period: for which a value stays the same [s].
        size: n, where the density is one number.
        seed: see WienerProcess.

    Raises:
        ValueError: a density is negative, the period not positive, or the seed is none.
    """

    def __init__(
        self, spectral_density: ArrayLike, period: float, size: int | None = None, seed: int | None = None
    ) -> None:
        super().__init__(spectral_density, size, seed)
        T = checked_positive_period(period, "BandLimitedWhiteNoise: period")
        state = self.DeclareDiscreteState(self._scale.size)
        calc = mean_noise.given(seed=self._seed_index, scale=self._scale, period=T)
        self.DeclarePeriodicDiscreteUpdateEvent(T, 0.0, calc)
        self.DeclareStateOutputPort(kUseDefaultName, state)


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


_ROUNDING = 2.0**-52
_ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)
_UNIFORM, _GAUSSIAN = RandomDistribution.kUniform.value, RandomDistribution.kGaussian.value


@native
def eliminated(A: Array, b: Array, w: Array, result: Array) -> bool:
    """Brings A to triangular form and finds by how much w_in changes with A and b while w_out stays.

    That is inv(A) (dA w_in + db): zero, but for its derivatives. Elimination with row pivots.

    Args:
        A: shape [m, n].
        b: shape [m].
        w: the random numbers, shape [n].
        result: rows of the triangular matrix, each followed by an element of that change, shape [n (n + 1)].

    Returns:
        Whether A has no inverse.
    """
    n, width, largest = A.shape[1], A.shape[1] + 1, 0.0
    if n != A.shape[0]:
        return True
    for i in range(n):
        change = b[i] - b[i].real
        for j in range(n):
            result[width * i + j] = A[i, j]
            largest = max(largest, abs(A[i, j].real))
            change = change + (A[i, j] - A[i, j].real) * w[j].real
        result[width * i + n] = change
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(result[width * i + k].real) > abs(result[width * best + k].real):
                best = i
        for j in range(k, width):
            swapped = result[width * best + j]
            result[width * best + j] = result[width * k + j]
            result[width * k + j] = swapped
        pivot = result[width * k + k]
        if not abs(pivot.real) > _ROUNDING * largest:
            return True
        for i in range(k + 1, n):
            factor = result[width * i + k] / pivot
            for j in range(k + 1, width):
                result[width * i + j] -= factor * result[width * k + j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            result[width * i + n] -= result[width * i + j] * result[width * j + n]
        result[width * i + n] = result[width * i + n] / result[width * i + i]
    return False


@native
def transformed_density(distribution: int, w: Array, triangle: Array, density: Array) -> None:
    """p(w_in) / |det A| at a fixed w_out, with what `eliminated` gives, shape [n, n + 1]."""
    n = len(w)
    p, determinant = 1.0, 1.0
    for i in range(n):
        x = w[i].real - triangle[i, n]
        if distribution == _GAUSSIAN:
            p = p * (exp(-0.5 * x * x) / _ROOT_OF_TWO_PI)
        elif distribution == _UNIFORM:
            p = p if 0.0 <= x.real < 1.0 else 0.0 * p
        else:
            p = p * exp(-x) if x.real >= 0.0 else 0.0 * p
        determinant = determinant * triangle[i, i]
    density[0] = p / (-determinant if determinant.real < 0.0 else determinant)


class LinearTransformDensity(LeafSystem):
    """Gives w_out = A w_in + b and the probability density of w_out, for random numbers w_in.

    With p the density of the distribution of w_in, that of w_out is p(inv(A) (w_out - b)) / |det A|. Its derivatives by
    A and b are those at a fixed w_out: how much more likely this sample would have been.

    Input ports: w_in, A (its columns one after the other) and b, which is zero if it is not connected. Output ports:
    w_out and w_out_density.

    Args:
        distribution: of each element of w_in, which the source of the port must have too.
        input_size: number of elements of w_in.
        output_size: number of elements of w_out.

    Raises:
        TypeError: the distribution is no RandomDistribution.
        ValueError: a size is negative.
    """

    def __init__(self, distribution: RandomDistribution, input_size: int, output_size: int) -> None:
        super().__init__()
        if not isinstance(distribution, RandomDistribution):
            raise TypeError(
                f"LinearTransformDensity: distribution must be {names_of(RandomDistribution)}, got {distribution!r}."
            )
        self._distribution = distribution
        n = checked_size(input_size, "LinearTransformDensity: input_size")
        m = checked_size(output_size, "LinearTransformDensity: output_size")
        self._w_in = self.DeclareVectorInputPort("w_in", n, distribution)
        self._A = self.DeclareVectorInputPort("A", m * n)
        self._b = self.DeclareVectorInputPort("b", m)
        w, b, A = self._w_in, InputOr(self._b, np.zeros(m)), MatrixOf(self._A, (m, n), by_columns=True)
        self._w_out = self.DeclareVectorOutputPort("w_out", m, affine.given(offset=b, M=A, v=w))
        shape, calc = (n, n + 1), eliminated.given(A=A, b=b, w=w).or_raise(self._explain)
        room, anything = BasicVector(np.zeros(n * (n + 1))), {self.all_sources_ticket()}
        triangle = self._sys_declare_entry("elimination", room, calc, anything)
        density = transformed_density.given(distribution=distribution.value, w=w, triangle=MatrixOf(triangle, shape))
        self._density = self.DeclareVectorOutputPort("w_out_density", 1, density)

    def get_input_port_w_in(self) -> InputPort:
        """Returns the input port of w_in."""
        return self._w_in

    def get_input_port_A(self) -> InputPort:
        """Returns the input port of A."""
        return self._A

    def get_input_port_b(self) -> InputPort:
        """Returns the input port of b."""
        return self._b

    def get_output_port_w_out(self) -> OutputPort:
        """Returns the output port of w_out."""
        return self._w_out

    def get_output_port_w_out_density(self) -> OutputPort:
        """Returns the output port of the density."""
        return self._density

    def get_distribution(self) -> RandomDistribution:
        """Returns the distribution of w_in."""
        return self._distribution

    def FixConstantA(self, context: Context, A: ArrayLike) -> FixedInputPortValue:
        """Fixes the input port A to a matrix of shape [output_size, input_size].

        Raises:
            ValueError: wrong shape.
        """
        matrix, shape = np.asarray(A), (self._w_out.size(), self._w_in.size())
        if matrix.shape != shape:
            raise ValueError(f"System '{self.GetSystemPathname()}': A must have shape {shape}, got {matrix.shape}.")
        return self._A.FixValue(context, matrix.ravel(order="F"))

    def FixConstantB(self, context: Context, b: ArrayLike) -> FixedInputPortValue:
        """Fixes the input port b to a vector of shape [output_size].

        Raises:
            ValueError: wrong size.
        """
        return self._b.FixValue(context, np.asarray(b).reshape(-1))

    def CalcDensity(self, context: Context) -> Any:
        """Returns the density of w_out.

        Raises:
            RuntimeError: A has no inverse.
        """
        return self._density.Eval(context)[0]

    def _explain(self, context: Context) -> None:
        """Raises an exception for a matrix that has no inverse."""
        columns = self._A.EvalBasicVector(context).value()
        A = columns.reshape((self._w_out.size(), self._w_in.size()), order="F")
        raise RuntimeError(
            f"System '{self.GetSystemPathname()}': the density needs a matrix A that has an inverse, got {A.tolist()}."
        )
