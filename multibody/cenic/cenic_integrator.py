"""CenicIntegrator: continuous plants with contact, advanced by discrete steps whose size follows from an accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import IntegratorBase
from merganser.framework import Context, Diagram, System
from merganser.multibody.cenic.attempt import END, START, try_contact_step
from merganser.multibody.cenic.solver_parameters import IcfSolverParameters
from merganser.multibody.plant import MultibodyPlant

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
    attempt = try_contact_step

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
        self._plants = _continuous_plants(self.get_system(), context)

    def _make_arrays(self, n: int, dtype: Any) -> list[Array]:
        context = self.get_context()
        weights, rate_weights = np.ones(n), np.zeros(n)
        first, _ = context.layout.xc_range
        for plant, own in self._plants:
            start, _ = own.layout.xc_range
            num_q, num_v = plant.num_positions(), plant.num_velocities()
            rates = slice(start - first + num_q, start - first + num_q + num_v)
            weights[rates], rate_weights[rates] = 0.0, 1.0
        for q in context.layout.root.unit_quaternions:
            weights[q : q + 4] = 2.0
        states = [np.zeros(n) for _ in range(4)]
        motions = [plant._dynamics.motion_in(own) for plant, own in self._plants]
        self._lengths = [motion.lengths for motion in motions]
        for motion, (_, own) in zip(motions, self._plants):
            start, end = own.layout.xc_range
            motion.end = states[END - START][start - first : end - first]
        return [np.array([len(self._plants)], np.int64), weights, rate_weights, *states, *self._lengths]

    def _attempt_step(self) -> int:
        """Tries a step in Python."""
        try:
            return super()._attempt_step()
        finally:  # an exception or an interrupt ends it
            for length in self._lengths:
                length[0] = 0.0


def _continuous_plants(system: System, context: Context) -> list[tuple[MultibodyPlant, Context]]:
    plants = [
        (leaf, leaf.GetMyContextFromRoot(context))
        for leaf in _leaves(system)
        if isinstance(leaf, MultibodyPlant) and not leaf.is_discrete()
    ]
    if not plants:
        raise ValueError(
            f"CenicIntegrator: system '{system.GetSystemPathname()}' has no continuous MultibodyPlant, so there is "
            "nothing that it could hold in contact. Give the plant the time step 0, or take another integrator."
        )
    return plants


def _leaves(system: System) -> Iterator[System]:
    if isinstance(system, Diagram):
        for part in system.GetSystems():
            yield from _leaves(part)
    else:
        yield system
