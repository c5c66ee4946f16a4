"""A stage: what a renderer of VTK shows of the geometries of an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.vtkCommonMath import vtkMatrix4x4
from vtkmodules.vtkRenderingCore import vtkRenderer

from merganser.geometry.ids import GeometryId
from merganser.geometry.rendering.vtk_engine.visuals import Visual

__all__ = ["Stage"]

Array = NDArray[np.float64]


class Stage:
    """The actors of visuals in one renderer.

    Args:
        make_actors: makes the actors of a visual, which share one matrix: their pose in the world.

    Attributes:
        renderer: of VTK.
    """

    def __init__(self, make_actors: Callable[[Visual], list[Any]]) -> None:
        self.renderer = vtkRenderer()
        self._make_actors = make_actors
        self._shown: dict[GeometryId, tuple[Visual, list[Any], Any]] = {}
        self._poses: dict[GeometryId, bytes] = {}

    def show(self, visuals: dict[GeometryId, Visual], X_WG: dict[GeometryId, Array]) -> None:
        """Shows these visuals and no others, at their poses, shape [4, 4]."""
        gone = [id for id, (visual, _, _) in self._shown.items() if visuals.get(id) is not visual]
        for id in gone:
            for actor in self._shown.pop(id)[1]:
                self.renderer.RemoveActor(actor)
            del self._poses[id]
        for id, visual in visuals.items():
            pose = X_WG[id].tobytes()
            if id not in self._shown:
                matrix = vtkMatrix4x4()
                actors = self._make_actors(visual)
                for actor in actors:
                    actor.SetUserMatrix(matrix)
                    self.renderer.AddActor(actor)
                self._shown[id] = (visual, actors, matrix)
            elif self._poses[id] == pose:
                continue
            self._shown[id][2].DeepCopy(X_WG[id].ravel())
            self._poses[id] = pose
