"""Buttons and sliders: their values here, and the commands that show them to clients.

The bar by which pages control a live simulation: pause, one step, reset, speed, stop. Its state is here.

How fast simulated time runs, by a clock that does not count compilation.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from merganser.framework.common.running_time import running_time
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.scene import Client, Scene

CONTROL = "control "  # begins the names of what the scene knows of controls


@dataclass
class _Button:
    keycode: str
    num_clicks: int = 0


@dataclass
class Slider:
    """Range, step and value of a slider."""

    min: float
    max: float
    step: float
    value: float

    def nearest(self, value: float) -> float:
        """The nearest value of the slider: a multiple of the step, as in the page, or an end."""
        steps = min(max(value, self.min), self.max) / self.step
        rounded = math.copysign(math.floor(abs(steps) + 0.5), steps) * self.step
        return min(max(rounded, self.min), self.max) + 0.0  # no -0.0


class Controls:
    """All buttons and sliders, in the order in which they were added; may be used from any thread.

    Args:
        scene: what clients get.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.RLock()
        self._commands: dict[str, dict[str, Any]] = {}  # by name: what clients know of a control
        self._places: dict[str, dict[str, Any]] = {}  # by name: where it is in the page
        self._buttons: dict[str, _Button] = {}
        self._sliders: dict[str, Slider] = {}

    # ------------------------------------------------------------------ buttons

    def add_button(self, name: str, keycode: str = "") -> None:
        """Adds a button to the page; if there is one of this name, its clicks are set to zero.

        Args:
            name: its label.
            keycode: a key that clicks it, too, such as 'KeyG' or 'ArrowLeft' (KeyboardEvent.code of browsers).

        Raises:
            RuntimeError: there is a slider of this name, or the button has another keycode already.
        """
        _require_texts("AddButton", name=name, keycode=keycode)
        with self._lock:
            if name in self._sliders:
                raise RuntimeError(f"Meshcat already has a slider named {name}.")
            button = self._buttons.get(name)
            if button is not None and button.keycode not in ("", keycode):
                raise RuntimeError(
                    f"Meshcat already has a button named `{name}`, but its keycode `{button.keycode}` is not "
                    f"`{keycode}`. To give it another one, delete the button first."
                )
            is_same = button is not None and button.keycode == keycode
            self._buttons[name] = _Button(keycode)
            if not is_same:
                self._set_control(name, {}, [keycode])

    def clicks(self, name: str) -> int:
        """Returns how often a button has been clicked since it was added, in all pages together.

        Raises:
            RuntimeError: there is no such button.
        """
        return self._button(name).num_clicks

    def button_names(self) -> list[str]:
        """Returns the names of all buttons, in alphabetical order."""
        return sorted(self._buttons)

    def delete_button(self, name: str, strict: bool = True) -> bool:
        """Removes a button; returns whether there was one.

        Raises:
            RuntimeError: it does not exist, and `strict` is true.
        """
        with self._lock:
            if strict:
                self._button(name)
            return self._delete(self._buttons, name)

    def note_click(self, name: str) -> None:
        """Counts a click of a client on a button; KeyError if it does not exist."""
        with self._lock:
            self._buttons[name].num_clicks += 1

    # ------------------------------------------------------------------ sliders

    def add_slider(
        self, name: str, slider_range: tuple[float, float, float], value: float, keycodes: list[str]
    ) -> float:
        """Adds a slider; returns the value that it has: the one it can have that is nearest.

        Args:
            name: of the slider.
            slider_range: least value, greatest value and step.
            value: wanted.
            keycodes: that move it down and up a step, or empty.

        Raises:
            RuntimeError: there is a control of this name; the range is empty, the step not positive, or a number is not
                finite.
        """
        _require_texts("AddSlider", name=name, decrement_keycode=keycodes[0], increment_keycode=keycodes[1])
        low, high, step = (float(bound) for bound in slider_range)
        if not (low <= high and step > 0 and all(map(math.isfinite, (low, high, step, value)))):
            raise RuntimeError(
                f"Meshcat.AddSlider('{name}'): min must not be above max, step positive, and all finite; given "
                f"min={low}, max={high}, step={step}, value={value}."
            )
        with self._lock:
            for kind, names in (("button", self._buttons), ("slider", self._sliders)):
                if name in names:
                    raise RuntimeError(f"Meshcat already has a {kind} named {name}.")
            slider = Slider(low, high, step, 0.0)
            slider.value = slider.nearest(float(value))
            self._sliders[name] = slider
            self._set_control(name, {"value": slider.value, "min": low, "max": high, "step": step}, keycodes)
            return slider.value

    def value(self, name: str) -> float:
        """Returns the value of a slider.

        Raises:
            RuntimeError: there is no such slider.
        """
        return self._slider(name).value

    def set_value(self, name: str, value: float) -> float:
        """Sets the value of a slider, in all pages.

        Returns:
            The value that it has: of those it can have, the one nearest to `value`.

        Raises:
            RuntimeError: there is no such slider, or the value is not a number.
        """
        with self._lock:
            slider = self._slider(name)
            if math.isnan(value):
                raise RuntimeError(f"Meshcat.SetSliderValue('{name}'): the value must be a number; given {value}.")
            slider.value = slider.nearest(float(value))
            self._set_value(name, slider.value, None)
            return slider.value

    def slider_names(self) -> list[str]:
        """Returns the names of all sliders, in alphabetical order."""
        return sorted(self._sliders)

    def sliders(self) -> dict[str, Slider]:
        """All sliders by name, as they are now."""
        with self._lock:
            return {name: replace(slider) for name, slider in self._sliders.items()}

    def delete_slider(self, name: str, strict: bool = True) -> bool:
        """Removes a slider; returns whether there was one.

        Raises:
            RuntimeError: it does not exist, and `strict` is true.
        """
        with self._lock:
            if strict:
                self._slider(name)
            return self._delete(self._sliders, name)

    def note_value(self, name: str, value: float, client: Client | None) -> None:
        """Sets a slider that a client has moved; KeyError if it does not exist."""
        with self._lock:
            slider = self._sliders[name]
            slider.value = min(max(value, slider.min), slider.max)
            self._set_value(name, slider.value, client)

    def put_in_group(self, name: str, group: str, is_folded: bool, toggles: str) -> None:
        """Sets the group of a control in the page; it is kept when the control is added again.

        Args:
            name: of the control.
            group: the heading.
            is_folded: whether the group is closed at first.
            toggles: what a slider shows when it is moved: a path; empty for nothing.

        Raises:
            RuntimeError: there is no such control.
        """
        with self._lock:
            if name not in self._commands:
                raise _unknown("control", name, self._commands)
            self._places[name] = {"group": group, "is_folded": is_folded, "toggles": toggles}
            self._send(name)

    def delete_all(self) -> None:
        """Removes all buttons and sliders that were added."""
        with self._lock:
            for controls in (self._buttons, self._sliders):
                for name in list(controls):
                    self._delete(controls, name)

    # ------------------------------------------------------------------ helpers

    def _button(self, name: str) -> _Button:
        try:
            return self._buttons[name]
        except KeyError:
            raise _unknown("button", name, self._buttons) from None

    def _slider(self, name: str) -> Slider:
        try:
            return self._sliders[name]
        except KeyError:
            raise _unknown("slider", name, self._sliders) from None

    def _set_control(self, name: str, content: dict[str, Any], keycodes: list[str]) -> None:
        self._commands[name] = {"type": "set_control", "name": name, **content, "keycodes": keycodes}
        self._send(name)

    def _send(self, name: str) -> None:
        self._scene.remove_other(f"remove {CONTROL}{name}")
        self._scene.set_other(f"{CONTROL}{name}", encode({**self._commands[name], **self._places.get(name, {})}))

    def _set_value(self, name: str, value: float, sender: Client | None) -> None:
        command = {"type": "set_control_value", "name": name, "value": value}
        self._scene.set_other(f"{CONTROL}value {name}", encode(command), sender)

    def _delete(self, controls: dict[str, Any], name: str) -> bool:
        if controls.pop(name, None) is None:
            return False
        del self._commands[name]
        self._places.pop(name, None)
        self._scene.remove_other(f"{CONTROL}value {name}")
        self._scene.remove_other(f"{CONTROL}{name}", encode({"type": "delete_control", "name": name}))
        return True


