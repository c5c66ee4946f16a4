"""Buttons, sliders and gamepads."""

from __future__ import annotations

import copy

from merganser.geometry.visualizers.face.parts import MeshcatParts
from merganser.geometry.visualizers.params import Gamepad

__all__ = ["ControlsFace"]


class ControlsFace(MeshcatParts):
    """The functions of Meshcat about buttons, sliders and gamepads."""

    def AddButton(self, name: str, keycode: str = "") -> None:
        """Adds a button to the page; if there is one of this name, its clicks are set to zero.

        Args:
            name: what stands on it.
            keycode: a key that clicks it, too, such as 'KeyG' or 'ArrowLeft' (KeyboardEvent.code of browsers).

        Raises:
            RuntimeError: there is a slider of this name, or the button has another keycode already.
        """
        self._controls.add_button(name, keycode)

    def GetButtonClicks(self, name: str) -> int:
        """Returns how often a button has been clicked since it was added, in all pages together.

        Raises:
            RuntimeError: there is no such button.
        """
        return self._controls.clicks(name)

    def GetButtonNames(self) -> list[str]:
        """Returns the names of all buttons."""
        return self._controls.button_names()

    def DeleteButton(self, name: str, strict: bool = True) -> bool:
        """Removes a button; returns whether there was one.

        Raises:
            RuntimeError: there was none, and `strict` is true.
        """
        return self._controls.delete_button(name, strict)

    def AddSlider(
        self,
        name: str,
        min: float,
        max: float,
        step: float,
        value: float,
        decrement_keycode: str = "",
        increment_keycode: str = "",
    ) -> float:
        """Adds a slider to the page.

        Args:
            name: what stands beside it.
            min: least value.
            max: greatest value.
            step: by which values differ.
            value: to begin with.
            decrement_keycode: a key that takes one step down; see `AddButton`.
            increment_keycode: a key that takes one step up.

        Returns:
            The value that it has: of those it can have, the one nearest to `value`.

        Raises:
            RuntimeError: there is a button or slider of this name; `min` is above `max`; the step is not positive.
        """
        return self._controls.add_slider(name, (min, max, step), value, [decrement_keycode, increment_keycode])

    def SetSliderValue(self, name: str, value: float) -> float:
        """Sets the value of a slider, in all pages.

        Returns:
            The value that it has: of those it can have, the one nearest to `value`.

        Raises:
            RuntimeError: there is no such slider, or the value is not a number.
        """
        return self._controls.set_value(name, value)

    def GetSliderValue(self, name: str) -> float:
        """Returns the value of a slider.

        Raises:
            RuntimeError: there is no such slider.
        """
        return self._controls.value(name)

    def GetSliderNames(self) -> list[str]:
        """Returns the names of all sliders."""
        return self._controls.slider_names()

    def DeleteSlider(self, name: str, strict: bool = True) -> bool:
        """Removes a slider; returns whether there was one.

        Raises:
            RuntimeError: there was none, and `strict` is true.
        """
        return self._controls.delete_slider(name, strict)

    def DeleteAddedControls(self) -> None:
        """Removes all buttons and sliders that were added."""
        self._controls.delete_all()

    def GetGamepad(self) -> Gamepad:
        """Returns what was last told of a gamepad at a browser that shows the page.

        Browsers tell of a gamepad when one of its buttons has been pressed while the page has the focus.
        """
        return copy.deepcopy(self._inbox.gamepad)
