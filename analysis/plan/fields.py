"""What the loop of a plan keeps between calls: the fields of arrays of integers and floats."""

from __future__ import annotations

import itertools

from merganser.framework.native.memory.tape import AGAIN

# Why the loop ends: what operations come to (framework/native/memory/tape.py), then:
(
    DONE,  # the boundary time is reached
    PAUSE,  # as many steps as were asked for are done
    STOPPED,  # as asked for by an event handler
    PYTHON_STEP,  # the step that begins now is left to Python
    PYTHON_UPDATES,  # the rest of the updates that are due is left to Python
    PYTHON_PUBLISH,  # the rest of the publish events at the end of the step that has just been taken is left to Python
) = range(AGAIN + 1, AGAIN + 7)
READ_ANEW = AGAIN + 7  # what a handler comes to that has changed what the events after it read

# Where the loop is.
(
    UPDATING,  # a step begins, with the updates that are pending
    STEPPING,  # time passes
    WATCHING,  # time passes, in a step that Python takes
    ENDING,  # the step has ended: which events are due?
    PUBLISHING,
    UPDATING_IN_PYTHON,  # Python makes the updates that are pending
) = range(6)

_number = itertools.count()
# Fields of integers. First what changes:
PLACE = next(_number)  # where the loop is
HANDLED = next(_number)  # how many operations of the events in progress need not be done again
RETURNED = next(_number)  # number of the operation of the handler that has returned last; -1 if none has
PENDING = next(_number)  # group of events that are due; -1 if there are none
DUE = next(_number)  # which events are due at NEXT_TIME, see EventSchedule.step_events
CHANGED = next(_number)  # since Python last looked: bit 0 for time and continuous state, others for updates of groups
NEEDS_ALL = next(_number)  # whether something but time and continuous state has changed since the last derivatives
STATE_IS_UPDATED = next(_number)  # whether the unrestricted updates of the group that is pending have been made
HAS_UPDATED = next(_number)  # whether updates have been made since the last step that was watched
HAS_EFFECT = next(_number)  # whether an event of the group in progress had something to do
MUST_STOP = next(_number)  # whether to stop once the events in progress are done
STEPS_LEFT = next(_number)  # until the loop pauses
ROOM_IN_LOGS = next(_number)  # samples for which every log has room
IS_OUT_OF_DATE = next(_number)  # whether the program is to be made again after the events in progress
NUM_STEPS = next(_number)  # counts since the loop was entered
NUM_STATE_UPDATES = next(_number)
NUM_UPDATES = next(_number)
NUM_PUBLISHES = next(_number)
# The problem:
STEP = next(_number)  # address of the integrator's integers (integrators/step_fields.py)
TAKE_STEP = next(_number)  # kernel that takes its steps
ALL_BEGIN = next(_number)  # operations that compute the derivatives: all of them
ALL_END = next(_number)
STAGE_BEGIN = next(_number)  # those that depend on time or continuous state
STAGE_END = next(_number)
NUM_CLOCKS = next(_number)
NUM_NOTIFICATIONS = next(_number)
# Addresses of arrays:
REALS = next(_number)  # the fields of floats
VALUES = next(_number)  # the flat array of the Context: time, continuous state, its derivatives, ...
OPERATIONS = next(_number)  # address of the list of operations
FAILURE = next(_number)  # where an exception goes that a function of Python has raised
GROUPS = next(_number)  # shape [number of groups, GROUP_SIZE]
PLACES_OF_GROUPS = next(_number)  # where a group is found by its clocks: its number + 1 or 0, see group_place()
LAST_PLACE = next(_number)  # the last index there, a power of 2 minus 1
CLOCKS = next(_number)  # see clocks.py
NOTIFICATIONS = next(_number)  # see ArrivalWatch
WATCH = next(_number)  # when to look for signals, see below
LOOK = next(_number)  # functions of Python: looks for signals and shows progress
ADD_GROUP = next(_number)  # adds the group of the clocks in DUE
MAKE_ROOM = next(_number)  # makes room in logs
UPDATE_IN_PYTHON = next(_number)  # makes the updates of a group that is left to Python
TAKE_WATCHED_STEP = next(_number)  # takes a step and watches witness functions; 0 if there are none
NUM_INTEGERS = next(_number)

_number = itertools.count()
# Fields of floats.
BOUNDARY = next(_number)  # time where the advance ends [s]
NEXT_TIME = next(_number)  # when clocks strike next, or a witness function has triggered
NUM_REALS = next(_number)

_number = itertools.count()
# A third array, of integers, says how long the loop may run before Python looks for signals and shows progress.
SECONDS = next(_number)  # what the clock of the C library shows: seconds, then nanoseconds
NANOSECONDS = next(_number)
GET_TIME = next(_number)  # address of that clock; 0 if there is none
WHICH_CLOCK = next(_number)
PASSES = next(_number)  # how many times to pass by without a look at the clock
PASSES_LEFT = next(_number)
LAST_LOOK = next(_number)  # when it was last looked at [ns]
SLICE_END = next(_number)  # when to look for signals [ns]; 0: count from now on
NUM_WATCH = next(_number)
MOST_PASSES = 64

# Columns of a group: simultaneous events. Lists of operations are given by begin and end.
_number = itertools.count()
GROUP_CLOCKS = next(_number)  # bits of the clocks that strike together
GROUP_FLAGS = next(_number)
STATE_INPUTS_BEGIN = next(_number)
STATE_INPUTS_END = next(_number)
STATE_BEGIN = next(_number)
STATE_END = next(_number)
STATE_COMMIT_BEGIN = next(_number)
STATE_COMMIT_END = next(_number)
UPDATE_INPUTS_BEGIN = next(_number)
UPDATE_INPUTS_END = next(_number)
UPDATE_BEGIN = next(_number)
UPDATE_END = next(_number)
COMMIT_BEGIN = next(_number)
COMMIT_END = next(_number)
PUBLISH_INPUTS_BEGIN = next(_number)
PUBLISH_INPUTS_END = next(_number)
PUBLISH_BEGIN = next(_number)
PUBLISH_END = next(_number)
GROUP_SIZE = next(_number)

# Flags of a group.
HAS_UPDATES = 1  # of the phase of discrete updates
HAS_NATIVE_UPDATES = 2
HAS_PUBLISHES = 4
HAS_NATIVE_PUBLISHES = 8
HAS_LOGS = 16
IS_LEFT_TO_PYTHON = 32  # all updates of the group: among them are unrestricted ones in Python
HAS_STATE_UPDATES = 64
CHANGES_DERIVATIVES = 128  # whether the time derivatives depend on what the updates change
HAS_DISCRETE_UPDATES = 256  # among the updates are discrete ones
HAS_JOINING_UPDATES = 512  # among the updates are unrestricted ones that join the discrete ones, all of them operations

SLICE = 10_000_000  # how long the loop runs before Python looks for signals [ns]

# The bits of CHANGED: bit 0 for time and continuous state, then one for each group; the last serves all that remain.
FIRST_GROUP_BIT = 1
LAST_GROUP_BIT = 61
