"""The parts on which functions of Meshcat work."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, TypeVar

from merganser.framework.common.keywords import Delegated
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.client_messages import ClientMessages, Dragging
from merganser.geometry.visualizers.controls import Controls, RealtimeRate, SimulationBar
from merganser.geometry.visualizers.plots import Plots
from merganser.geometry.visualizers.scene import Scene


class Recording:
    """The recording, and whether it is on.

    Args:
        controls: whose sliders are recorded, too.

    Attributes:
        animation: so far.
        is_on: whether what is set with a time goes into it.
        shows_too: whether it is shown at once as well.
    """

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self.animation = MeshcatAnimation()
        self.is_on = False
        self.shows_too = True
        self._first: dict[Hashable, tuple[int, float]] = {}  # the frame that was set last, and at which time

    def begin(self, frames_per_second: float) -> None:
        """Begins a new recording."""
        self.animation = MeshcatAnimation(frames_per_second)
        self._first.clear()

    def take(self, time: float | None, what: Hashable, record: Callable[[MeshcatAnimation, int], None]) -> bool:
        """Records something that is set at a time, if a recording is on; returns whether it is also to be shown.

        A frame shows what was set first of the time for which it is seen: at 32 frames per second, frame 0 has what was
        set at 0 s, not that of 1/64 s. Of what is set twice at one time it has the later.

        Args:
            time: [s]; None if it is not for recordings.
            what: is set: of its kind, a frame has one.
            record: sets it at a frame.

        Raises:
            RuntimeError: the time is before the recording starts.
        """
        if not self.is_on or time is None:
            return True
        frame = self.animation.frame(time)
        self.animation.note_sliders(frame, self._controls.sliders)
        known = self._first.get(what)
        # An earlier time, or another frame, is a new one: a simulation may begin again while the recording goes on.
        if known is None or known[0] != frame or time <= known[1]:
            record(self.animation, frame)
            self._first[what] = (frame, time)
        return self.shows_too


class MeshcatParts:
    """Abstract: the parts of a Meshcat."""

    _scene: Scene  # sent to clients
    _controls: Controls
    _recording: Recording
    _inbox: ClientMessages  # received from clients
    _rate: RealtimeRate
    _bar: SimulationBar
    _dragging: Dragging
    _plots: Plots


P = ParamSpec("P")
R = TypeVar("R")


def from_part(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function that calls one of a part, which MeshcatParts names."""
    return Delegated(method, "Meshcat")  # type: ignore[return-value]  # which the class replaces by a function
