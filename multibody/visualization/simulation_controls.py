"""SimulationControls: a simulation in real time that pages pause, step, reset and stop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from merganser.analysis import Simulator, SimulatorStatus
from merganser.framework import Diagram, System
from merganser.framework.common.running_time import running_time
from merganser.framework.core.values.arguments import checked_number, require_types
from merganser.geometry.visualizers import Meshcat
from merganser.multibody.plant import MultibodyPlant

_REACHED_BOUNDARY = SimulatorStatus.ReturnReason.kReachedBoundaryTime
_PERIOD = 1 / 64  # between two looks at the bar, by the clock [s]
_SHORTEST = 1e-4  # part of a period of simulated time between two looks, for simulations that are slow
_BEHIND = 0.1  # of the clock, beyond which lost time is not caught up [s]
_STEP = 0.01  # of simulations without a discrete plant [s]


class SimulationControls:
    """Advances a simulation in real time, controlled by users of the page.

        controls = SimulationControls(meshcat, simulator)
        controls.AdvanceTo(math.inf)  # until the stop button is clicked, or Ctrl-C is pressed

    The page has a bar to pause and continue, take one step, go back to the start, set the speed, and stop. Beyond
    pydrake, whose programs have `target_realtime_rate` and a button of their own.

    Args:
        meshcat: whose pages have the bar.
        simulator: of the simulation; it starts, and is reset to, what its context holds now.
        is_paused: whether it waits at first.
        rate: simulated time per time of the clock; 0 for as fast as possible.
        step: simulated time of one step [s]; by default that of the plants in the diagram, the shortest, or 0.01 s
            without plants.

    Raises:
        TypeError: an argument has another type.
        ValueError: the rate or the step is out of its range.
    """

    def __init__(
        self,
        meshcat: Meshcat,
        simulator: Simulator,
        *,
        is_paused: bool = False,
        rate: float = 1.0,
        step: float | None = None,
    ) -> None:
        require_types("SimulationControls", meshcat=(meshcat, Meshcat), simulator=(simulator, Simulator))
        rate = checked_number(rate, "SimulationControls: the rate")
        if not 0.0 <= rate < math.inf:
            raise ValueError(f"SimulationControls: the rate must be finite, and 0 or above; given {rate}.")
        if step is None:
            step = min(_periods(simulator.get_system()), default=_STEP)
        self._step = checked_number(step, "SimulationControls: the step")
        if not 0.0 < self._step < math.inf:
            raise ValueError(f"SimulationControls: the step must be positive and finite [s]; given {step}.")
        self._simulator = simulator
        self._start = simulator.get_context().Clone()
        self._bar = meshcat.simulation_bar()
        self._part = 1.0  # of a period that is simulated between two looks
        self._bar.show(bool(is_paused), rate)

    def Delete(self) -> None:
        """Removes the bar from the page."""
        self._bar.hide()

    def AdvanceTo(self, boundary_time: float) -> SimulatorStatus | None:
        """Advances under control of the users, until a time is reached or the stop button is clicked.

        Args:
            boundary_time: simulated time [s]; math.inf for no end.

        Returns:
            The status of the last advance; None before the first one, or after a reset.

        Raises:
            ValueError: the time lies in the past, or is not a number.
            RuntimeError: as of Simulator.AdvanceTo.
        """
        end = checked_number(boundary_time, "SimulationControls.AdvanceTo: boundary time [s]")
        if not end >= self._time():
            raise ValueError(
                f"SimulationControls.AdvanceTo: {end} s lies before the time of the context, {self._time()} s."
            )
        status: SimulatorStatus | None = None
        simulated, clock, rate = self._time(), running_time(), self._bar.rate  # from where speed is measured
        while not self._bar.take("stop"):
            is_new = True
            if self._bar.take("reset"):
                self._reset()
                status = None
            elif self._bar.is_paused:
                if self._bar.take("step"):
                    status = self._simulator.AdvanceTo(min(self._time() + self._step, end))
                    self._draw()
                else:
                    time.sleep(_PERIOD)
            else:
                status = self._advance(end)
                is_new = False
            self._bar.show_time(self._time())
            if self._time() >= end or (status is not None and status.reason() != _REACHED_BOUNDARY):
                break
            ahead = math.inf if is_new else self._time_ahead(simulated, clock, rate)
            if not -_BEHIND < ahead < math.inf or rate != self._bar.rate:
                simulated, clock, rate = self._time(), running_time(), self._bar.rate
            elif ahead > 0.0:
                time.sleep(ahead)
        return status

    def _time_ahead(self, simulated: float, clock: float, rate: float) -> float:
        """How far simulated time is ahead of the clock [s of the clock]; infinite at full speed."""
        return math.inf if rate == 0.0 else (self._time() - simulated) / rate - (running_time() - clock)

    def _advance(self, end: float) -> SimulatorStatus:
        """Advances until the bar is read again."""
        start, span = running_time(), self._part * _PERIOD * (self._bar.rate or 1.0)
        status = self._simulator.AdvanceTo(min(self._time() + span, end))
        took = running_time() - start
        limit = math.inf if self._bar.rate == 0.0 else 1.0
        self._part = min(max(self._part * min(2.0, _PERIOD / max(took, 1e-6)), _SHORTEST), limit)
        return status

    def _reset(self) -> None:
        """Goes back to the start."""
        self._simulator.get_mutable_context().SetTimeStateAndParametersFrom(self._start)
        self._simulator.Initialize()
        self._draw()

    def _draw(self) -> None:
        """Publishes the current state, regardless of the periods of viewers."""
        self._simulator.get_system().ForcedPublish(self._simulator.get_context())

    def _time(self) -> float:
        return float(self._simulator.get_context().get_time())


def _periods(system: System) -> Iterator[float]:
    """The periods of all discrete plants [s]."""
    if isinstance(system, Diagram):
        for each in system.GetSystems():
            yield from _periods(each)
    elif isinstance(system, MultibodyPlant) and system.time_step() > 0.0:
        yield system.time_step()
