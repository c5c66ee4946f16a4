"""How a Simulator runs (pace, publishing after steps, monitor, compiled steps), and how and why an advance ended.

The counts of a simulation in words are here, too.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merganser.analysis.integrators.settings import OfSystem
from merganser.framework import Context, LeafContext
from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.errors import deprecated_method
from merganser.framework.common.records import settings
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.declarations.events import EventStatus
from merganser.framework.core.inside import declared_events
from merganser.framework.core.values.arguments import checked_number

if TYPE_CHECKING:
    from merganser.analysis.simulation.simulator import Simulator
    from merganser.framework import System


class SimulatorStatus:
    """Where `AdvanceTo` or `Initialize` stopped, and why."""

    class ReturnReason(Enumeration):
        """Why the simulator returned; kZenoBehavior, which pydrake has not: events come ever closer together."""

        kReachedBoundaryTime = 0
        kReachedTerminationCondition = 1
        kEventHandlerFailed = 2
        kZenoBehavior = 3

    __slots__ = ("_boundary_time", "_message", "_reason", "_return_time", "_system")

    def __init__(self, boundary_time: float) -> None:
        self._boundary_time = boundary_time
        self._return_time = boundary_time
        self._reason = SimulatorStatus.ReturnReason.kReachedBoundaryTime
        self._system: System | None = None
        self._message = ""

    def _stop(
        self, reason: SimulatorStatus.ReturnReason, return_time: float, system: System | None, message: str
    ) -> None:
        self._reason, self._return_time, self._system, self._message = reason, return_time, system, message

    def _note_outcome(self, outcome: EventStatus, time: float) -> bool:
        """Notes the status of events at a time [s], which may end the advance; returns whether they had an effect.

        Raises:
            RuntimeError: an event handler reported failure.
        """
        severity = outcome.severity()
        if severity <= EventStatus.Severity.kSucceeded:
            return severity is EventStatus.Severity.kSucceeded
        has_failed = severity is EventStatus.Severity.kFailed
        if has_failed or self.succeeded():
            reasons = SimulatorStatus.ReturnReason
            reason = reasons.kEventHandlerFailed if has_failed else reasons.kReachedTerminationCondition
            self._stop(reason, time, outcome.system(), outcome.message())
        if has_failed:
            raise RuntimeError(self.FormatMessage())
        return True

    def boundary_time(self) -> float:
        """The target time of the advance [s]."""
        return self._boundary_time

    def return_time(self) -> float:
        """The time that was reached [s]."""
        return self._return_time

    def reason(self) -> SimulatorStatus.ReturnReason:
        """Why the simulator returned."""
        return self._reason

    def system(self) -> System | None:
        """The system that ended the simulation, if one did."""
        return self._system

    def message(self) -> str:
        """The message of that system."""
        return self._message

    def succeeded(self) -> bool:
        """Whether the boundary time was reached."""
        return self._reason is SimulatorStatus.ReturnReason.kReachedBoundaryTime

    def IsIdenticalStatus(self, other: SimulatorStatus) -> bool:
        """Whether all parts of the other status are the same."""
        return all(getattr(self, name) == getattr(other, name) for name in SimulatorStatus.__slots__)

    def FormatMessage(self) -> str:
        """Says in one sentence how the advance ended."""
        if self.succeeded():
            return f"Simulator successfully reached the boundary time ({self._boundary_time} s)."
        what = _WHAT_HAPPENED[self._reason]
        where = f" in system '{self._system.GetSystemPathname()}'" if self._system is not None else ""
        text = f" with the message: {self._message}" if self._message else ""
        return (
            f"Simulator returned at time {self._return_time} s, before the boundary time "
            f"{self._boundary_time} s: it {what}{where}{text}."
        )

    def __repr__(self) -> str:
        return f"<SimulatorStatus: {self.FormatMessage()}>"


_WHAT_HAPPENED = {
    SimulatorStatus.ReturnReason.kReachedTerminationCondition: "reached a termination condition",
    SimulatorStatus.ReturnReason.kEventHandlerFailed: "stopped because an event handler failed",
    SimulatorStatus.ReturnReason.kZenoBehavior: "stopped because events came ever closer together",
}


def PrintSimulatorStatistics(simulator: Simulator) -> None:
    """Prints how many steps, events and derivatives a simulation took, to standard output.

    Of plants it says how many of these Python has computed, and why compiled code did not.
    """
    integrator = simulator.get_integrator()
    control = "at fixed steps" if integrator.get_fixed_step_mode() else "with error control"
    summary = dict(integrator.GetStatisticsSummary())
    print("Simulator:")
    print(f"  steps: {simulator.get_num_steps_taken()}")
    print(f"  publishes: {simulator.get_num_publishes()}")
    print(f"  discrete updates: {simulator.get_num_discrete_updates()}")
    print(f"  unrestricted updates: {simulator.get_num_unrestricted_updates()}")
    if integrator.get_num_steps_taken() == 0:
        print(f"{type(integrator).__name__} {control} took no steps.")
    else:
        print(f"{type(integrator).__name__} {control}:")
        for name, value in summary.items():
            label = name.removeprefix("integrator_").removeprefix("num_").replace("_", " ")
            print(f"  {label}: {value:g}{' s' if name.endswith(('size_taken', 'time_taken')) else ''}")
    # What blocks with compiled code say of what Python has computed of it
    lines: dict[str, None] = {}
    for context in simulator.get_context().parts():
        if not isinstance(context, LeafContext):
            continue
        leaf: Any = context.system
        codes = [entry.native for entry in leaf._sys_cache_entries]
        for code in [*codes, *(event.native for _, event in declared_events(leaf, context))]:
            describe = getattr(code, "describe_calls", None)
            if describe is not None and (text := describe(context)):
                lines[f"{leaf.GetSystemPathname()}: {text}."] = None
    for line in lines:
        print(line)
    print("JSON:")
    print(json.dumps({name: value if math.isfinite(value) else None for name, value in summary.items()}, indent=2))


@settings
@dataclasses.dataclass
class InitializeParams:
    """Options of `Simulator.Initialize`.

    Attributes:
        suppress_initialization_events: whether to leave out initialization events, because the state in the
            context is already the one to start from.
    """

    suppress_initialization_events: bool = False


_PUBLISH_FROM_SYSTEM = "Declare per-step or initialization publish events in the LeafSystem."


class SimulatorSettings(OfSystem):
    """What can be chosen of a Simulator beside its integrator, between advances."""

    _monitor: Callable[[Context], EventStatus | None] | None
    _target_rate: float
    _publishes_every_step: bool
    _publishes_at_initialization: bool
    _uses_native_plan: bool
    _usual_time_to_plan: str
    _when_to_plan: str

    def set_target_realtime_rate(self, realtime_rate: float) -> None:
        """Slows down to this many simulated seconds a second of wall time; 0 or less for full speed."""
        rate = checked_number(realtime_rate, "Target real-time rate")
        if math.isnan(rate):
            raise ValueError("The target real-time rate must be a number, got nan.")
        self._target_rate = max(0.0, rate)

    def get_target_realtime_rate(self) -> float:
        """The rate set by `set_target_realtime_rate`."""
        return self._target_rate

    @deprecated_method("Simulator.set_publish_every_time_step", _PUBLISH_FROM_SYSTEM, until="2026-06-01")
    def set_publish_every_time_step(self, publish: bool) -> None:
        """Whether to call forced publish events after every step."""
        self._publishes_every_step = publish

    def get_publish_every_time_step(self) -> bool:
        """Whether forced publish events are called after every step."""
        return self._publishes_every_step

    @deprecated_method("Simulator.set_publish_at_initialization", _PUBLISH_FROM_SYSTEM, until="2026-06-01")
    def set_publish_at_initialization(self, publish: bool) -> None:
        """Whether to call forced publish events in `Initialize`."""
        self._publishes_at_initialization = publish

    def set_monitor(self, monitor: Callable[[Context], EventStatus | None]) -> None:
        """Calls monitor(root_context) after `Initialize` and every step; its status may end the advance."""
        if not (monitor is None or callable(monitor)):
            raise TypeError(f"set_monitor takes a function of the root context, got {type(monitor).__name__}.")
        self._monitor = monitor

    def get_monitor(self) -> Callable[[Context], EventStatus | None] | None:
        """The monitor, if there is one."""
        return self._monitor

    def clear_monitor(self) -> None:
        """Removes the monitor."""
        self._monitor = None

    def set_use_native_plan(self, use: bool, at_once: bool = False) -> None:
        """Whether steps may run compiled where that is possible; the results are the same to the last bit.

        Args:
            use: whether they may.
            at_once: from the first step on, even if the compiled loop has to be compiled for it; otherwise as soon as
                it is compiled (native/compiler/when_to_compile.py). The environment variable MERGANSER_PLAN, which is
                "always" or "never", says so for new simulators.
        """
        self._uses_native_plan = bool(use)
        self._when_to_plan = "always" if at_once and may_compile() else self._usual_time_to_plan

    def get_use_native_plan(self) -> bool:
        """Whether steps may run compiled where that is possible."""
        return self._uses_native_plan
