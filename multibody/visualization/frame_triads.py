"""AddFrameTriadIllustration: the axes of a frame as geometry, x in red, y in green, z in blue."""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    Cylinder,
    FrameId,
    GeometryId,
    GeometryInstance,
    MakePhongIllustrationProperties,
    SceneGraph,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, FrameIndex, RigidBody

_DARK = 0.5  # brightness of frames that are not those of bodies
# From the z axis of a cylinder to each axis.
_TURNS = (RotationMatrix.MakeYRotation(math.pi / 2), RotationMatrix.MakeXRotation(math.pi / 2), RotationMatrix())


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
