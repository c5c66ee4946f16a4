"""What compiled Radau steps keep between calls: the fields of two arrays, one of integers and one of floats."""

from __future__ import annotations

import itertools

# What comes next. First what a call begins with: an attempt, or derivatives that have been computed
(
    BEGIN,
    START,  # at the start of the step
    COLUMN,  # for a column of a Jacobian
    STAGE,  # at a stage
    END,  # at the end of the step, where a Jacobian for one iteration is wanted
    FILTER,  # for the error estimate, a second time through the filter
    RESTORE,  # or to return all that is kept to what it was before the step in progress, which will be taken anew;
    # then what goes on without a return:
    SOLVE,  # the equations of the step are to be solved
    JACOBIAN,  # a Jacobian is to be computed
    FACTOR,  # the matrices of the iterations are to be factored
    ITERATION,  # an iteration begins
    CHANGE,  # the derivatives at all stages are known
    RETRY,  # the iterations have failed
    CONCLUDE,  # the stages are found
) = range(14)

# What a Jacobian is for.
(
    FOR_STEPS,  # iterations of this step and of later ones
    FOR_ITERATION,  # one iteration
    FOR_FILTER,  # the error estimate only
) = range(3)

# What the caller is asked for.
(
    NOTHING,  # the step goes on
    DERIVATIVES_HERE,  # derivatives; time and state have not been changed since the last call
    DERIVATIVES,  # derivatives at the time and state that have been set
    OVER,  # nothing more: the attempt is over
) = range(4)

# Counts, of the result and of the error estimate, in the order of NewtonCounts.
EVALUATIONS, JACOBIANS, EVALUATIONS_FOR_JACOBIANS, FACTORIZATIONS, ITERATIONS = range(5)
NUM_COUNTS = 2 * 5

_number = itertools.count()
# Fields of integers. First what the caller says about an attempt:
PHASE = next(_number)
KNOWS_START = next(_number)  # whether the derivatives at the start of the step are known
KEEPS_COUNTS = next(_number)  # whether what has been counted goes on to count when all else is restored
WANTED = next(_number)  # what the caller is asked for
# then where it stands:
STAGE_NUMBER = next(_number)
ITERATION_NUMBER = next(_number)
COLUMN_NUMBER = next(_number)  # of a Jacobian
IS_DOWN = next(_number)  # whether the lower one of two differences is computed
PURPOSE = next(_number)  # of a Jacobian
IS_NEW = next(_number)  # whether the Jacobian has been computed in this step
IS_J_SAVED = next(_number)  # whether J_BEFORE is what J was before the step
HAS_LOST_FACTORS = next(_number)  # whether LU_REAL, LU_COMPLEX are not what the fields say
HAS_LOST_FILTER = next(_number)  # and LU_FILTER
# What stays from step to step, and, in the same order, what it was before the step in progress:
KEPT = HAS_J = next(_number)
J_NUMBER = next(_number)  # counts Jacobians
FACTORED_FOR = next(_number)  # number of the Jacobian in LU_REAL, LU_COMPLEX
FILTERED_FOR = next(_number)  # and of that in LU_FILTER
IS_SLOW = next(_number)  # whether iterations converge too slowly for J to be used in the next step
COUNTS = next(_number)
ERROR_COUNTS = COUNTS + NUM_COUNTS // 2
NUM_KEPT = COUNTS + NUM_COUNTS - KEPT
SAVED = KEPT + NUM_KEPT
_number = itertools.count(SAVED + NUM_KEPT)
# Settings:
IS_FIXED_STEP = next(_number)
IS_FULL_NEWTON = next(_number)
REUSES_JACOBIAN = next(_number)
IS_CENTRAL = next(_number)
# The problem and the method:
NUM_STATES = next(_number)
NUM_STAGES = next(_number)
HAS_REAL = next(_number)  # whether there is a real eigenvalue
HAS_COMPLEX = next(_number)  # whether there is a pair of complex ones
# Addresses of arrays:
REALS = next(_number)  # the fields of floats
VALUES = next(_number)  # the flat array of the Context: time, continuous state, its derivatives, ...
METHOD = next(_number)  # constants of the method: the rows below, of NUM_STAGES each
METHOD_COMPLEX = next(_number)
X_START = next(_number)  # state at the start of the step, shape [n]
XDOT_START = next(_number)
Z = next(_number)  # changes of the state up to the stages, shape [stages, n]; after a step, those of the step
Z_BEFORE = next(_number)  # those of the last step
Z_GUESS = next(_number)
F = next(_number)  # derivatives at the stages
X_TRIED = next(_number)  # where the last step tried went
X_BASE = next(_number)  # where a Jacobian is computed
XDOT_BASE = next(_number)
WORK = next(_number)  # shape [n]
WORK_COMPLEX = next(_number)
J = next(_number)  # Jacobians are kept by columns: J[j, i] = d xdot_i / d x_j
J_BEFORE = next(_number)
J_ITERATION = next(_number)  # the one for one iteration
LU_REAL = next(_number)
LU_COMPLEX = next(_number)
LU_FILTER = next(_number)
PIVOTS_REAL = next(_number)
PIVOTS_COMPLEX = next(_number)
PIVOTS_FILTER = next(_number)
NUM_INTEGERS = next(_number)

_number = itertools.count()
# Fields of floats.
TIME = next(_number)  # at the start of the step [s]
H = next(_number)  # size of the step [s]
ACCURACY = next(_number)
ERROR = next(_number)  # the outcome of an attempt, see IntegratorBase._step
TOLERANCE = next(_number)  # of the iterations
SIZE_BEFORE = next(_number)  # of the change in the last iteration
STEP_UP = next(_number)  # difference by which a state variable has been changed
H_BEFORE = next(_number)  # size of the last step; 0 if it says nothing about this one [s]
GAMMA_0 = next(_number)
# What stays from step to step, and what it was before:
KEPT_REALS = H_TRIED = next(_number)  # size of the last step tried; 0 if its equations could not be solved
H_LINEARIZED = next(_number)  # size of the step that J was computed for
H_FACTORED = next(_number)  # size of the step in LU_REAL, LU_COMPLEX
H_FILTERED = next(_number)  # and in LU_FILTER
RATE = next(_number)  # the last theta of the iterations
NUM_KEPT_REALS = RATE + 1 - KEPT_REALS
SAVED_REALS = KEPT_REALS + NUM_KEPT_REALS
NUM_REALS = SAVED_REALS + NUM_KEPT_REALS

# Rows of METHOD; those of METHOD_COMPLEX are the first three.
(
    LAMBDA,  # the eigenvalue, once
    T_INVERSE,  # row of T^-1 that belongs to it
    T_COLUMN,  # column of T, twice that if it stands for two conjugates
    C,
    E,
    EXTRAPOLATION,  # inverse of the matrix c_i^k: as many rows as there are stages
) = range(6)

# A state that differs by no more than this share from where the last step went (unit quaternions were scaled) goes on
# from there.
SAME_STATE = 1e-9
