"""State of a watch over witness functions and regions: a record that Python and compiled code read and change by name.

One source serves Python, where `w` is the WitnessWatch, and the compiled loop of a plan, where it is a Watch. What
both change are the numbers in `now`, and the arrays.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from numpy.typing import NDArray

from merganser.analysis.integrators.step_state import Step
from merganser.framework.native.memory.records_of_arrays import FLOAT, ArrayOf, Floats, Integers, record_at_address

NUM_TIMES_KEPT = 50  # of triggers of a witness function
MOST_TRIALS = 32  # of regions in which a step may begin
MOST_ROUNDS = 100  # in which blocks change their state at one time
# How far one is from where one was: next to a place, or next to one that is next to it.
OUTER, INNER = 0, 1
NUM_PLACES = 2
# What is computed, by its number.
REGIONS, VALUES, SIGNALS, ENDS, DECISIONS, RECORDS, ACTIONS = range(7)

# Directions of witness functions, as bits.
FROM_POSITIVE, FROM_NEGATIVE = 1, 2

Floats2D = Annotated[NDArray[Any], ArrayOf(FLOAT, 2)]


class WatchNow(NamedTuple):
    """Numbers that change from step to step.

    Attributes:
        num_witnesses, num_blocks, num_signals: sizes.
        is_stale: whether other witness functions may have come into effect.
        num_triggered: how many have triggered where the last step ended.
        chattering: the number of the block, counted from 1, whose regions lead back to their border, so that no step
            can begin; 0 without one.
        start, end: of the step [s].
        region_end: when the step must end, as blocks say [s].
        shift: over which rates of change are measured [s].
        knows_slopes: whether slopes at the end of the last step are known.
        slopes_time: the time of these [s].
        knew_slopes, slopes_time_before: the same when the step began.
        is_armed, comes_back: results of searches.
        dip_time, dip_value: where a function dips below zero [s]; nan without a dip.
        time_start: where the simulation began [s].
        was_recorded: whether dense output was.
        stops_at_triggers: whether the advance of an FMU ends where functions trigger.
    """

    num_witnesses: int
    num_blocks: int
    num_signals: int
    is_stale: int
    num_triggered: int
    chattering: int
    start: float
    end: float
    region_end: float
    shift: float
    knows_slopes: int
    slopes_time: float
    knew_slopes: int
    slopes_time_before: float
    is_armed: int
    comes_back: int
    dip_time: float
    dip_value: float
    time_start: float
    was_recorded: int
    stops_at_triggers: int


class Watch(NamedTuple):
    """What the compiled form of a watched step works on; in Python, attributes of the WitnessWatch have these names.

    Attributes:
        now: see WatchNow.
        kept: what the integrator had when the step began.
        step: the integrator; its address in compiled code.
        progress: address of the Problem of the loop.
        first: number of the first computation of the watch among those of the loop.
        direction, full_direction, updates, block: of each active witness function: bits, 0 while it does not count;
            these bits while it does; whether what happens then changes the state; number of its block, -1 of others.
        zero_band: values as small as this count as zero, because it has just triggered.
        slope_before: its slope [1/s] when it last triggered an update, before that.
        times, num_times: when it triggered lately [s].
        start: reference value at the beginning of the step; 0 if it cannot trigger in this step.
        armed_after: it can trigger after this time [s].
        level: what counts as zero in this step: 0, or its value at the beginning where that is 0 but for rounding.
        before, after, lefts, rights, values: values at times of a step.
        is_triggered: whether it has triggered where the last step ended.
        is_candidate, is_chosen, has_start: marks for searches.
        has_slope, end_slopes, start_slopes: slopes [1/s].
        had_slope, slopes_before, bands_before, slopes_of_triggers_before, x_slopes_before: what was known when the step
            began.
        x_start, x_end, x_right, x_slopes, xdot_kept: states, and derivatives.
        x_near, xdot_near: where one was before going next to a place, shape [NUM_PLACES, n].
        time_near, is_near: when, and whether one has gone.
        regions, regions_ahead, tried: of all blocks, one after the other.
        block_of_region: the number of the block.
        at_border: whether a block is at the border of its region.
        signals, signals_ahead, rates: inputs of which rates of change are wanted.
        flat: numbers of the Context.
        places_of_values, places_of_regions, places_held, places_of_locks, places_of_signals, places_moving,
            places_of_rates, places_of_ends: offsets in `flat`.
        memory_places, memory_sizes, memory_kept: the discrete state of the blocks, and what it was.
        memory_rows: how many numbers are added to it at once, if it grows (StepBlock); 0 of others.
        kept_first, kept_size: which part of it was kept beside its first number.
        method_kept, bulk_kept: what the method of the integrator had kept.
        changes_derivatives: whether derivatives depend on regions or memory.
        machines: addresses of the blocks that decide, each a Machine (primitives/state_machines/rounds.py).
        x_decided: the state before they decide.
        event_bits: of each witness function what is due where it triggers, in an FMU: a bit beside those of the clocks.
        places_of_owners, places_of_events: of each witness function, where the state is in which it counts, and where
            it is noted that it has triggered; -1 without one.
    """

    now: WatchNow
    kept: Step
    step: int
    progress: int
    first: int
    direction: Integers
    full_direction: Integers
    updates: Integers
    block: Integers
    zero_band: Floats
    slope_before: Floats
    times: Floats2D
    num_times: Integers
    start: Floats
    armed_after: Floats
    level: Floats
    before: Floats
    after: Floats
    lefts: Floats
    rights: Floats
    values: Floats
    is_triggered: Integers
    is_candidate: Integers
    is_chosen: Integers
    has_start: Integers
    has_slope: Integers
    end_slopes: Floats
    start_slopes: Floats
    had_slope: Integers
    slopes_before: Floats
    bands_before: Floats
    slopes_of_triggers_before: Floats
    x_slopes_before: Floats
    x_start: Floats
    x_end: Floats
    x_right: Floats
    x_slopes: Floats
    xdot_kept: Floats
    x_near: Floats2D
    xdot_near: Floats2D
    time_near: Floats
    is_near: Integers
    regions: Floats
    regions_ahead: Floats
    tried: Floats2D
    block_of_region: Integers
    at_border: Integers
    signals: Floats
    signals_ahead: Floats
    rates: Floats
    flat: Floats
    places_of_values: Integers
    places_of_regions: Integers
    places_held: Integers
    places_of_locks: Integers
    places_of_signals: Integers
    places_moving: Integers
    places_of_rates: Integers
    places_of_ends: Integers
    memory_places: Integers
    memory_sizes: Integers
    memory_kept: Floats
    memory_rows: Integers
    kept_first: Integers
    kept_size: Integers
    method_kept: Floats
    bulk_kept: Floats
    changes_derivatives: int
    machines: Integers
    x_decided: Floats
    event_bits: Integers
    places_of_owners: Integers
    places_of_events: Integers


watch_at = record_at_address(Watch, in_python=lambda w: w)
