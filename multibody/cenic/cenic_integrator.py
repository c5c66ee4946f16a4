"""CenicIntegrator: continuous plants with contact, advanced by discrete steps whose size follows from an accuracy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import IntegratorBase
from merganser.analysis.integrators import step_fields as f
from merganser.analysis.integrators.problem import go_to, reals_of, state_of
from merganser.framework import Context, System
from merganser.framework.native.tape import SUCCEEDED
from merganser.multibody.cenic.motion import Motion
from merganser.multibody.cenic.solver_parameters import IcfSolverParameters

__all__ = ["CenicIntegrator"]

Array = NDArray[Any]


class CenicIntegrator(IntegratorBase):
    """Advances continuous plants with contact by convex steps, whose sizes follow from the accuracy.

    With S_h(t, x) the step of length h that a discrete plant takes with the Lagged approximation, from each start

        x^  = S_h(t, x)                                                            (1)
        x_1 = S_h/2(t, x),   x+ = S_h/2(t + h/2, x_1)                              (2)
        e   = max(|q+ - q^|, h |v+ - v^|, |z+ - z^|)                               (3)

    x+ is accepted where e is no more than the accuracy. A velocity counts by the way that it makes in the step: so
    an impact, where velocities jump, asks for no steps without end. z is all continuous state but that of the plants,
    which explicit Euler steps advance. In fixed-step mode a step is (1) alone.

    A step always has a solution, as its problem is convex; so no step is refused but for its error. Forces from input
    ports count as they are at the start of each step of (1) and (2); joint damping, PD controllers of actuators,
    limits, constraints and contact as they are at its end.

    Args:
        system: the system to integrate, a plant or a diagram with continuous plants, at any depth.
        context: where its values are; if it is not given here, call `reset_context` before integrating.

    Raises:
        ValueError: there is no continuous plant in the system.

    Sources: V. Kurtz and A. Castro, CENIC: Convex Error-controlled Numerical Integration for Contact (2025), sections
    V and VI; A. Castro, X. Han, J. Masterjohn, Irrotational Contact Fields (2023), for the steps.
    """

    default_accuracy = 1e-3
    most_compiled = 0.0

    def __init__(self, system: System, context: Context | None = None) -> None:
        self._parameters = IcfSolverParameters()
        super().__init__(system, context)

    def supports_error_estimation(self) -> bool:
        return True

    def get_error_estimate_order(self) -> int:
        return 2

    def get_solver_parameters(self) -> IcfSolverParameters:
        """The numbers of the convex solver."""
        return self._parameters

    def SetSolverParameters(self, parameters: IcfSolverParameters) -> None:
        """Sets the numbers of the convex solver.

        Raises:
            TypeError: they are no IcfSolverParameters.
            ValueError: one of them is out of range.
        """
        if not isinstance(parameters, IcfSolverParameters):
            raise TypeError(f"SetSolverParameters() takes IcfSolverParameters, got {type(parameters).__name__}.")
        parameters.check()
        self._parameters = parameters

    def reset_context(self, context: Context) -> None:
        super().reset_context(context)
        self._motion = Motion(self.get_system(), context)

    def _make_arrays(self, n: int, dtype: Any) -> list[Array]:
        self._start, self._whole, self._middle, self._end = (np.zeros(n, dtype) for _ in range(4))
        return []

    def _attempt_step(self) -> int:
        """Equations (1) to (3) of the class."""
        r, motion = reals_of(self), self._motion
        time, h = r[f.START], r[f.H]
        start, whole, middle, end = self._start, self._whole, self._middle, self._end
        start[:] = state_of(self)
        r[f.ERROR] = 0.0
        is_solved = motion.advance(h, start, whole)
        if self.get_fixed_step_mode():
            end[:] = whole
        elif is_solved:
            is_solved = motion.advance(0.5 * h, start, middle)
            if is_solved:
                go_to(self, time + 0.5 * h, middle)
                is_solved = motion.advance(0.5 * h, middle, end)
                r[f.ERROR] = motion.distance(h, end, whole)
        if not is_solved:
            r[f.ERROR] = math.inf
        else:
            go_to(self, time + h, end)
        return SUCCEEDED
