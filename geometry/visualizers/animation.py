"""MeshcatAnimation: what is set when, and the command that plays it.

Objects whose vertices change from frame to frame, as a recording keeps them.

Coordinates are whole numbers of steps of 1/65535 of the extent of the whole sequence. Where a frame has as many
vertices as the one before, its numbers are the differences, modulo 2^16, which are small, and so compress well.
Triangles that stay the same are written once.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_number
from merganser.framework.math import RigidTransform
from merganser.geometry.visualizers.controls import Slider
from merganser.geometry.visualizers.encoding import Message, encode
from merganser.geometry.visualizers.scene import PoseBlock, full_path, joined_path

_STEPS = 65535


class Drawing(NamedTuple):
    """The drawing of an object at one frame.

    Attributes:
        vertices: positions, shape [n, 3].
        triangles: vertices by index, shape [m, 3]; None for lines and points.
        colors: of vertices, from 0 to 255, shape [n, 3]; None if they have none.
    """

    vertices: NDArray[Any]
    triangles: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None


class Sequence:
    """Drawings at frames."""

    def __init__(self) -> None:
        self._drawings: dict[int, Drawing] = {}

    def set(self, frame: int, drawing: Drawing) -> None:
        """Sets what is drawn at a frame; the arrays are copied."""
        vertices = np.array(drawing.vertices, dtype=np.float32)
        triangles = None if drawing.triangles is None else np.array(drawing.triangles, dtype=np.uint32)
        colors = None if drawing.colors is None else np.array(drawing.colors, dtype=np.uint8)
        self._drawings[frame] = Drawing(vertices, triangles, colors)

    def frames(self) -> NDArray[np.int64]:
        """The frames, in order."""
        return np.array(sorted(self._drawings))

    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the drawings at these frames: 0, 1, ..."""
        return np.arange(len(self._drawings))

    def json(self) -> dict[str, Any]:
        """All drawings, for the page to take apart.

        Returns:
            vertexCounts, indexCounts: the numbers of vertices and of corners of triangles, of each drawing. The latter
                is 0 where the triangles are those of the drawing before.
            low, step: the coordinate for the number 0, and the step, along each axis.
            steps: the coordinates, or their differences, of all drawings.
            indices, colors: of all drawings.
        """
        drawings = [self._drawings[frame] for frame in self.frames().tolist()]
        counts = np.array([len(drawing.vertices) for drawing in drawings])
        everything = np.concatenate([drawing.vertices for drawing in drawings]).astype(np.float64)
        low = everything.min(axis=0) if len(everything) else np.zeros(3)
        extent = everything.max(axis=0) - low if len(everything) else np.zeros(3)
        step = np.where(extent > 0, extent, 1.0) / _STEPS
        steps = np.split(np.rint((everything - low) / step).astype(np.uint16), np.cumsum(counts)[:-1])
        differences = [
            steps[i] - steps[i - 1] if i and counts[i] == counts[i - 1] else steps[i] for i in range(len(steps))
        ]
        indices = [_indices(drawings, i) for i in range(len(drawings))]
        colors = [np.zeros((0, 3), np.uint8) if each.colors is None else each.colors for each in drawings]
        return {
            "vertexCounts": counts.astype(np.uint32),
            "indexCounts": np.array([len(each) for each in indices], dtype=np.uint32),
            "low": low.tolist(),
            "step": step.tolist(),
            "steps": np.concatenate(differences).ravel(),
            "indices": np.concatenate(indices),
            "colors": np.concatenate(colors).ravel(),
        }


def _indices(drawings: list[Drawing], i: int) -> NDArray[np.uint32]:
    """The triangles of a drawing, shape [3 m]; empty if they are those of the one before, or if it has none."""
    triangles = drawings[i].triangles
    before = drawings[i - 1].triangles if i else None
    if triangles is None or (before is not None and np.array_equal(triangles, before)):
        return np.zeros(0, dtype=np.uint32)
    indices: NDArray[np.uint32] = triangles.astype(np.uint32).ravel()
    return indices


