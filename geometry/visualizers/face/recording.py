"""Recordings, and pages that show them without a server."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.events import Demand
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.controls import CONTROL
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.parts import MeshcatParts, from_part
from merganser.geometry.visualizers.pages import static_page, static_zip
from merganser.geometry.visualizers.pose_block import PoseBlock
from merganser.geometry.visualizers.scene import ANIMATION, Scene

__all__ = ["RecordingFace"]

_ONLY_LIVE = (CONTROL, f"remove {CONTROL}", "preview", "rate", "show rate")


class RecordingFace(MeshcatParts):
    """The functions of Meshcat about recordings, time, and pages to keep."""

    def StartRecording(
        self, frames_per_second: float = 64.0, set_visualizations_while_recording: bool = True
    ) -> MeshcatAnimation:
        """From now on, what is set with a `time_in_recording` is recorded.

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
        """From now on, nothing is recorded."""
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

        Buttons are left out, as there would be nobody to listen; sliders are there as far as they were recorded, and
        move with the time line. A running server has the page at
        `web_url() + '/download'`.
        """
        return static_page(self._scene.snapshot(without=_ONLY_LIVE))

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
        """Tells a system that draws periodically when that is wanted: each time, if a recording is on, otherwise when a
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
        """Tells the simulated time [s], from which the real-time rate is measured, and shown once in each period.

        The first call begins a measurement, as does one with an earlier time than the last, which sets the rate to 0.
        """
        self._simulation_time = float(sim_time)
        rate = self._rate.update(self._simulation_time)
        if rate is not None:
            self.SetRealtimeRate(rate)

    def GetSimulationTime(self) -> float:
        """Returns the simulated time that was last told [s]; 0 if none was."""
        return self._simulation_time

    _shown_rate = 0.0
    _simulation_time = 0.0
