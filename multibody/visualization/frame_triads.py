"""The axes of a frame as geometry, x in red, y in green, z in blue; and how large a model is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    CalcObb,
    Cylinder,
    FrameId,
    GeometryId,
    GeometryInstance,
    MakePhongIllustrationProperties,
    Role,
    SceneGraph,
    SceneGraphInspector,
)
from merganser.geometry.shapes.measures import has_hull, hull_of
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, FrameIndex, RigidBody

_FLOOR = 6.0  # times as wide as all else together is the floor, not a part of the model
_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_DARK = 0.5  # brightness of frames that are not those of bodies
# From the z axis of a cylinder to each axis.
_TURNS = (RotationMatrix.MakeYRotation(math.pi / 2), RotationMatrix.MakeXRotation(math.pi / 2), RotationMatrix())


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


def AddFrameTriadIllustration(
    *,
    scene_graph: SceneGraph,
    body: RigidBody | None = None,
    frame: Frame | None = None,
    frame_index: FrameIndex | None = None,
    frame_id: FrameId | None = None,
    plant: MultibodyPlant | None = None,
    name: str | None = None,
    length: float = 0.3,
    radius: float = 0.005,
    opacity: float = 0.9,
    X_FT: RigidTransform | None = None,
) -> tuple[GeometryId, GeometryId, GeometryId]:
    """Adds three cylinders along the axes of a frame to a SceneGraph, for viewers of illustrations.

    Frames of bodies are brighter than others. Exactly one of `body`, `frame`, `frame_index` and `frame_id` is given.

    Args:
        scene_graph: of the plant.
        body: whose frame is drawn.
        frame: of a plant, fixed to a body.
        frame_index: of a frame of `plant`.
        frame_id: of a body of `plant` in the SceneGraph.
        plant: to which the frame belongs; needed with `frame_index` and `frame_id`.
        name: of the geometries, '_frames::{name}::x-axis' and so on; by default the frame's, with the number of its
            model instance in brackets.
        length: of each axis [m].
        radius: of each axis [m].
        opacity: from 0 to 1.
        X_FT: pose of the triad T in the frame F; the identity by default.

    Returns:
        The ids of the x, y and z axis.

    Raises:
        TypeError: an argument is of another type.
        ValueError: not exactly one of the four is given; the plant is missing, or another one.
        RuntimeError: the plant is not a source of the SceneGraph; the frame has geometries of these names already.
    """
    if sum(each is not None for each in (body, frame, frame_index, frame_id)) != 1:
        raise ValueError(
            "AddFrameTriadIllustration() takes exactly one of body=, frame=, frame_index= and frame_id=; given "
            f"{body=}, {frame=}, {frame_index=}, {frame_id=}."
        )
    if plant is None and (frame_index is not None or frame_id is not None):
        raise ValueError("AddFrameTriadIllustration() needs plant= with frame_index= and frame_id=.")
    require_types("AddFrameTriadIllustration", scene_graph=(scene_graph, SceneGraph))
    for name_of_argument, value, kind in (("body", body, RigidBody), ("frame", frame, Frame)):
        if value is not None:
            require_types("AddFrameTriadIllustration", **{name_of_argument: (value, kind)})
    shown = _frame_of(body, frame, frame_index, frame_id, plant)
    owner: MultibodyPlant = shown.GetParentPlant()
    if plant is not None and plant is not owner:
        raise ValueError(
            f"AddFrameTriadIllustration(): frame '{shown.name()}' belongs to plant '{owner.get_name()}', not to the "
            f"plant '{plant.get_name()}' that is given. Leave plant= out."
        )
    X_BT = shown.GetFixedPoseInBodyFrame() @ (RigidTransform() if X_FT is None else X_FT)
    source_id = owner.get_source_id()
    if source_id is None:
        raise RuntimeError(
            f"AddFrameTriadIllustration(): plant '{owner.get_name()}' is not a source of a SceneGraph. Call "
            "RegisterAsSourceForSceneGraph() first, or make both by AddMultibodyPlantSceneGraph()."
        )
    name = f"{shown.name()}({int(shown.model_instance())})" if name is None else name
    brightness = 1.0 if shown.is_body_frame() else _DARK
    ids = []
    for i, axis in enumerate("xyz"):
        along = np.eye(3)[i]
        X_BG = X_BT @ RigidTransform(_TURNS[i], 0.5 * length * along)
        geometry = GeometryInstance(X_BG, Cylinder(radius, length), f"_frames::{name}::{axis}-axis")
        properties = MakePhongIllustrationProperties([*(brightness * along), opacity])
        geometry.set_illustration_properties(properties)
        body_frame = owner.GetBodyFrameIdOrThrow(shown.body().index())
        ids.append(scene_graph.RegisterGeometry(source_id, body_frame, geometry))
    return ids[0], ids[1], ids[2]


def _frame_of(
    body: RigidBody | None,
    frame: Frame | None,
    frame_index: FrameIndex | None,
    frame_id: FrameId | None,
    plant: MultibodyPlant | None,
) -> Frame:
    """The frame of the arguments.

    Raises:
        ValueError: no body of the plant has the frame in the SceneGraph.
    """
    if frame is not None:
        return frame
    if body is not None:
        return body.body_frame()
    assert plant is not None
    if frame_index is not None:
        return plant.get_frame(frame_index)
    assert frame_id is not None
    found = plant.GetBodyFromFrameId(frame_id)
    if found is None:
        raise ValueError(f"AddFrameTriadIllustration(): no body of plant '{plant.get_name()}' has {frame_id!r}.")
    return found.body_frame()