_FRAME_MARGIN = 1e-6  # of a frame: times of frames are multiples of a period that is not a binary fraction
_SCALE_MARGIN = 1e-6  # by which the scale of what keeps its size may differ from 1
_DISCRETE = 2300  # constants of three.js
_LINEAR = 2301


class _LoopMode(enum.IntEnum):
    """What happens at the end of an animation; as MeshcatAnimation.LoopMode."""

    kLoopOnce = 2200
    kLoopRepeat = 2201
    kLoopPingPong = 2202

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


class MeshcatAnimation:
    """Transforms, properties and drawings at frames, numbered from 0; `Meshcat.SetAnimation` shows it.

    Args:
        frames_per_second: how fast frames are played.

    Raises:
        RuntimeError: that is not positive.
    """

    LoopMode = _LoopMode

    def __init__(self, frames_per_second: float = 64.0) -> None:
        rate = checked_number(frames_per_second, "MeshcatAnimation: frames_per_second")
        if not (rate > 0 and math.isfinite(rate)):
            raise RuntimeError(f"MeshcatAnimation: frames_per_second must be positive; given {frames_per_second}.")
        self._frames_per_second = rate
        self._start_time = 0.0
        self._autoplay = True
        self._loop_mode = _LoopMode.kLoopRepeat
        self._repetitions = 1
        self._clamp_when_finished = True
        self._poses: dict[PoseBlock, dict[int, NDArray[np.float64]]] = {}  # by block and frame
        self._tracks: dict[str, dict[str, _Track]] = {}  # by path and property
        self._sequences: dict[str, Sequence] = {}  # by path
        self._sliders: dict[str, tuple[Slider, _Track]] = {}  # by name: the last state, and values
        self._slider_frame = -1  # at which they were noted last

    # ------------------------------------------------------------------ how it is played

    def frames_per_second(self) -> float:
        """The number of frames in a second."""
        return self._frames_per_second

    def frame(self, time_from_start: float) -> int:
        """The number of the frame at a time [s], rounded down, but for rounding errors.

        Raises:
            RuntimeError: it is before `start_time`, or not finite.
            TypeError: it is not a number.
        """
        if not math.isfinite(checked_number(time_from_start, "MeshcatAnimation.frame(): the time")):
            raise RuntimeError(f"MeshcatAnimation.frame(): the time must be finite; given {time_from_start}.")
        if not time_from_start >= self._start_time:
            raise RuntimeError(
                f"MeshcatAnimation.frame(): time {time_from_start} is before the start time {self._start_time}."
            )
        return math.floor((time_from_start - self._start_time) * self._frames_per_second + _FRAME_MARGIN)

    def start_time(self) -> float:
        """The time of frame 0 [s]."""
        return self._start_time

    def set_start_time(self, time: float) -> None:
        """Sets the time of frame 0 [s]; frames that have been set stay."""
        self._start_time = float(time)

    def autoplay(self) -> bool:
        """Whether it plays as soon as it is shown."""
        return self._autoplay

    def set_autoplay(self, play: bool) -> None:
        """Sets whether it plays as soon as it is shown."""
        self._autoplay = bool(play)

    def loop_mode(self) -> _LoopMode:
        """What happens at the end."""
        return self._loop_mode

    def set_loop_mode(self, mode: _LoopMode) -> None:
        """Sets what happens at the end.

        Raises:
            TypeError: `mode` is no LoopMode.
        """
        if not isinstance(mode, _LoopMode):
            raise TypeError(f"MeshcatAnimation.set_loop_mode() takes a MeshcatAnimation.LoopMode; given {mode!r}.")
        self._loop_mode = mode

    def repetitions(self) -> int:
        """The number of repetitions, if it is repeated."""
        return self._repetitions

    def set_repetitions(self, repetitions: int) -> None:
        """Sets how often it is played, if it is repeated at all.

        Raises:
            RuntimeError: that is less than 1.
        """
        if not repetitions >= 1:
            raise RuntimeError(f"MeshcatAnimation.set_repetitions() takes a number from 1 on; given {repetitions}.")
        self._repetitions = int(repetitions)

    def clamp_when_finished(self) -> bool:
        """Whether it stays at its last frame."""
        return self._clamp_when_finished

    def set_clamp_when_finished(self, clamp: bool) -> None:
        """Sets whether it stays at its last frame, or goes back to what was before."""
        self._clamp_when_finished = bool(clamp)

    # ------------------------------------------------------------------ what it shows

    def SetTransform(self, frame: int, path: str, X_ParentPath: RigidTransform) -> None:
        """Sets the pose of a path in its parent at a frame.

        Raises:
            RuntimeError: the frame is negative; 'position' or 'quaternion' of the path are something else already.
        """
        matrix = X_ParentPath.GetAsMatrix4()
        position, quaternion = _positions_and_quaternions(matrix[None])
        self._set(frame, path, "position", "vector3", position[0])
        self._set(frame, path, "quaternion", "quaternion", quaternion[0])

    def SetProperty(self, frame: int, path: str, property: str, value: bool | float | list[float]) -> None:
        """Sets a property of a path at a frame; see `Meshcat.SetProperty`.

        Raises:
            TypeError: the value is not a bool, float or list of floats.
            RuntimeError: the frame is negative; the property has another type at other frames.
        """
        kind, plain = kind_of_property(value)
        self._set(frame, path, property, kind, plain)

    def set_poses(self, frame: int, block: PoseBlock, X: NDArray[np.float64]) -> None:
        """Sets the transforms of the paths of a block at a frame, shape [num_paths, 4, 4]; the array is kept."""
        self._poses.setdefault(block, {})[_checked_frame(frame)] = X

    def set_drawing(self, frame: int, path: str, drawing: Drawing) -> None:
        """Sets the vertices of the object at a path at a frame."""
        name = joined_path(full_path(path))
        self._sequences.setdefault(name, Sequence()).set(_checked_frame(frame), drawing)

    def note_sliders(self, frame: int, read: Callable[[], dict[str, Slider]]) -> None:
        """Notes where sliders are at a frame, unless that has just been done; `read` gives them by name."""
        if frame == self._slider_frame:
            return
        self._slider_frame = _checked_frame(frame)
        for name, slider in read().items():
            track = self._sliders[name][1] if name in self._sliders else _Track("number")
            track.values[frame] = slider.value
            self._sliders[name] = (slider, track)

    def _set(self, frame: int, path: str, name: str, kind: str, value: Any) -> None:
        frame = _checked_frame(frame)
        tracks = self._tracks.setdefault(joined_path(full_path(path)), {})
        track = tracks.setdefault(name, _Track(kind))
        if track.kind != kind:
            raise RuntimeError(
                f"MeshcatAnimation: property '{name}' of '{path}' is of type {track.kind} at other frames, and cannot "
                f"be of type {kind} at frame {frame}."
            )
        track.values[frame] = value

    # ------------------------------------------------------------------ the command

    def message(self) -> Message:
        """The command that shows this."""
        clips: dict[str, list[dict[str, Any]]] = {}
        for block, frames in self._poses.items():
            for path, tracks in _tracks_of_block(block, frames).items():
                clips.setdefault(path, []).extend(tracks)
        for path, named in self._tracks.items():
            clips.setdefault(path, []).extend(track.json(name) for name, track in named.items())
        sequences = []
        for path, sequence in self._sequences.items():
            sequences.append({"path": path, **sequence.json()})
            clips[f"{path}/<object>"] = [
                _track("sequenceFrame", "number", sequence.frames(), sequence.numbers(), is_smooth=False)
            ]
        sliders = []
        for i, (name, (slider, track)) in enumerate(self._sliders.items()):
            sliders.append({"name": name, "min": slider.min, "max": slider.max, "step": slider.step})
            clips.setdefault(joined_path([]), []).append(track.json(f"slider{i}", is_smooth=False))
        command = {
            "type": "set_animation",
            "animations": [
                {"path": path, "clip": {"fps": self._frames_per_second, "name": "default", "tracks": tracks}}
                for path, tracks in clips.items()
            ],
            "options": {
                "play": self._autoplay,
                "loopMode": int(self._loop_mode),
                "repetitions": self._repetitions,
                "clampWhenFinished": self._clamp_when_finished,
            },
            "sequences": sequences,
            "sliders": sliders,
        }
        return encode(command)


