"""The templates `Foo_` of this package: `Simulator_[AutoDiffXd]` simulates systems of AutoDiffXd."""

from __future__ import annotations

from typing import Any

from merganser.analysis.integrators import IntegratorBase, RungeKutta2Integrator, RungeKutta3Integrator
from merganser.analysis.simulation.simulator import Simulator
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.scalars import scalar_named
from merganser.framework.core.scalars.templates import ValueTemplate


def _numeric_scalars() -> tuple[type[Any], ...]:
    """All scalar types whose values decide how long a step may be."""
    return float, scalar_named("AutoDiffXd")


def _all_scalars() -> tuple[type[Any], ...]:
    """Steps of fixed size are for expressions, too."""
    return *_numeric_scalars(), scalar_named("Expression")


def _scalar_of(stepper: Any) -> type[Any]:
    return scalar_of(stepper.get_system())


def _checked(stepper: Any, T: type[Any]) -> Any:
    system = stepper.get_system()
    if scalar_of(system) is not T:
        raise TypeError(
            f"{type(stepper).__name__}_[{T.__name__}] takes systems of this scalar type; system "
            f"'{system.GetSystemPathname()}' is one of {scalar_of(system).__name__}. Convert it with "
            f"system.ToScalarType[{T.__name__}]()."
        )
    return stepper


Simulator_ = ValueTemplate(Simulator, _scalar_of, _checked, _numeric_scalars)
IntegratorBase_ = ValueTemplate(
    IntegratorBase, _scalar_of, _checked, _all_scalars  # type: ignore[type-abstract]
)
RungeKutta2Integrator_ = ValueTemplate(RungeKutta2Integrator, _scalar_of, _checked, _all_scalars)
RungeKutta3Integrator_ = ValueTemplate(RungeKutta3Integrator, _scalar_of, _checked, _numeric_scalars)
