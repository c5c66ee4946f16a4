"""The arrays of implicit methods."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.step_state import StepProblem
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import COMPLEX, ArrayOf, Complexes, RecordOf, record_behind

ComplexTable = Annotated[Any, ArrayOf(COMPLEX, 2)]

# All numbers are floats, as they are kept with others; booleans are 1.0 and 0.0.
knobs_dtype = np.dtype([(name, np.float64) for name in ("is_full_newton", "reuses_jacobian", "is_central")])
kept_dtype = np.dtype(
    [
        ("has_J", np.float64),  # whether there is a Jacobian that may be used
        ("J_number", np.float64),  # counts Jacobians
        ("is_new", np.float64),  # whether it has been computed in this step
        ("is_slow", np.float64),  # whether iterations converge too slowly for it to be used in the next step
        ("h_linearized", np.float64),  # size of the step that it was computed for
        ("h_tried", np.float64),  # size of the last step tried; 0 if its equations could not be solved
        ("h_before", np.float64),  # size of the last step; 0 if it says nothing about this one
        ("filtered_for", np.float64),  # number of the Jacobian in the factors for the error estimate
        ("h_filtered", np.float64),  # and the size of its step
    ]
)
factored_dtype = np.dtype(
    [
        ("J_number", np.float64),  # of the Jacobian in the factors; -1 before the first factorization
        ("h", np.float64),  # and the size of its step
        ("rate", np.float64),  # the last theta of the iterations
    ]
)


class RealEigenvalue(NamedTuple):
    """Equation (2) of newton.py for a real eigenvalue.

    Attributes:
        value: lambda, one element; 0 elements without one.
        T_inverse: row of T^-1 that belongs to it.
        T_column: column of T.
        lu, pivots: factors.
    """

    value: Floats
    T_inverse: Floats
    T_column: Floats
    lu: FloatTable
    pivots: Integers


class ConjugatePair(NamedTuple):
    """The same for two conjugate eigenvalues, by the upper one of them; its column of T is doubled, for both."""

    value: Complexes
    T_inverse: Complexes
    T_column: Complexes
    lu: ComplexTable
    pivots: Integers


class SolverArrays(NamedTuple):
    """Arrays that solve the equations of one collocation method.

    Attributes:
        real, pair: by eigenvalues.
        c, e, gamma_0: of the method, see collocation.py.
        extrapolation: inverse of the matrix c_i^k.
        z, z_guess: changes of the state up to the stages, shape [stages, n].
        xdot: derivatives at the stages.
        factored: what has been factored.
    """

    real: RealEigenvalue
    pair: ConjugatePair
    c: Floats
    e: Floats
    gamma_0: float
    extrapolation: FloatTable
    z: FloatTable
    z_guess: FloatTable
    xdot: FloatTable
    factored: Annotated[Any, RecordOf(factored_dtype)]


class NewtonArrays(NamedTuple):
    """Arrays of all solvers of a method; the arrays of a method begin with these.

    Attributes:
        knobs: settings.
        kept: what is kept from step to step.
        x_start, xdot_start: state and derivatives at the start of the step.
        offset: from the start of the step to where stages are counted from.
        change: workspace.
        x_base, xdot_base: where a Jacobian is computed.
        xdot_up, xdot_down: derivatives next to it.
        J: Jacobian by columns: J[j, i] = d xdot_i / d x_j.
        J_iteration: that for one iteration.
        residual, residual_complex: workspace.
    """

    knobs: Annotated[Any, RecordOf(knobs_dtype)]
    kept: Annotated[Any, RecordOf(kept_dtype)]
    x_start: Floats
    xdot_start: Floats
    offset: Floats
    change: Floats
    x_base: Floats
    xdot_base: Floats
    xdot_up: Floats
    xdot_down: Floats
    J: FloatTable
    J_iteration: FloatTable
    residual: Floats
    residual_complex: Complexes


newton_of = record_behind(StepProblem, "arrays", NewtonArrays, lambda p: p._arrays.newton)
