#!/usr/bin/env bash
# drake 1.51.1: periodic events whose times should meet, and do not.
#
# An event of period 0.01 s and one of 0.07 s meet at each multiple of 0.07 s, one would guess. Their times are products
# of floating-point numbers, k * 0.01 and n * 0.07, and about half of these differ in the last digit. The simulator then
# takes two steps, one of them by this digit, and what the slower block reads is older or newer by a whole period of the
# faster one, from one time to the next. For the same reason AdvanceTo(0.3) leaves out an event that is due at 3 * 0.1
# s.
#
# Seen: of 100 times at which both are due, 48 are two times. 3 events of period 0.1 s up to 0.3 s (0, 0.1, 0.2), 11 up
# to 1 s.
#
# Instead: periods that are powers of two (1/128 s), of which all multiples are exact; one block with a counter for the
# slower rate; and ends of advances that lie between two events.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import LeafSystem


class Clock(LeafSystem):
    def __init__(self, *periods):
        super().__init__()
        self.times = [[] for _ in periods]
        for period, times in zip(periods, self.times):
            self.DeclarePeriodicPublishEvent(period, 0.0, lambda context, times=times: times.append(context.get_time()))


def times(end, *periods):
    clock = Clock(*periods)
    Simulator(clock).AdvanceTo(end)
    return clock.times


fast, slow = times(6.99, 0.01, 0.07)
missed = set(slow) - set(fast)
print(len(missed), "of", len(slow), "multiples of 0.07 s are no time of the clock of 0.01 s")
fast_exact, slow_exact = times(6.99, 2.0**-7, 7 * 2.0**-7)
print(len(set(slow_exact) - set(fast_exact)), "of", len(slow_exact), "with 1/128 s and 7/128 s")
counts = [len(times(end, 0.1)[0]) for end in (0.3, 1.0)]
print("events of period 0.1 s up to 0.3 s and 1 s:", *counts)
assert len(slow) == 100 and len(missed) == 48 and set(slow_exact) <= set(fast_exact) and counts == [3, 11]
PROGRAM