class _Track:
    """A property at frames."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.values: dict[int, Any] = {}

    def json(self, name: str, is_smooth: bool = True) -> dict[str, Any]:
        frames = sorted(self.values)
        values = np.array([self.values[frame] for frame in frames])
        return _track(name, self.kind, np.array(frames), values, is_smooth)


def _track(name: str, kind: str, frames: NDArray[Any], values: NDArray[Any], is_smooth: bool = True) -> dict[str, Any]:
    """A property at frames, as three.js has it; in between, values are interpolated, or those of the frame before."""
    if kind == "boolean":
        return {"name": f".{name}", "type": kind, "times": frames.tolist(), "values": values.tolist()}
    return {
        "name": f".{name}", "type": kind, "times": frames.astype(np.float32),
        "values": values.astype(np.float32).ravel(), "interpolation": _LINEAR if is_smooth else _DISCRETE,
    }  # fmt: skip


def _tracks_of_block(block: PoseBlock, frames: dict[int, NDArray[np.float64]]) -> dict[str, list[dict[str, Any]]]:
    """The tracks of the paths of a block; of those that do not move, with one frame."""
    order = sorted(frames)
    X = np.array([frames[frame] for frame in order])  # shape [num_frames, num_paths, 4, 4]
    scales = np.linalg.norm(X[..., :3, :3], axis=-2)  # of rotations 1; a matrix may scale its axes
    tracks = {}
    for row, path in enumerate(block.paths):
        last = len(order) if (X[:, row] != X[0, row]).any() else 1
        numbers, scale, poses = np.array(order[:last]), scales[:last, row], X[:last, row].copy()
        poses[:, :3, :3] /= scale[:, np.newaxis]
        position, quaternion = _positions_and_quaternions(poses)
        tracks[path] = [
            _track("position", "vector3", numbers, position),
            _track("quaternion", "quaternion", numbers, quaternion),
        ]
        if np.abs(scale - 1.0).max() > _SCALE_MARGIN:
            tracks[path].append(_track("scale", "vector3", numbers, scale))
    return tracks


def _positions_and_quaternions(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of poses of shape [n, 4, 4]; quaternions as [x, y, z, w]."""
    from scipy.spatial.transform import Rotation

    return X[:, :3, 3], Rotation.from_matrix(X[:, :3, :3]).as_quat()


def kind_of_property(value: Any) -> tuple[str, bool | float | list[float]]:
    """The type of a property's value in the browser, and the value as one of plain Python.

    Raises:
        TypeError: it is not a bool, float or list of floats.
    """
    if isinstance(value, (bool, np.bool_)):
        return "boolean", bool(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        return "number", float(value)
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty((0, 0))
    if isinstance(value, str) or vector.ndim != 1:
        raise TypeError(f"A property in Meshcat is a bool, a float or a list of floats; given {value!r}.")
    return "vector", vector.tolist()


def _checked_frame(frame: int) -> int:
    if not frame >= 0:
        raise RuntimeError(f"MeshcatAnimation: frames are numbered from 0; given {frame}.")
    return int(frame)
