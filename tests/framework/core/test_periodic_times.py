"""When periodic events happen."""

import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from merganser.framework import TriggerType
from merganser.framework.core.events import DeclaredEvent, EventKind


def periodic(period, offset=0.0):
    return DeclaredEvent(EventKind.PUBLISH, TriggerType.kPeriodic, print, period, offset)


def test_periodic_times_start_at_the_offset_and_are_strictly_later():
    event = periodic(0.1, 0.25)
    assert event.next_time(-1.0) == event.next_time(0.0) == 0.25
    assert event.next_time(0.25) == 0.25 + 0.1
    time, times = -1.0, []
    while len(times) < 1000:
        time = event.next_time(time)
        times.append(time)
    assert times == [0.25 + k * 0.1 for k in range(1000)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    period=st.floats(1e-6, 1e3),
    offset=st.floats(0.0, 10.0),
    k=st.integers(0, 10**7),
    nudge=st.sampled_from([-1, 0, 1]),
)
@example(
    period=1.2310179766915617e-06, offset=0.005062395120863594, k=874317, nudge=-1
)  # ceil gives one too many
def test_no_periodic_time_is_skipped_or_repeated_whatever_the_rounding(period, offset, k, nudge):
    event = periodic(period, offset)
    time = offset + k * period
    if nudge:
        time = math.nextafter(time, nudge * math.inf)
    following = event.next_time(time)
    assert following > time
    candidates = [offset + j * period for j in range(max(k - 1, 0), k + 3)]
    assert following == min(t for t in candidates if t > time)
