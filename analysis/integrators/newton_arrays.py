"""The arrays of implicit methods, by number, and what stands in them."""

from __future__ import annotations

import itertools

_number = itertools.count()
KNOBS = next(_number)  # see below
KEPT = next(_number)
X_START = next(_number)  # state and derivatives at the start of the step
XDOT_START = next(_number)
OFFSET = next(_number)  # from the start of the step to where stages are counted from
CHANGE = next(_number)  # room
X_BASE = next(_number)  # where a Jacobian is computed
XDOT_BASE = next(_number)
XDOT_UP = next(_number)  # room for derivatives next to it
XDOT_DOWN = next(_number)
J = next(_number)  # Jacobians stand by columns: J[j, i] = d xdot_i / d x_j
J_ITERATION = next(_number)  # that for one iteration
RESIDUAL = next(_number)  # room
RESIDUAL_COMPLEX = next(_number)
NUM_COMMON = next(_number)

_number = itertools.count()
# Those of one solver, counted from its first one.
METHOD = next(_number)  # rows of numbers of the method, see below
METHOD_COMPLEX = next(_number)
Z = next(_number)  # changes of the state up to the stages, shape [stages, n]
Z_GUESS = next(_number)
F = next(_number)  # derivatives at the stages
FACTORED = next(_number)  # see below
LU = next(_number)  # factors for the real eigenvalue
PIVOTS = next(_number)
LU_COMPLEX = next(_number)  # and for a complex one
PIVOTS_COMPLEX = next(_number)
NUM_OF_SOLVER = next(_number)

# Elements of KNOBS.
IS_FULL_NEWTON, REUSES_JACOBIAN, IS_CENTRAL = range(3)

# Of KEPT; booleans are 1.0 and 0.0.
(
    HAS_J,  # whether there is a Jacobian that may be used
    J_NUMBER,  # counts Jacobians
    IS_NEW,  # whether it has been computed in this step
    IS_SLOW,  # whether iterations converge too slowly for it to be used in the next step
    H_LINEARIZED,  # size of the step that it was computed for
    H_TRIED,  # size of the last step tried; 0 if its equations could not be solved
    H_BEFORE,  # size of the last step; 0 if it says nothing about this one
    FILTERED_FOR,  # number of the Jacobian in the factors for the error estimate
    H_FILTERED,  # and the size of its step
    NUM_KEPT,
) = range(10)

# Of FACTORED.
(
    FACTORED_FOR,  # number of the Jacobian in the factors
    H_FACTORED,  # and the size of its step
    RATE,  # the last theta of the iterations
    NUM_FACTORED,
) = range(4)

# Rows of METHOD; those of METHOD_COMPLEX are the first three.
(
    LAMBDA,  # the eigenvalue, once; 0 if there is none of this kind
    T_INVERSE,  # row of T^-1 that belongs to it
    T_COLUMN,  # column of T, twice that if it stands for two conjugates
    C,
    E,
    GAMMA_0,  # once
    EXTRAPOLATION,  # inverse of the matrix c_i^k: as many rows as there are stages
) = range(7)