def _unknown(kind: str, name: str, known: dict[str, Any]) -> RuntimeError:
    return RuntimeError(
        f"Meshcat does not have any {kind} named {name}. The registered {kind} names are ({', '.join(sorted(known))})."
    )


def _require_texts(function: str, **values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"Meshcat.{function}(): {name} must be a string; given {value!r}.")


_NAME = "simulation bar"  # of what the scene knows of it
_RATES = (0.0, 100.0)  # that a page may ask for; 0 is as fast as possible


class SimulationBar:
    """Requests of pages to a simulation, and its state shown there; may be used from any thread.

    Args:
        scene: what clients get.
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
            self._send_state()

    def hide(self) -> None:
        """Takes the bar out of all pages."""
        with self._lock:
            self._is_shown = False
            self._scene.remove_other(f"{_NAME} time")
            self._send_state()

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is to wait."""
        return self._is_paused

    @property
    def rate(self) -> float:
        """Simulated time per time of the clock that is wanted; 0 for as fast as possible."""
        return self._rate

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
            self._send_state()

    def note_rate(self, rate: float) -> None:
        """A page asks for a speed; ValueError if it is out of range."""
        if not _RATES[0] <= rate <= _RATES[1]:
            raise ValueError(f"a rate is from {_RATES[0]:g} to {_RATES[1]:g}, not {rate}")
        with self._lock:
            self._rate = rate
            self._send_state()

    def _send_state(self) -> None:
        state = {"is_shown": self._is_shown, "is_paused": self._is_paused, "rate": self._rate}
        self._scene.set_other(_NAME, encode({"type": "set_simulation", **state}))


class RealtimeRate:
    """Measures simulated time per time of the clock, over periods of the clock.

    Args:
        period: time of the clock over which it is measured [s].
        clock: returns the time [s].

    Raises:
        RuntimeError: the period is not positive.
    """

    def __init__(self, period: float, clock: Callable[[], float] = running_time) -> None:
        if not (period > 0 and math.isfinite(period)):
            raise RuntimeError(f"MeshcatParams.realtime_rate_period must be positive; given {period}.")
        self._period = float(period)
        self._clock = clock
        self._began: tuple[float, float] | None = None  # simulated time and time of the clock
        self._last = -math.inf

    def update(self, sim_time: float) -> float | None:
        """Notes the simulated time [s].

        Returns:
            The rate, if a period has passed; 0 if simulated time has gone back, which starts over.
        """
        now = self._clock()
        if self._began is None or sim_time < self._last:
            is_reset = self._began is not None
            self._began, self._last = (sim_time, now), sim_time
            return 0.0 if is_reset else None
        self._last = sim_time
        simulated, elapsed = sim_time - self._began[0], now - self._began[1]
        if elapsed < self._period or simulated == 0.0:
            return None
        self._began = (sim_time, now)
        return simulated / elapsed
