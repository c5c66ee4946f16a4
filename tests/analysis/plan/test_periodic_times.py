"""When periodic events happen."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from merganser.analysis.plan.clocks import make_clocks, next_strike, strike_after
from merganser.framework.native import kernel


def test_periodic_times_start_at_the_offset_and_are_strictly_later():
    assert next_strike(0.1, 0.25, -1.0) == next_strike(0.1, 0.25, 0.0) == 0.25
    assert next_strike(0.1, 0.25, 0.25) == 0.25 + 0.1
    time, times = -1.0, []
    while len(times) < 1000:
        time = next_strike(0.1, 0.25, time)
        times.append(time)
    assert times == [0.25 + k * 0.1 for k in range(1000)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    period=st.floats(1e-6, 1e3),
    offset=st.floats(0.0, 10.0),
    k=st.integers(0, 10**7),
    nudge=st.sampled_from([-1, 0, 1]),
)
@example(period=1.2310179766915617e-06, offset=0.005062395120863594, k=874317, nudge=-1)  # ceil gives one too many
def test_no_periodic_time_is_skipped_or_repeated_whatever_the_rounding(period, offset, k, nudge):
    time = offset + k * period
    if nudge:
        time = math.nextafter(time, nudge * math.inf)
    following = next_strike(period, offset, time)
    assert following > time
    candidates = [offset + j * period for j in range(max(k - 1, 0), k + 3)]
    assert following == min(t for t in candidates if t > time)


@kernel
def strikes(clocks, num_clocks, time, end, times_out, bits_out):
    """All strikes of clocks between two times; returns their number."""
    count = 0
    while count < len(times_out):
        time, bits_out[count] = strike_after(clocks, num_clocks, time)
        if not time < end:
            break
        times_out[count] = time
        count += 1
    return count


@pytest.mark.parametrize("start", [-2.5, 0.0, 1e3, 1e6 + 1.0 / 3.0, 1e9])
def test_clocks_strike_at_the_same_times_compiled_and_in_python(start):
    """Where clocks meet, the bits of both are set; the least of all multiples is the next time."""
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
        struck = set(compiled[:count][bits[:count] >> n & 1 == 1])
        first = max(0, math.floor((start - offset) / period) - 1)
        multiples = (offset + k * period for k in range(first, first + int(10.0 / period) + 4))
        assert struck == {time for time in multiples if start < time < end}


def test_a_period_that_time_cannot_resolve_is_told_when_its_next_strike_is_asked_for():
    clocks = make_clocks([(1e-3, 0.0)])
    assert strike_after(clocks, 1, 1e9)[0] > 1e9
    assert math.isnan(strike_after(clocks, 1, 1e14)[0])
    assert clocks[0] < 1e14
    assert strike_after([], 0, 1.0) == (math.inf, 0)
