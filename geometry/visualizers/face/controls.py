"""Buttons, sliders and gamepads."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType

from merganser.geometry.visualizers.controls import Controls
from merganser.geometry.visualizers.dragging import Drag, Dragging
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.parts import MeshcatParts, from_part
from merganser.geometry.visualizers.params import Gamepad
from merganser.geometry.visualizers.scene import full_path, joined_path
from merganser.geometry.visualizers.simulation_bar import SimulationBar

__all__ = ["ControlsFace"]


class ControlsFace(MeshcatParts):
    """The functions of Meshcat about buttons, sliders and gamepads."""

    AddButton = from_part(Controls.add_button)
    GetButtonClicks = from_part(Controls.clicks)
    GetButtonNames = from_part(Controls.button_names)
    DeleteButton = from_part(Controls.delete_button)

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

    SetSliderValue = from_part(Controls.set_value)
    GetSliderValue = from_part(Controls.value)
    GetSliderNames = from_part(Controls.slider_names)
    DeleteSlider = from_part(Controls.delete_slider)

    def put_in_group(self, name: str, group: str, is_folded: bool = False, toggles: str = "") -> None:
        """Puts a slider into a group of the page, which users may fold away; beyond pydrake.

        Args:
            name: of the slider.
            group: what stands above the group.
            is_folded: whether the group is folded away at first.
            toggles: a path that a box beside the slider shows or hides, and that is shown when the slider is moved.

        Raises:
            RuntimeError: there is no such slider.
        """
        self._controls.put_in_group(name, group, is_folded, joined_path(full_path(toggles)) if toggles else "")

    def add_toggle(self, label: str, path: str, part: str = "", is_shown: bool | None = None) -> None:
        """Adds a box to the page that shows or hides what is at a path, until that is deleted; beyond pydrake.

        Args:
            label: what stands beside the box.
            path: what is shown or hidden.
            part: if it is not empty, all of this name anywhere below the path instead, such as all frames.
            is_shown: whether a part is shown at first; None for what it is by its property 'visible'.
        """
        command = {
            "type": "set_toggle", "label": label, "path": joined_path(full_path(path)), "part": part,
            "is_shown": is_shown,
        }  # fmt: skip
        self._scene.set_at(path, f"toggle {part}", encode(command))

    def simulation_bar(self) -> SimulationBar:
        """Returns the bar of a live simulation, which `SimulationControls` shows and obeys; beyond pydrake."""
        return self._bar

    def describe(self, path: str, title: str, rows: Mapping[str, str] = MappingProxyType({})) -> None:
        """Says what pages show when the thing at a path is clicked, beside its pose; beyond pydrake.

        It is kept when the thing is deleted, for one that comes again. Viewers of a plant say it of bodies.

        Args:
            path: of what moves as a whole.
            title: what it is called.
            rows: what is known of it, by name.
        """
        self._dragging.describe(path, title, dict(rows))

    enable_dragging = from_part(Dragging.enable)

    def dragged(self) -> Drag | None:
        """Returns what the mouse in a page drags now; None if it is nothing; beyond pydrake."""
        return self._dragging.drag

    DeleteAddedControls = from_part(Controls.delete_all)

    def GetGamepad(self) -> Gamepad:
        """Returns what was last told of a gamepad at a browser that shows the page.

        Browsers tell of a gamepad when one of its buttons has been pressed while the page has the focus.
        """
        return copy.deepcopy(self._inbox.gamepad)
