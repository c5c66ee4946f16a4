"""How a Simulator runs: pace, publishing after steps, monitor, compiled steps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from merganser.analysis.integrators.settings import OfSystem
from merganser.framework import Context, EventStatus
from merganser.framework.common.deprecation import deprecated_method
from merganser.framework.common.records import settings
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.values.arguments import checked_number


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
