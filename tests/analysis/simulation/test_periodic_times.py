"""When periodic events happen: at the rational times that their periods and offsets mean."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.analysis.simulation.clocks import clocks_at, make_clocks, strike_after
from merganser.analysis.simulation.exact_periods import combinations_of_clocks, exact_seconds
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.native import kernel
from merganser.framework.primitives import DiscreteTimeDelay, DiscreteTimeIntegrator


@pytest.mark.parametrize(
    ("seconds", "meaning"),
    [
        (0.01, Fraction(1, 100)),
        (1 / 3, Fraction(1, 3)),
        (1 / 60, Fraction(1, 60)),
        (3 * 0.1, Fraction(3, 10)),
        (1001 / 30000, Fraction(1001, 30000)),
        (1e-7, Fraction(1, 10**7)),
        (1000.0, Fraction(1000)),
        (0.123456789, Fraction(123456789, 10**9)),
        (0.0, Fraction(0)),
        (2.0**-40, Fraction(1, 2**40)),
        (math.pi, Fraction(math.pi)),
        (0.02 * math.sqrt(2.0), Fraction(0.02 * math.sqrt(2.0))),
    ],
)
def test_a_float_means_a_simple_fraction_a_short_decimal_or_itself(seconds, meaning):
    assert exact_seconds(seconds) == meaning


def random_number(rng):
    """A period or offset from 0.1 us to 1000 s, as people have them: decimals, fractions, rates."""
    kind = rng.randrange(3)
    if kind == 0:
        return Fraction(round(10.0 ** rng.uniform(0.0, 10.0)), 10**7)
    if kind == 1:
        return Fraction(rng.randint(1, 1000), rng.randint(1, 1000))
    return Fraction(1, rng.randint(1, 10**5))


def random_clocks(rng):
    """Four pairs of period and offset; half of them have periods that are multiples of another."""
    clocks = [(random_number(rng), rng.choice([Fraction(0), random_number(rng)])) for _ in range(4)]
    if rng.random() < 0.5:
        period, offset = clocks[0]
        clocks[1] = (rng.randint(2, 9) * period, offset)
        clocks[2] = (Fraction(3, 2) * period, offset)
    return clocks


def test_a_thousand_sets_of_periods_and_offsets_strike_as_fractions_do():
    """Time by time, and which of them together, from the beginning and after ten million periods."""
    rng = random.Random(7)
    for _ in range(1000):
        exact = random_clocks(rng)
        clocks = make_clocks([(float(period), float(offset)) for period, offset in exact])
        time = rng.choice([0, 10**3, 10**7]) * exact[0][0]
        if float(min(period for period, _ in exact)) < 1e-13 * float(time):
            time = Fraction(0)
        found = float(time)
        for _ in range(12):
            found, bits = strike_after(clocks, len(exact), found, math.inf)
            strikes = [offset + max(0, (time - offset) // period + 1) * period for period, offset in exact]
            time = min(strikes)
            assert found == float(time)
            assert bits == sum(1 << n for n, strike in enumerate(strikes) if strike == time)
            assert clocks_at(clocks, len(exact), found) == bits


@kernel
def strikes(clocks, num_clocks, time, end, times_out, bits_out):
    """All strikes of clocks between two times; returns their number."""
    count = 0
    while count < len(times_out):
        time, bits_out[count] = strike_after(clocks, num_clocks, time, math.inf)
        if not time < end:
            break
        times_out[count] = time
        count += 1
    return count


@pytest.mark.parametrize("start", [-2.5, 0.0, 1e3, 1e6 + 1.0 / 3.0, 1e9])
def test_clocks_strike_at_the_same_times_compiled_and_in_python(start):
    rng = np.random.default_rng(5)
    rows = [(0.1, 0.0), (0.2, 0.0), (0.3, 0.1), (1.0 / 3.0, 0.7), *rng.uniform(0.01, 1.0, (4, 2))]
    clocks = np.array(make_clocks(rows))
    end = start + 10.0
    compiled, bits, in_python = np.zeros(5000), np.zeros(5000, dtype=np.int64), np.zeros(5000)
    bits_in_python, row = bits.copy(), clocks.tolist()
    count = strikes(clocks, len(rows), start, end, compiled, bits)
    assert count == strikes.interpreted(row, len(rows), start, end, in_python, bits_in_python) > 100
    np.testing.assert_array_equal(compiled, in_python)
    np.testing.assert_array_equal(bits[:count], bits_in_python[:count])
    for n, (period, offset) in enumerate(rows):
        exact_period, exact_offset = exact_seconds(period), exact_seconds(offset)
        struck = compiled[:count][bits[:count] >> n & 1 == 1]
        first = max(0, math.floor((start - offset) / period) - 1)
        multiples = (float(exact_offset + k * exact_period) for k in range(first, first + int(10.0 / period) + 4))
        expected = [time for time in multiples if start < time < end]
        np.testing.assert_allclose(struck, expected, rtol=2.0**-50, atol=0.0)  # what meets but for rounding, meets


def test_all_combinations_of_clocks_that_strike_together_are_known():
    rng = random.Random(1)
    for _ in range(200):
        clocks = [(rng.choice([1, 2, 3, 4, 6, 8, 10]), rng.choice([0, 0, 1, 2, 5, 30])) for _ in range(rng.randrange(6))]
        end = max((offset for _, offset in clocks), default=0) + math.lcm(*(period for period, _ in clocks))
        seen = {
            sum(1 << n for n, (period, offset) in enumerate(clocks) if t >= offset and (t - offset) % period == 0)
            for t in range(end + 1)
        }
        found = set(combinations_of_clocks([(0.01 * period, 0.01 * offset) for period, offset in clocks], 4096))
        assert seen <= found
        assert any(offset for _, offset in clocks) or found == seen | {0}
    assert len(combinations_of_clocks([(0.01 * n, 0.0) for n in range(1, 21)], 4096)) < 1000
    with pytest.raises(ValueError, match="more than 100 combinations"):
        combinations_of_clocks([(0.001 * n, 0.0) for n in (2, 3, 5, 7, 11, 13, 17)], 100)


def test_clocks_do_not_drift_in_a_million_steps():
    """0.01 s and 0.07 s, two periods without a common measure but their factor, and an offset."""
    clocks = np.array(make_clocks([(0.01, 0.0), (0.07, 0.0), (math.pi / 100, 0.0), (7 * (math.pi / 100), 0.0)]))
    times, bits = np.zeros(1_400_000), np.zeros(1_400_000, dtype=np.int64)
    count = strikes(clocks, 4, -1.0, 10_000.0, times, bits)
    of_first = times[:count][bits[:count] & 1 == 1]
    np.testing.assert_array_equal(of_first, np.arange(1_000_000) / 100.0)
    np.testing.assert_array_equal(bits[:count][bits[:count] & 1 == 1] >> 1 & 1, np.arange(1_000_000) % 7 == 0)
    of_pi = bits[:count][bits[:count] & 4 == 4]
    np.testing.assert_array_equal(of_pi >> 3 & 1, np.arange(len(of_pi)) % 7 == 0)
    np.testing.assert_allclose(times[:count][bits[:count] & 4 == 4], np.arange(len(of_pi)) * (math.pi / 100), 2.0**-50)


def test_a_boundary_time_that_is_a_strike_but_for_rounding_is_that_strike():
    clocks = make_clocks([(0.1, 0.0), (0.3, 0.0)])
    product = 3 * 0.1
    assert product > 0.3
    assert strike_after(clocks, 2, 0.2, product) == (product, 0b11)
    assert clocks_at(clocks, 2, product) == 0b11
    assert strike_after(clocks, 2, product, 1.0) == (0.4, 0b01)
    below = math.nextafter(0.6, 0.0)
    assert strike_after(clocks, 2, 0.5, below) == (below, 0b11)
    assert strike_after(clocks, 2, below, math.inf) == (0.7, 0b01)


def test_a_period_that_time_cannot_resolve_is_an_error_when_it_is_next_due():
    clocks = make_clocks([(1e-3, 0.0)])
    assert strike_after(clocks, 1, 1e9, math.inf)[0] > 1e9
    assert math.isnan(strike_after(clocks, 1, 1e14, math.inf)[0])
    assert clocks[0] < 1e14
    assert strike_after([], 0, 1.0, math.inf) == (math.inf, 0)


class Counter(LeafSystem):
    """Counts its updates."""

    def __init__(self, period):
        super().__init__()
        index = self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._count)
        self.DeclareStateOutputPort("count", index)

    def _count(self, context, discrete_state):
        discrete_state.set_value(0, context.get_discrete_state(0).value() + 1.0)


class Reader(LeafSystem):
    """Writes down what it reads, and when."""

    def __init__(self, period):
        super().__init__()
        self.read = []
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._look)

    def _look(self, context, _):
        self.read.append((context.get_time(), float(self.get_input_port().Eval(context)[0])))


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize(("fast", "ratio"), [(0.01, 7), (0.1, 3), (1 / 3, 3), (0.002, 33), (math.pi / 50, 7)])
def test_a_slower_reader_meets_every_nth_update(fast, ratio, in_pieces, is_compiled):
    """Also if the simulation stops at each multiple of the period, as a float has it."""
    builder = DiagramBuilder()
    counter, reader = builder.AddSystem(Counter(fast)), builder.AddSystem(Reader(ratio * fast))
    builder.Connect(counter.get_output_port(), reader.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(is_compiled, at_once=is_compiled)
    for k in range(1, 20 * ratio + 1) if in_pieces else (20 * ratio,):
        simulator.AdvanceTo(k * fast)
        assert simulator.get_context().get_time() == k * fast
    assert simulator.get_num_steps_taken() == 20 * ratio
    simulator.AdvancePendingEvents()
    times, counts = np.array(reader.read).T
    np.testing.assert_array_equal(counts, ratio * np.arange(21))
    if not in_pieces:
        exact = exact_seconds(ratio * fast)
        at_most = 0.0 if exact.denominator < 10**6 else 2.0**-52  # what meets but for rounding, meets at the first time
        np.testing.assert_allclose(times[:-1], [float(k * exact) for k in range(20)], at_most)


def test_batches_meet_as_single_simulations_do():
    builder = DiagramBuilder()
    counter = builder.AddSystem(DiscreteTimeIntegrator(1, 0.01))
    delay = builder.AddSystem(DiscreteTimeDelay(0.07, 1, 1))
    builder.Connect(counter.get_output_port(), delay.get_input_port())
    builder.ExportInput(counter.get_input_port())
    result = BatchSimulator(builder.Build()).simulate(np.zeros((3, 2)), 2.995, inputs={0: [[100.0, 200.0]]})
    # The integrator's 300th sum, and what the delay has read of it at 2.87 s and at 2.94 s.
    np.testing.assert_allclose(result.states, np.outer([300.0, 287.0, 294.0], [1.0, 2.0]))
