"""Buttons, sliders and gamepads.

Recordings, and pages that show them without a server.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.events import Demand
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.client_messages import Drag, Dragging
from merganser.geometry.visualizers.controls import CONTROL, Controls, SimulationBar
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.parts import MeshcatParts, from_part
from merganser.geometry.visualizers.pages import StaticCell, static_page, static_zip
from merganser.geometry.visualizers.params import Gamepad
from merganser.geometry.visualizers.plots import PLOT, Plots
from merganser.geometry.visualizers.scene import ANIMATION, PoseBlock, Scene, full_path, joined_path


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
            name: the label beside it.
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
            group: the heading of the group.
            is_folded: whether the group is folded away at first.
            toggles: a path that a box beside the slider shows or hides, and that is shown when the slider is moved.

        Raises:
            RuntimeError: there is no such slider.
        """
        self._controls.put_in_group(name, group, is_folded, joined_path(full_path(toggles)) if toggles else "")

    def add_toggle(self, label: str, path: str, part: str = "", is_shown: bool | None = None) -> None:
        """Adds a box to the page that shows or hides what is at a path, until that is deleted; beyond pydrake.

        Args:
            label: the text beside the box.
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

    def describe(
        self, path: str, title: str, rows: Mapping[str, str] = MappingProxyType({}), is_fixed: bool = False
    ) -> None:
        """Sets the card that pages show for a clicked path, beside its pose; beyond pydrake.

        It is kept when the thing is deleted, for one that comes again. Viewers of a plant say it of bodies.

        Args:
            path: of what moves as a whole.
            title: what it is called.
            rows: what is known of it, by name.
            is_fixed: whether it is fixed to the world: cameras show what moves, and of what is fixed what is near.
        """
        self._dragging.describe(path, title, dict(rows), is_fixed)

    enable_dragging = from_part(Dragging.enable)

    def dragged(self) -> Drag | None:
        """Returns what the mouse in a page drags now; None if it is nothing; beyond pydrake."""
        return self._dragging.drag

    def DeleteAddedControls(self) -> None:
        """Removes all buttons, sliders and plots that were added."""
        self._controls.delete_all()
        self._plots.delete_all()

    set_plot = from_part(Plots.set)
    add_sample = from_part(Plots.add)
    delete_plot = from_part(Plots.delete)

    def GetGamepad(self) -> Gamepad:
        """Returns the last reported state of a gamepad at a browser that shows the page.

        Browsers report a gamepad once one of its buttons has been pressed while the page has the focus.
        """
        return copy.deepcopy(self._inbox.gamepad)


_ONLY_LIVE = (CONTROL, f"remove {CONTROL}", PLOT, f"remove {PLOT}", "preview", "rate", "show rate")


class RecordingFace(MeshcatParts):
    """The functions of Meshcat about recordings, time, and pages to keep."""

    def StartRecording(
        self, frames_per_second: float = 64.0, set_visualizations_while_recording: bool = True
    ) -> MeshcatAnimation:
        """Starts recording calls with a `time_in_recording`.

        Frames that are there stay, unless they have another rate, until something is set at their time again. A frame
        shows what is set first of the time for which it is seen; of what is set twice at one time, the later.

        Args:
            frames_per_second: of the recording.
            set_visualizations_while_recording: whether it is shown at once, too.

        Returns:
            The recording so far.

        Raises:
            RuntimeError: the rate is not positive.
        """
        if frames_per_second != self._recording.animation.frames_per_second():
            self._recording.begin(frames_per_second)
        self._recording.is_on = True
        self._scene.want_always(True)
        self._recording.shows_too = bool(set_visualizations_while_recording)
        return self._recording.animation

    def StopRecording(self) -> None:
        """Stops recording."""
        self._recording.is_on = False
        self._scene.want_always(False)

    def is_recording(self) -> bool:
        """Whether a recording is on."""
        return self._recording.is_on

    def PublishRecording(self) -> None:
        """Shows the recording, with a time line."""
        self.SetAnimation(self._recording.animation)

    def DeleteRecording(self) -> None:
        """Forgets what was recorded; pages keep it until something else is shown."""
        self._recording.begin(self._recording.animation.frames_per_second())

    def get_mutable_recording(self) -> MeshcatAnimation:
        """Returns the recording, whose settings may be changed; valid until DeleteRecording()."""
        return self._recording.animation

    def SetAnimation(self, animation: MeshcatAnimation) -> None:
        """Shows an animation, with a time line.

        Raises:
            TypeError: it is no MeshcatAnimation.
        """
        if not isinstance(animation, MeshcatAnimation):
            raise TypeError(f"Meshcat.SetAnimation() takes a MeshcatAnimation; given {animation!r}.")
        self._scene.set_other(ANIMATION, animation.message())

    def StaticHtml(self) -> str:
        """Returns a page that shows the scene, and the recording, without a server or network.

        Buttons are left out, as they would have no effect; sliders are there if they were recorded, and
        move with the time line. A running server has the page at
        `web_url() + '/download'`.
        """
        return static_page(self._scene.snapshot(without=_ONLY_LIVE))

    def StaticCell(self, height: int = 480) -> StaticCell:
        """Returns the same page for the output of a cell: Jupyter, Colab and marimo show it, and keep it.

        Args:
            height: of the output [pixels].
        """
        return StaticCell(self.StaticHtml(), height)

    def StaticZip(self) -> bytes:
        """Returns the same page as a ZIP file: 'meshcat.html' and what belongs to it, to be put on a web server.

        Meshes and pictures are files of their own, each there once. A running server has the file at
        `web_url() + '/download.zip'`.
        """
        return static_zip(self._scene.snapshot(without=_ONLY_LIVE))

    # ------------------------------------------------------------------ poses all at once

    add_pose_block = from_part(Scene.add_pose_block)

    def set_poses(self, block: PoseBlock, X: NDArray[np.float64], time_in_recording: float | None = None) -> None:
        """Sets the transforms of the paths of a block, shape [num_paths, 4, 4]: SetTransform for all at once.

        Axes may be scaled.
        """

        def record(animation: MeshcatAnimation, frame: int) -> None:
            animation.set_poses(frame, block, X.copy())

        if self._recording.take(time_in_recording, block, record):
            self._scene.set_poses(block, X)

    def add_demand(self) -> Demand:
        """Says when a system should draw: each time if a recording is on, otherwise when a
        page can take it; see `merganser.framework.core.declarations.events.Demand`."""
        return self._scene.add_demand(self._recording.is_on)

    # ------------------------------------------------------------------ time

    def SetRealtimeRate(self, rate: float) -> None:
        """Shows how fast simulated time runs by the clock: 1 for as fast."""
        self._shown_rate = float(rate)
        self._scene.set_other("rate", encode({"type": "realtime_rate", "rate": self._shown_rate}))

    def GetRealtimeRate(self) -> float:
        """Returns the rate that was last shown; 0 if none was."""
        return self._shown_rate

    def SetSimulationTime(self, sim_time: float) -> None:
        """Sets the simulated time [s], from which the real-time rate is measured, and shown once in each period.

        The first call begins a measurement, as does one with an earlier time than the last, which sets the rate to 0.
        """
        self._simulation_time = float(sim_time)
        rate = self._rate.update(self._simulation_time)
        if rate is not None:
            self.SetRealtimeRate(rate)

    def GetSimulationTime(self) -> float:
        """Returns the simulated time that was last set [s]; 0 before."""
        return self._simulation_time

    _shown_rate = 0.0
    _simulation_time = 0.0
