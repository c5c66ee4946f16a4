"""Stages and statuses of a step, and flags of simultaneous events: for Python and for compiled loops."""

from __future__ import annotations

from merganser.framework.native.memory.tape import AGAIN

# Why no step follows, or a compiled loop ends: statuses of operations (framework/native/memory/tape.py), then:
(
    DONE,  # the boundary time is reached
    PAUSE,  # as many steps as were asked for are done
    STOPPED,  # as asked for by an event handler
    PYTHON_STEP,  # the step that begins now is left to Python
    PYTHON_UPDATES,  # the rest of the updates that are due is left to Python
    PYTHON_PUBLISH,  # the rest of the publish events at the end of the step that has just been taken is left to Python
) = range(AGAIN + 1, AGAIN + 7)
READ_AGAIN = AGAIN + 7  # of a handler that has changed what the events after it read

# Where a step is, see simulation/steps.py.
(
    UPDATING,  # a step begins, with the updates that are pending
    COMMITTING,  # updates are made that have been computed
    STEPPING,  # time passes
    WATCHING,  # the same, in a step that Python takes for a compiled loop
    ENDING,  # the step has ended
    PUBLISHING,
    UPDATING_IN_PYTHON,  # Python makes the updates that are pending, for a compiled loop
) = range(7)

# Flags of simultaneous events, and of a group of them in a compiled loop.
HAS_UPDATES = 1  # of the phase of discrete updates
HAS_NATIVE_UPDATES = 2
HAS_PUBLISHES = 4
HAS_NATIVE_PUBLISHES = 8
HAS_LOGS = 16
IS_LEFT_TO_PYTHON = 32  # all updates of the group: among them are unrestricted ones in Python
HAS_STATE_UPDATES = 64
CHANGES_DERIVATIVES = 128  # whether the time derivatives depend on what the updates change
HAS_DISCRETE_UPDATES = 256  # among the updates are discrete ones
HAS_JOINING_UPDATES = 512  # and unrestricted ones that join them, in a group as operations
