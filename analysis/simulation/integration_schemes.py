"""Integrators by name, as command lines and configurations give them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

import merganser
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


def GetIntegrationSchemes() -> list[str]:
    """The names that `ResetIntegratorFromFlags` knows, in alphabetical order."""
    return sorted([*_FIXED_STEP, *_ERROR_CONTROLLED, *_of_packages()])


def _of_packages() -> dict[str, str]:
    """Schemes with error control that packages above this one list: where their classes are, by name."""
    packages = [importlib.import_module(f"merganser.{name}") for name in merganser.PACKAGES]
    return {name: place for each in packages for name, place in vars(each).get("INTEGRATION_SCHEMES", {}).items()}


def scheme_of(integrator: IntegratorBase) -> str:
    """The name of an integrator's scheme.

    Raises:
        ValueError: the integrator's class is not a named scheme.
    """
    for name, kind in {**_FIXED_STEP, **_ERROR_CONTROLLED}.items():
        if type(integrator) is kind:
            return name
    for name, place in _of_packages().items():
        if type(integrator) is pkgutil.resolve_name(place):
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
    else:
        kind = _ERROR_CONTROLLED.get(scheme) or _of_packages().get(scheme)
        if kind is None:
            raise ValueError(f"Unknown integration scheme '{scheme}'. Known are {', '.join(GetIntegrationSchemes())}.")
        integrator = (pkgutil.resolve_name(kind) if isinstance(kind, str) else kind)(system, context)
        integrator.set_maximum_step_size(max_step_size)
    return simulator.reset_integrator(integrator)
