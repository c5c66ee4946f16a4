"""Objects whose vertices change from frame to frame, as a recording keeps them.

Coordinates are whole numbers of steps of 1/65535 of the extent of the whole sequence. Where a frame has as many
vertices as the one before, its numbers are the differences, modulo 2^16, which are small, and so compress well.
Triangles that stay the same are written once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drawing", "Sequence"]

_STEPS = 65535


class Drawing(NamedTuple):
    """What an object is at one frame.

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
        """What stands for the drawings at these frames: 0, 1, ..."""
        return np.arange(len(self._drawings))

    def json(self) -> dict[str, Any]:
        """All drawings, for the page to take apart.

        Returns:
            vertexCounts, indexCounts: the numbers of vertices and of corners of triangles, of each drawing. The latter
                is 0 where the triangles are those of the drawing before.
            low, step: what the number 0 stands for, and the step, along each axis.
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
