"""How large a model is, so that arrows and triads are not larger."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RigidTransform
from merganser.geometry import CalcObb, FrameId, GeometryId, Role, SceneGraphInspector
from merganser.geometry.shapes.measures import has_hull, hull_of
from merganser.multibody.plant import MultibodyPlant

_FLOOR = 6.0  # times as wide as all else together is the floor, not a part of the model
_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def size_of_model(
    inspector: SceneGraphInspector, pose_in_world: Callable[[FrameId], RigidTransform], plant: MultibodyPlant
) -> float:
    """The diagonal of the box along the axes of W around the model [m]; infinite if there is nothing of a size.

    The model is the frames of bodies and all geometries, except half spaces, floors, and meshes that are only seen,
    as it would take long to read them. Where something moves, what is fixed to the world is not a part of it, as walls.

    Args:
        inspector: of the SceneGraph.
        pose_in_world: gives the pose X_WF of a frame F.
        plant: whose bodies move, or are fixed to the world.
    """
    points = [np.zeros((0, 3))]
    boxes: list[NDArray[np.float64]] = []
    fixed: list[NDArray[np.float64]] = []  # boxes of what does not move
    welded = {body.index() for body in plant.GetBodiesWeldedTo(plant.world_body())}
    for frame_id in inspector.GetAllFrameIds():
        is_world, body = frame_id == inspector.world_frame_id(), plant.GetBodyFromFrameId(frame_id)
        X_WF: Any = RigidTransform() if is_world else pose_in_world(frame_id)
        geometry_ids = inspector.GetGeometries(frame_id)
        if geometry_ids and not is_world:
            points.append(cast_array(X_WF.translation(), float)[np.newaxis])
        moves = not is_world and (body is None or body.index() not in welded)
        for geometry_id in geometry_ids:
            p_GV = _corners(inspector, geometry_id)
            if p_GV is not None:
                X_WG = X_WF @ inspector.GetPoseInFrame(geometry_id)
                (boxes if moves else fixed).append(cast_array(X_WG.multiply(p_GV.T), float).T)
    boxes = boxes or fixed
    boxes.sort(key=_width)
    while len(boxes) > 1 and _width(boxes[-1]) > _FLOOR * _width(np.concatenate(boxes[:-1])):
        boxes.pop()
    all_points = np.concatenate(points + boxes)
    size = float(np.linalg.norm(np.ptp(all_points, axis=0))) if len(all_points) else 0.0
    return size if size > 0.0 else np.inf


def _width(points: NDArray[np.float64]) -> float:
    """Of points, along x or y of W."""
    return float(np.ptp(points[:, :2], axis=0).max())


def _corners(inspector: SceneGraphInspector, geometry_id: GeometryId) -> NDArray[np.float64] | None:
    """Corners of a box around a geometry in its frame G, shape [8, 3]; None for what is left out."""
    shape = inspector.GetShape(geometry_id)
    if has_hull(shape):
        if inspector.GetProperties(geometry_id, Role.kProximity) is None:
            return None
        vertices = hull_of(shape).vertex_array()  # which contact needs, too
        return np.array(list(itertools.product(*zip(vertices.min(axis=0), vertices.max(axis=0)))))
    obb = CalcObb(shape)
    return None if obb is None else obb.pose().multiply((_CORNERS * obb.half_width()).T).T
