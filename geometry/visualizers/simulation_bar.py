"""The bar by which pages control a live simulation: pause, one step, reset, speed, stop. Its state is here."""

from __future__ import annotations

import threading

from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.scene import Scene

__all__ = ["SimulationBar"]

_NAME = "simulation bar"  # of what the scene knows of it
_RATES = (0.0, 100.0)  # that a page may ask for; 0 is as fast as possible


class SimulationBar:
    """What pages have asked of a simulation, and what they show of it; may be used from any thread.

    Args:
        scene: what clients are told.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._is_shown = False
        self._is_paused = False
        self._rate = 1.0
        self._asked = {"step": 0, "reset": 0, "stop": 0}  # how often, since it was taken last

    def show(self, is_paused: bool, rate: float) -> None:
        """Shows the bar in all pages, with nothing asked for yet."""
        with self._lock:
            self._is_shown, self._is_paused, self._rate = True, is_paused, rate
            self._asked = dict.fromkeys(self._asked, 0)
            self._tell()

    def hide(self) -> None:
        """Takes the bar out of all pages."""
        with self._lock:
            self._is_shown = False
            self._scene.remove_other(f"{_NAME} time")
            self._tell()

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is to wait."""
        return self._is_paused

    @property
    def rate(self) -> float:
        """Simulated time per time of the clock that is wanted; 0 for as fast as possible."""
        return self._rate

    def set_paused(self, is_paused: bool) -> None:
        """Pauses or continues."""
        with self._lock:
            self._is_paused = is_paused
            self._tell()

    def take(self, what: str) -> bool:
        """Whether 'step', 'reset' or 'stop' has been asked for; it counts once."""
        with self._lock:
            if self._asked[what] == 0:
                return False
            self._asked[what] = self._asked[what] - 1 if what == "step" else 0
            return True

    def show_time(self, time: float) -> None:
        """Shows the simulated time [s]."""
        self._scene.set_other(f"{_NAME} time", encode({"type": "set_simulation_time", "time": time}))

    def note_action(self, action: str) -> None:
        """A page asks for something; ValueError if that is not known, or there is no bar."""
        with self._lock:
            if not self._is_shown:
                raise ValueError("there is no simulation that could be controlled")
            if action in ("pause", "continue"):
                self._is_paused = action == "pause"
            elif action in self._asked:
                self._asked[action] += 1
                self._is_paused = self._is_paused or action == "step"
            else:
                raise ValueError(f"a simulation cannot {action!r}")
            self._tell()

    def note_rate(self, rate: float) -> None:
        """A page asks for a speed; ValueError if it cannot be had."""
        if not _RATES[0] <= rate <= _RATES[1]:
            raise ValueError(f"a rate is from {_RATES[0]:g} to {_RATES[1]:g}, not {rate}")
        with self._lock:
            self._rate = rate
            self._tell()

    def _tell(self) -> None:
        state = {"is_shown": self._is_shown, "is_paused": self._is_paused, "rate": self._rate}
        self._scene.set_other(_NAME, encode({"type": "set_simulation", **state}))
