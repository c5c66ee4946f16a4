"""What an integrator keeps from step to step: the fields of two arrays, one of integers and one of floats.

The same two arrays serve steps in Python and in compiled code, so that one may go on where the other has stopped.
"""

from __future__ import annotations

import itertools

from merganser.framework.native.memory.tape import AGAIN

# What a step comes to, beside what operations come to (framework/native/memory/tape.py); it is not taken then.
(
    SHORTER,  # a shorter one is to be tried
    NOT_FINITE,  # a value is not finite, or the equations of the shortest step could not be solved
    INACCURATE,  # the error of the shortest step is too large
    TOO_FINE,  # steps are shorter than what time can resolve
    UNSOLVED,  # equations could not be solved
    MISFIT,  # an array of the method is not of the size of the state
) = range(AGAIN + 1, AGAIN + 7)

_number = itertools.count()
# Integers. First settings:
IS_FIXED_STEP = next(_number)
THROWS = next(_number)  # whether an error of the shortest step that is too large is refused
IS_SINGLE = next(_number)  # whether no shorter step is to be tried
IS_RECORDED = next(_number)  # whether dense output is
# where the step in progress stands:
IS_LAST = next(_number)  # whether it may end at TARGET; afterwards, whether it does
IS_CUT_SHORT = next(_number)  # whether TARGET cuts it to much less than was wanted
KNOWS_START = next(_number)  # whether XDOT_START are the derivatives at its start
IS_CURRENT = next(_number)  # whether the derivatives in the Context are those of its time and state
WAS_CURRENT = next(_number)  # the same, when the step began
HAS_MOVED = next(_number)  # whether time or state have changed since this was last set to 0
IS_STEPPING = next(_number)  # whether attempts are being made
IS_MISFIT = next(_number)  # whether one has been found to use an array of a wrong size
IS_BULK_SAVED = next(_number)  # whether BULK_BEFORE is what BULK was at the start of the step
# counts:
NUM_STEPS = next(_number)
COUNTED = NUM_EVALUATIONS = next(_number)  # of derivatives
NUM_SHRINKAGES = next(_number)  # steps made shorter because of their errors
NUM_FAILURES = next(_number)  # and for other reasons
COUNTS = next(_number)  # of implicit methods for the result, see below, then those for the error estimate
ERROR_COUNTS = COUNTS + 5
NUM_COUNTED = COUNTS + 10 - COUNTED
BEFORE = COUNTED + NUM_COUNTED  # all from COUNTED on at the start of the step
_number = itertools.count(BEFORE + NUM_COUNTED)
# the problem and the method:
NUM_STATES = next(_number)
NUM_QUATERNIONS = next(_number)  # of length 1 in the state
NUM_BREAKS = next(_number)  # times where what the derivatives depend on is not smooth
ERROR_ORDER = next(_number)
# addresses for compiled code; kernels take the one argument that is named:
VALUES = next(_number)  # the flat array of the Context: time, continuous state, its derivatives, ...
REALS = next(_number)  # the floats below
ATTEMPT = next(_number)  # kernel that tries a step, of the array of integers
RECORD = next(_number)  # function of Python that records dense output
IN_PYTHON = next(_number)  # function of Python that computes the derivatives
WAY = EVALUATE = next(_number)  # kernel that computes the derivatives, of EVALUATOR
EVALUATOR = next(_number)
FAILURE = next(_number)  # where an exception of functions of Python goes
CHANGING = next(_number)  # what the derivatives depend on: bits WITH_TIME, WITH_STATE
END_OF_WAY = CHANGING + 1
X_START = next(_number)  # state at the start of the step
XDOT_START = next(_number)
QUATERNIONS = next(_number)  # where they start in the state
BREAKS = next(_number)  # each break, in increasing order, and a time just before it [s]
MEMORY = next(_number)  # numbers that the method keeps from step to step
MEMORY_BEFORE = next(_number)  # what they were at the start of the step
MEMORY_SIZE = next(_number)
BULK = next(_number)  # more such numbers, which change in few steps only, and are saved just before
BULK_BEFORE = next(_number)
BULK_SIZE = next(_number)
# arrays: address, number of rows (1 if there is one dimension) and of columns of each:
STATE = next(_number)  # in the Context
XDOT_END = STATE + 3  # room for the derivatives at the end of the step
ARRAYS = XDOT_END + 3  # those of the method
MOST_ARRAYS = 48  # of compiled attempts; those with more are left to Python
NUM_INTEGERS = ARRAYS + 3 * MOST_ARRAYS

_number = itertools.count()
# Floats.
START = next(_number)  # time at the start of the step [s]
TARGET = next(_number)  # where it is to end at the latest [s]
END = next(_number)  # the time that TARGET stands for: where that is just before a break, the break [s]
ROOM = next(_number)  # longest step that may be taken now [s]
H = next(_number)  # size of the step in progress [s]
ERROR = next(_number)  # largest estimated error of a state variable; nan: not finite, inf: equations were not solved
ACCURACY = next(_number)
MAX_STEP_SIZE = next(_number)
MIN_STEP_SIZE = next(_number)
WANTED_FIRST = next(_number)  # size of the first step, as far as the limits allow it
IDEAL_STEP_SIZE = next(_number)
IDEAL_BEFORE = next(_number)  # the same at the start of the step
PREVIOUS_STEP_SIZE = next(_number)
LARGEST_STEP_SIZE = next(_number)
SMALLEST_STEP_SIZE = next(_number)
FIRST_STEP_SIZE = next(_number)
NUM_REALS = next(_number)

WITH_TIME, WITH_STATE = 1, 2

# What is counted from COUNTS and from ERROR_COUNTS on.
EVALUATIONS, JACOBIANS, EVALUATIONS_FOR_JACOBIANS, FACTORIZATIONS, ITERATIONS = range(5)
