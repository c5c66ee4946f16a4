"""CenicIntegrator: continuous plants with contact, advanced by discrete steps whose size follows from an accuracy."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import IntegratorBase
from merganser.framework import Context, System
from merganser.framework.common.records import settings
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.scalars import numeric_scalars
from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.multibody.cenic.arrays import CenicArrays, refused_dtype
from merganser.multibody.cenic.attempt import try_contact_step
from merganser.multibody.cenic.moved_plants import MovedPlant, moved_plants
from merganser.multibody.cenic.step_report import describe_step_sizes


@settings
@dataclasses.dataclass(kw_only=True)
class IcfSolverParameters:
    """The parameters of the convex solver of `CenicIntegrator`.

    The solver is that of discrete plants, which always searches exactly along a direction, takes the Hessian of each
    point, and factors it along the trees. So only the first two numbers have an effect; the others are there because
    programs for pydrake set them.

    Attributes:
        max_iterations: of Newton's method, of each island of bodies that touch.
        min_tolerance: of the momentum, relative; the tolerance in use follows the accuracy, and is no less than this.
        enable_hessian_reuse: no effect.
        hessian_reuse_target_iterations: no effect.
        use_dense_algebra: no effect.
        max_linesearch_iterations: no effect.
        linesearch_tolerance: no effect.
        alpha_max: no effect.
        print_solver_stats: no effect; see `IntegratorBase.GetStatisticsSummary` for counts.
    """

    max_iterations: int = 100
    min_tolerance: float = 1e-8
    enable_hessian_reuse: bool = False
    hessian_reuse_target_iterations: int = 10
    use_dense_algebra: bool = False
    max_linesearch_iterations: int = 100
    linesearch_tolerance: float = 1e-8
    alpha_max: float = 1.0
    print_solver_stats: bool = False

    def check(self) -> None:
        """Raises ValueError if a number that has an effect is out of range."""
        if not self.max_iterations >= 1:
            raise ValueError(f"IcfSolverParameters: max_iterations must be at least 1, got {self.max_iterations}.")
        if not (self.min_tolerance > 0.0 and math.isfinite(self.min_tolerance)):
            raise ValueError(f"IcfSolverParameters: min_tolerance must be positive, got {self.min_tolerance}.")


Array = NDArray[Any]

_SOLVED = 1e-3  # of the accuracy: tolerance of the solver
_LOOSEST = 1e-6  # tolerance, that of discrete plants
_RELAXATION = 1e-3  # of the errors of rigid constraints, with error control [s]


class CenicIntegrator(IntegratorBase):
    """Advances continuous plants with contact by convex steps, whose sizes follow from the accuracy.

    With S_h(t, x) the step of length h that a discrete plant takes with the Lagged approximation, each step is

        x^  = S_h(t, x)                                                            (1)
        x_1 = S_h/2(t, x),   x_2 = S_h/2(t + h/2, x_1)                             (2)
        e   = max(|q_2 - q^|, h |v_2 - v^|, |z_2 - z^|)                            (3)
        x+  = 2 x_2 - x^                                                           (4)

    and is accepted where e is no more than the accuracy. (4) is of order 2 where the motion is smooth (Richardson's
    extrapolation). In (3) a velocity counts by the way that it makes in the step: so impacts, where velocities jump,
    ask for no steps without end; numbers of quaternions count twice, as angles. z is all continuous state but that of
    the plants, which Euler steps advance. In fixed-step mode a step is (1) alone.

    Steps are convex problems, which always have a solution. Joint damping, PD controllers of actuators, limits,
    constraints and contact act in them as they are at the end. So does what comes through input ports and follows the
    state of the plant, by a diagonal linearization that is projected to be stable, within effort limits (contact/
    linearized_inputs.py); what does not follow it acts as it is at the start.

    After a step, output ports that follow from forces show the last part of (2): contact results, reaction forces and
    accelerations belong together, as those of a discrete plant do. What blocks ask of a plant while a step is made is
    the current forces. `DescribeStepSizes` says what made steps short.

    Systems of AutoDiffXd are moved by the same steps, beyond pydrake. Derivatives are those of (1), (2) and (4), each
    S_h by the implicit function theorem, with lengths of steps that depend on nothing: what chooses them are values.
    Inputs that follow the state of the plant are refused there.

    Args:
        system: the system to integrate, a plant or a diagram with continuous plants, at any depth.
        context: where its values are; if it is not given here, call `reset_context` before integrating.

    Raises:
        ValueError: there is no continuous plant in the system.
        TypeError: it is a system of neither floats nor AutoDiffXd.

    Sources: V. Kurtz, A. Castro, CENIC: Convex Error-controlled Numerical Integration for Contact (2025), sections V
    and VI, for (1) to (3) but for the norm; A. Castro, X. Han, J. Masterjohn, Irrotational Contact Fields (2023), for
    S; E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.4, for (4).
    """

    attempt = try_contact_step
    operations = {"step": True, "inputs": False}
    made_for_context = IntegratorBase.made_for_context | {
        "_blames", "_moved", "_shortest", "_shortest_start", "_tolerances",
    }  # fmt: skip

    def __init__(self, system: System, context: Context | None = None) -> None:
        self._parameters = IcfSolverParameters()
        self._moved: list[MovedPlant] = []
        self._tolerances: tuple[Any, ...] = ()
        self._blames, self._shortest_start = np.zeros(0, np.int64), np.zeros(0)
        self._shortest: Any = np.zeros(1, refused_dtype)[0]
        self._num_following = np.zeros(1, np.int64)  # inputs of plants that follow their state
        if isinstance(system, System) and scalar_of(system) not in numeric_scalars():
            raise TypeError(
                f"CenicIntegrator: system '{system.GetSystemPathname()}' is one of {scalar_of(system).__name__}; only "
                "systems of floats and of AutoDiffXd can be moved by steps of contact."
            )
        super().__init__(system, context)

    def supports_error_estimation(self) -> bool:
        return True

    def get_error_estimate_order(self) -> int:
        return 2

    def reset_context(self, context: Context) -> None:
        self.get_system().ValidateContext(context)
        moved = moved_plants(self.get_system(), context)
        super().reset_context(context)
        self._moved, self._tolerances = moved, ()

    def Initialize(self) -> None:
        super().Initialize()
        self._make_ready()

    def begin_advance(self) -> None:
        super().begin_advance()
        self._make_ready()

    def _make_ready(self) -> None:
        """Prepares some steps: finds the inputs of plants that depend on their state, and reads settings."""
        self._set_tolerances()
        for plant in self._moved:
            plant.steps.look_at_inputs()
        self._num_following[:] = sum(plant.steps.follow() for plant in self._moved)

    # ------------------------------------------------------------------ the solver

    def get_solver_parameters(self) -> IcfSolverParameters:
        """The parameters of the convex solver."""
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

    def _set_tolerances(self) -> None:
        """Sets the tolerance of the solver by the accuracy; fixed steps are solved as those of discrete plants.

        What is left of a step of that length by an event, however short, has relaxation times as the others.
        """
        parameters, tolerance, relaxation = self._parameters, _LOOSEST, 2.0 * self.get_maximum_step_size()
        has_control = not self.get_fixed_step_mode()
        if has_control:
            tolerance = max(min(_SOLVED * self.get_accuracy_in_use(), _LOOSEST), parameters.min_tolerance)
            relaxation = _RELAXATION
        solved = tolerance, parameters.max_iterations, relaxation, has_control
        tolerances = *solved, *(plant.stiction_tolerance() for plant in self._moved)
        if tolerances != self._tolerances:
            for plant in self._moved:
                plant.solve_to(*solved)
            self._tolerances = tolerances

    # ------------------------------------------------------------------ steps

    def _make_arrays(self, n: int, dtype: Any) -> CenicArrays:
        blames, shortest = np.zeros(n, np.int64), np.zeros(1, refused_dtype)[0]
        weights, rate_weights = np.ones(n), np.zeros(n)
        start, whole, middle, end, predicted, shortest_start = (np.zeros(n, dtype) for _ in range(6))
        for q in self.get_context().layout.root.unit_quaternions:
            weights[q : q + 4] = 2.0
        for plant in self._moved:
            weights[plant.velocities], rate_weights[plant.velocities] = 0.0, 1.0
            plant.steps.end = end[plant.state]
        self._blames, self._shortest, self._shortest_start = blames, shortest, shortest_start
        return CenicArrays(
            self._num_following, weights, rate_weights, start, whole, middle, end, blames, shortest, shortest_start,
            predicted, tuple(plant.arrays() for plant in self._moved),
        )  # fmt: skip

    # ------------------------------------------------------------------ reports

    def ResetStatistics(self) -> None:
        super().ResetStatistics()
        for plant in self._moved:
            plant.steps.counts[:] = 0
        self._blames[:], self._shortest["h"] = 0, 0.0

    def _summary(self) -> list[tuple[str, float]]:
        counts = sum((plant.steps.counts for plant in self._moved), np.zeros(2, np.int64)).tolist()
        return [
            ("cenic_total_solver_iterations", counts[0]),
            ("cenic_total_hessian_factorizations", counts[0]),
            ("cenic_total_ls_iterations", counts[1]),
        ]

    def DescribeStepSizes(self) -> str:
        """Describes what made steps short: how many were refused for which coordinates, and in which contact.

        The contact is that of the shortest attempt that was refused, which is made once more in a copy of the Context.

        Raises:
            RuntimeError: before Initialize().
        """
        if not self.is_initialized():
            raise RuntimeError("CenicIntegrator.DescribeStepSizes() is called before Initialize().")
        return describe_step_sizes(
            self._moved, self.get_context(), self._blames, self._shortest, self._shortest_start,
            self.get_num_steps_taken(),
        )  # fmt: skip


CenicIntegrator_ = ValueTemplate(CenicIntegrator, numeric_scalars)
