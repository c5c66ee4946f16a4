#!/usr/bin/env bash
# bdsim 1.4.0: a clock does not tick at time zero, so sampled blocks do nothing in their first period.
#
# A ramp through a zero-order hold with a period of 0.1 s. One would guess, from Simulink, python-control and the
# z-transform, that the hold samples at 0 and gives r(0) until 0.1 s. It gives its initial state x0 until 0.1 s instead,
# and samples first there. Rows of the results at a tick are those before the tick, while rows between two ticks have
# the value after the last one, so that a plot by steps (post) shows the hold one period later than it was.
#
# Seen, with x0 = -1 and a ramp r(t) = t: the hold is -1 at 0.05 s, 0.1 at 0.15 s and 0.2 at 0.25 s; the row at 0.1 s
# says -1, the one at 0.2 s says 0.1. A sampled integrator of the constant 1 has 0.9 after 1 s, in the row at 1 s.
#
# Instead: give the hold its first sample as x0 (an offset of the clock only makes its first tick later); compare sampled
# signals with those of other tools in the middle of periods.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile bdsim==1.4.0 numpy==2.4.6
cd "$work" && venv/bin/python - 2>/dev/null <<'PROGRAM'
import bdsim
import numpy as np

simulation = bdsim.BDSim(graphics=False, progress=False, quiet=True)
diagram = simulation.blockdiagram()
clock = diagram.clock(0.1, "s")
ramp, hold, end = diagram.RAMP(T=0.0), diagram.ZOH(clock, x0=-1.0), diagram.NULL()
lag = diagram.INTEGRATOR(x0=0.0)  # of the hold: it shows what the hold gave between its ticks
count = diagram.DINTEGRATOR(clock, x0=0.0)
one, sink, other = diagram.CONSTANT(1.0), diagram.NULL(), diagram.NULL()
diagram.connect(ramp, hold)
diagram.connect(hold, end, lag)
diagram.connect(lag, other)
diagram.connect(one, count)
diagram.connect(count, sink)
diagram.compile()
result = simulation.run(diagram, T=1.0, watch=[hold, lag, count])
t, (held, integral, counted) = np.asarray(result.t), np.asarray(result.y).T


def at(values: np.ndarray, time: float) -> float:
    return round(float(values[np.argmin(np.abs(t - time))]), 6)


def mean(start: float, end: float) -> float:
    """What the hold gave on average from `start` to `end`."""
    return round((at(integral, end) - at(integral, start)) / (end - start), 6)


seen = {
    "held over the first three periods": [mean(0.0, 0.1), mean(0.1, 0.2), mean(0.2, 0.3)],
    "rows at 0.1 and 0.2 s": [at(held, 0.1), at(held, 0.2)],
    "count at 1 s": at(counted, 1.0),
}
for what, values in seen.items():
    print(f"{what}: {values}")
assert seen == {
    "held over the first three periods": [-1.0, 0.1, 0.2],
    "rows at 0.1 and 0.2 s": [-1.0, 0.1],
    "count at 1 s": 0.9,
}
PROGRAM
