"""The arrays of an attempt of CenicIntegrator."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.problem import arrays_of_method
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import RecordOf

__all__ = ["CenicArrays", "PlantArrays", "arrays_of", "refused_dtype"]

refused_dtype = np.dtype(
    [
        ("h", np.float64),  # size of the attempt [s]; 0 if none was refused
        ("time", np.float64),  # where it began [s]
        ("error", np.float64),
        ("place", np.float64),  # of the number of the state with the largest error
    ]
)


class PlantArrays(NamedTuple):
    """What an attempt has of a plant.

    Attributes:
        lengths: of steps and of the last one, see ../contact/step_operation.py.
        responses, places: see ../contact/responses.py.
    """

    lengths: Floats
    responses: FloatTable
    places: Integers


class CenicArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        num_following: how many inputs follow the state, one element.
        weights, rate_weights: of the numbers of a state in the norm; the latter are multiplied by h.
        start: the state at the start.
        whole, middle, end: after one step, half of it, and its second half; all with quaternions of length 1.
        blames: how often each number of the state had the largest error of an attempt that was refused.
        shortest, shortest_start: the shortest of these attempts, and the state at its start.
        rates: N v of plants at the start.
        predicted: the state with positions that have moved on with these.
        xdot: workspace for derivatives.
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
    rates: Floats
    predicted: Floats
    xdot: Floats
    plants: tuple[PlantArrays, ...]


arrays_of = arrays_of_method(CenicArrays)
