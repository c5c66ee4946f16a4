"""The arrays of an attempt of CenicIntegrator."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.problem import arrays_of_method
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.records_of_arrays import RecordOf

STEP, INPUTS = 1, 2  # numbers of operations, see CenicIntegrator.operations

refused_dtype = np.dtype(
    [
        ("h", np.float64),  # size of the attempt [s]; 0 if none was refused
        ("time", np.float64),  # where it began [s]
        ("error", np.float64),
        ("place", np.float64),  # of the number of the state with the largest error
    ]
)


class PlantArrays(NamedTuple):
    """A plant in an attempt.

    Attributes:
        first, num_q: where its state begins in that of the whole, and how many positions it has.
        arguments, slopes: of its operation "step", in the Context.
        sample: result of its operation "inputs", in the Context.
        columns, acted_on: see ../plant/step/variable_steps.py.
        before: the sample at the start of the step.
        by_velocity, by_position: (1) and (2) of attempt.py, of each input.
    """

    first: int
    num_q: int
    arguments: Floats
    slopes: Floats
    sample: Floats
    columns: Integers
    acted_on: Integers
    before: Floats
    by_velocity: Floats
    by_position: Floats


class CenicArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        num_following: how many inputs follow the state, one element.
        weights, rate_weights: of the numbers of a state in the norm; the latter are multiplied by h.
        start: the state at the start.
        whole, middle, end: after one step, half of it, and its second half; all with quaternions of length 1.
        blames: how often each number of the state had the largest error of an attempt that was refused.
        shortest, shortest_start: the shortest of these attempts, and the state at its start.
        predicted: a state in which inputs are sampled.
        plants: those that it moves.
    """

    num_following: Integers
    weights: Floats
    rate_weights: Floats
    start: Floats
    whole: Floats
    middle: Floats
    end: Floats
    blames: Integers
    shortest: Annotated[Any, RecordOf(refused_dtype)]
    shortest_start: Floats
    predicted: Floats
    plants: tuple[PlantArrays, ...]


arrays_of = arrays_of_method(CenicArrays)
