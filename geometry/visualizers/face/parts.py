"""What the functions of Meshcat work on."""

from __future__ import annotations

from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.client_messages import ClientMessages
from merganser.geometry.visualizers.controls import Controls
from merganser.geometry.visualizers.realtime_rate import RealtimeRate
from merganser.geometry.visualizers.scene import Scene

__all__ = ["MeshcatParts", "Recording"]


class Recording:
    """What is being recorded, and whether.

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

    def frame(self, time: float | None) -> int | None:
        """The frame into which something goes that is set at a time; None if it is not recorded.

        Raises:
            RuntimeError: the time is before the recording starts.
        """
        if not self.is_on or time is None:
            return None
        frame = self.animation.frame(time)
        self.animation.note_sliders(frame, self._controls.sliders)
        return frame


class MeshcatParts:
    """Abstract: the parts of a Meshcat."""

    _scene: Scene  # what clients are told
    _controls: Controls
    _recording: Recording
    _inbox: ClientMessages  # what clients have told
    _rate: RealtimeRate
