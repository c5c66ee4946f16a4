"""SimulatorConfig: the settings of a Simulator and its integrator as data, and integrators by name."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
from typing import Any

import merganser
from merganser.analysis import integrators
from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.simulation.simulator import Simulator
from merganser.framework.common.records import settings


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


@settings
@dataclasses.dataclass(kw_only=True)
class SimulatorConfig:
    """Settings of a Simulator and its integrator.

    Attributes:
        integration_scheme: one of `GetIntegrationSchemes()`.
        max_step_size: longest step, and the size of all steps without error control [s].
        accuracy: largest error of a step, for methods with error control.
        use_error_control: whether methods that can estimate their error choose their step size.
        start_time: time at which the simulation starts [s].
        target_realtime_rate: simulated seconds a second of wall time; 0 for full speed.
        publish_every_time_step: whether to call forced publish events at initialization and after every step.
        use_native_plan: whether steps may run compiled where that is possible (ours, not pydrake's).
    """

    integration_scheme: str = "runge_kutta3"
    max_step_size: float = 0.1
    accuracy: float = 1e-4
    use_error_control: bool = True
    start_time: float = 0.0
    target_realtime_rate: float = 0.0
    publish_every_time_step: bool = False
    use_native_plan: bool = dataclasses.field(default=True, repr=False, metadata={"only_here": True})


def ApplySimulatorConfig(config: SimulatorConfig, simulator: Simulator) -> None:
    """Gives a simulator these settings, a new integrator and the start time; call its `Initialize` afterwards.

    Methods without error estimate take fixed steps whatever `use_error_control` says.

    Raises:
        ValueError: there is no such integration scheme, or a number is out of range; then nothing is changed.
    """
    if not isinstance(config, SimulatorConfig):
        raise TypeError(f"Expected a SimulatorConfig, got {type(config).__name__}.")
    if not config.max_step_size > 0.0:
        raise ValueError(f"SimulatorConfig: max_step_size must be positive, got {config.max_step_size}.")
    if config.use_error_control and not config.accuracy > 0.0:
        raise ValueError(f"SimulatorConfig: accuracy must be positive, got {config.accuracy}.")
    if not math.isfinite(config.start_time):
        raise ValueError(f"SimulatorConfig: start_time must be finite, got {config.start_time}.")
    if math.isnan(config.target_realtime_rate):
        raise ValueError("SimulatorConfig: target_realtime_rate must be a number, got nan.")
    integrator = ResetIntegratorFromFlags(simulator, config.integration_scheme, config.max_step_size)
    if integrator.supports_error_estimation():
        integrator.set_fixed_step_mode(not config.use_error_control)
        if config.accuracy > 0.0:
            integrator.set_target_accuracy(config.accuracy)
    simulator.get_mutable_context().SetTime(config.start_time)
    simulator.set_target_realtime_rate(config.target_realtime_rate)
    simulator._publishes_at_initialization = simulator._publishes_every_step = config.publish_every_time_step
    simulator.set_use_native_plan(config.use_native_plan)


def ExtractSimulatorConfig(simulator: Simulator) -> SimulatorConfig:
    """Returns the settings of a simulator; the start time is the time in its context.

    The accuracy of a method without error control is 0.
    """
    if not isinstance(simulator, Simulator):
        raise TypeError(f"Expected a Simulator, got {type(simulator).__name__}.")
    integrator = simulator.get_integrator()
    can_control = integrator.supports_error_estimation()
    return SimulatorConfig(
        integration_scheme=scheme_of(integrator),
        max_step_size=integrator.get_maximum_step_size(),
        accuracy=integrator.get_accuracy_in_use() if can_control else 0.0,
        use_error_control=not integrator.get_fixed_step_mode(),
        start_time=simulator.get_context().get_time().real,  # without derivatives
        target_realtime_rate=simulator.get_target_realtime_rate(),
        publish_every_time_step=simulator.get_publish_every_time_step(),
        use_native_plan=simulator.get_use_native_plan(),
    )
