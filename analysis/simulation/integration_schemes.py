"""Integrators by name, as command lines and configurations give them."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from merganser.analysis.integrators import (
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    ImplicitEulerIntegrator,
    IntegratorBase,
    Radau1Integrator,
    Radau3Integrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    SemiExplicitEulerIntegrator,
    VelocityImplicitEulerIntegrator,
)
from merganser.analysis.simulation.simulator import Simulator
from merganser.framework import Context, System

__all__ = ["GetIntegrationSchemes", "ResetIntegratorFromFlags", "scheme_of"]

_FIXED_STEP: dict[str, Callable[[System, float, Context], IntegratorBase]] = {
    "explicit_euler": ExplicitEulerIntegrator,
    "runge_kutta2": RungeKutta2Integrator,
    "semi_explicit_euler": SemiExplicitEulerIntegrator,
}
_ERROR_CONTROLLED: dict[str, Callable[[System, Context], IntegratorBase]] = {
    "bogacki_shampine3": BogackiShampine3Integrator,
    "implicit_euler": ImplicitEulerIntegrator,
    "radau1": Radau1Integrator,
    "radau3": Radau3Integrator,
    "runge_kutta3": RungeKutta3Integrator,
    "runge_kutta5": RungeKutta5Integrator,
    "velocity_implicit_euler": VelocityImplicitEulerIntegrator,
}
# Those of packages above this one: where they are defined, and their names there.
_ELSEWHERE: dict[str, tuple[str, str]] = {"cenic": ("merganser.multibody.cenic", "CenicIntegrator")}


def GetIntegrationSchemes() -> list[str]:
    """The names that `ResetIntegratorFromFlags` knows, in alphabetical order."""
    return sorted([*_FIXED_STEP, *_ERROR_CONTROLLED, *_ELSEWHERE])


def scheme_of(integrator: IntegratorBase) -> str:
    """The name of an integrator's scheme.

    Raises:
        ValueError: it is none of those that have a name.
    """
    for name, kind in {**_FIXED_STEP, **_ERROR_CONTROLLED}.items():
        if type(integrator) is kind:
            return name
    for name, place in _ELSEWHERE.items():
        if (type(integrator).__module__.rpartition(".")[0], type(integrator).__name__) == place:
            return name
    raise ValueError(f"{type(integrator).__name__} is none of the integrators that have a scheme name.")


def ResetIntegratorFromFlags(simulator: Simulator, scheme: str, max_step_size: float) -> IntegratorBase:
    """Gives a simulator another integrator, with default settings; call `simulator.Initialize()` afterwards.

    Args:
        simulator: the simulator to change.
        scheme: one of `GetIntegrationSchemes()`.
        max_step_size: the longest step allowed, or the size of all steps of a method without error control [s].

    Returns:
        The new integrator, also found with `simulator.get_mutable_integrator()`.

    Raises:
        ValueError: there is no such scheme, or the step size is not positive; the simulator keeps its integrator.
    """
    if not isinstance(simulator, Simulator):
        raise TypeError(f"Expected a Simulator, got {type(simulator).__name__}.")
    system, context = simulator.get_system(), simulator.get_mutable_context()
    integrator: IntegratorBase
    if scheme in _FIXED_STEP:
        integrator = _FIXED_STEP[scheme](system, max_step_size, context)
    elif scheme in _ERROR_CONTROLLED or scheme in _ELSEWHERE:
        integrator = _class_of(scheme)(system, context)
        integrator.set_maximum_step_size(max_step_size)
    else:
        raise ValueError(f"Unknown integration scheme '{scheme}'. Known are {', '.join(GetIntegrationSchemes())}.")
    return simulator.reset_integrator(integrator)


def _class_of(scheme: str) -> Callable[[System, Context], IntegratorBase]:
    """The class of a method with error control."""
    if scheme in _ERROR_CONTROLLED:
        return _ERROR_CONTROLLED[scheme]
    module, name = _ELSEWHERE[scheme]
    found: Callable[[System, Context], IntegratorBase] = getattr(importlib.import_module(module), name)
    return found
