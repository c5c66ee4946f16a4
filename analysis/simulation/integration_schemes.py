"""Integrators by name, as command lines and configurations give them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import merganser
from merganser.analysis import integrators
from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.simulation.simulator import Simulator


def _schemes() -> dict[str, type[IntegratorBase] | str]:
    """The integrators that have names: classes, or where packages above this one list them, as 'module:class'."""
    own = [getattr(integrators, name) for name in integrators.__all__]
    schemes: dict[str, type[IntegratorBase] | str] = {
        kind.scheme: kind for kind in own if issubclass(kind, IntegratorBase) and kind.scheme
    }
    for package in merganser.PACKAGES:
        schemes |= vars(importlib.import_module(f"merganser.{package}")).get("INTEGRATION_SCHEMES", {})
    return schemes


def GetIntegrationSchemes() -> list[str]:
    """The names that `ResetIntegratorFromFlags` knows, in alphabetical order."""
    return sorted(_schemes())


def scheme_of(integrator: IntegratorBase) -> str:
    """The name of an integrator's scheme.

    Raises:
        ValueError: the integrator's class is not a named scheme.
    """
    for name, kind in _schemes().items():
        if type(integrator) is (pkgutil.resolve_name(kind) if isinstance(kind, str) else kind):
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
    found = _schemes().get(scheme)
    if found is None:
        raise ValueError(f"Unknown integration scheme '{scheme}'. Known are {', '.join(GetIntegrationSchemes())}.")
    kind: Any = pkgutil.resolve_name(found) if isinstance(found, str) else found
    system, context = simulator.get_system(), simulator.get_mutable_context()
    given = (system, max_step_size, context) if kind.takes_step_size else (system, context)
    integrator = kind(*given)
    integrator.set_maximum_step_size(max_step_size)
    return simulator.reset_integrator(integrator)
