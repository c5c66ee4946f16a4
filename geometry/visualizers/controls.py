"""Buttons and sliders: their values here, and how clients are told of them."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import Any

from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.scene import Client, Scene

__all__ = ["CONTROL", "Controls", "Slider"]

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
        """The value that the slider can have which is nearest: a multiple of the step, as in the page, or an end."""
        steps = min(max(value, self.min), self.max) / self.step
        rounded = math.copysign(math.floor(abs(steps) + 0.5), steps) * self.step
        return min(max(rounded, self.min), self.max) + 0.0  # no -0.0


class Controls:
    """All buttons and sliders, in the order in which they were added; may be used from any thread.

    Args:
        scene: what clients are told.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.RLock()
        self._told: dict[str, dict[str, Any]] = {}  # by name: what clients know of a control
        self._places: dict[str, dict[str, Any]] = {}  # by name: where it is in the page
        self._buttons: dict[str, _Button] = {}
        self._sliders: dict[str, Slider] = {}

    # ------------------------------------------------------------------ buttons

    def add_button(self, name: str, keycode: str = "") -> None:
        """Adds a button to the page; if there is one of this name, its clicks are set to zero.

        Args:
            name: what stands on it.
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
                self._tell(name, {}, [keycode])

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
            RuntimeError: there was none, and `strict` is true.
        """
        with self._lock:
            if strict:
                self._button(name)
            return self._delete(self._buttons, name)

    def note_click(self, name: str) -> None:
        """A client has clicked a button; KeyError if there is none."""
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
            self._tell(name, {"value": slider.value, "min": low, "max": high, "step": step}, keycodes)
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
            self._tell_value(name, slider.value, None)
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
            RuntimeError: there was none, and `strict` is true.
        """
        with self._lock:
            if strict:
                self._slider(name)
            return self._delete(self._sliders, name)

    def note_value(self, name: str, value: float, client: Client | None) -> None:
        """A client has moved a slider; KeyError if there is none."""
        with self._lock:
            slider = self._sliders[name]
            slider.value = min(max(value, slider.min), slider.max)
            self._tell_value(name, slider.value, client)

    def put_in_group(self, name: str, group: str, is_folded: bool, toggles: str) -> None:
        """Says where a control is in the page; it stays there when it is added again.

        Args:
            name: of the control.
            group: what stands above.
            is_folded: whether the group is closed at first.
            toggles: what a slider shows when it is moved: a path; empty for nothing.

        Raises:
            RuntimeError: there is no such control.
        """
        with self._lock:
            if name not in self._told:
                raise _unknown("control", name, self._told)
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

    def _tell(self, name: str, content: dict[str, Any], keycodes: list[str]) -> None:
        self._told[name] = {"type": "set_control", "name": name, **content, "keycodes": keycodes}
        self._send(name)

    def _send(self, name: str) -> None:
        self._scene.remove_other(f"remove {CONTROL}{name}")
        self._scene.set_other(f"{CONTROL}{name}", encode({**self._told[name], **self._places.get(name, {})}))

    def _tell_value(self, name: str, value: float, sender: Client | None) -> None:
        command = {"type": "set_control_value", "name": name, "value": value}
        self._scene.set_other(f"{CONTROL}value {name}", encode(command), sender)

    def _delete(self, controls: dict[str, Any], name: str) -> bool:
        if controls.pop(name, None) is None:
            return False
        del self._told[name]
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
