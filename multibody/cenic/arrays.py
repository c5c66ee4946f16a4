"""The arrays of an attempt of CenicIntegrator, by their numbers."""

from __future__ import annotations

__all__ = [
    "BLAMES",
    "COUNTS",
    "END",
    "FIRST_OF_PLANTS",
    "LENGTHS",
    "MIDDLE",
    "OF_A_PLANT",
    "PLACES",
    "PREDICTED",
    "RATES",
    "RATE_WEIGHTS",
    "RESPONSES",
    "ROOM",
    "SHORTEST",
    "SHORTEST_ERROR",
    "SHORTEST_H",
    "SHORTEST_PLACE",
    "SHORTEST_START",
    "SHORTEST_TIME",
    "START",
    "WEIGHTS",
    "WHOLE",
]

(
    COUNTS,  # how many plants there are, and of how many inputs follow the state
    WEIGHTS,  # of the numbers of a state in the norm, and
    RATE_WEIGHTS,  # those that are multiplied by h
    START,  # the state at the start
    WHOLE,  # after one step; all with quaternions of length 1
    MIDDLE,  # after half of it
    END,
    BLAMES,  # how often each number of the state had the largest error of an attempt that was refused
    SHORTEST,  # of these attempts: see below
    RATES,  # N v of plants at the start
    PREDICTED,  # the state with positions that have moved on with these
    ROOM,  # for derivatives
    SHORTEST_START,  # the state at the start of the shortest attempt that was refused
    FIRST_OF_PLANTS,  # then of each plant:
) = range(14)
(
    LENGTHS,  # of steps and of the last one, see ../contact/step_operation.py
    RESPONSES,  # table of ../contact/responses.py
    PLACES,  # see there
    OF_A_PLANT,  # how many
) = range(4)

# What SHORTEST holds.
SHORTEST_H, SHORTEST_TIME, SHORTEST_ERROR, SHORTEST_PLACE = range(4)
