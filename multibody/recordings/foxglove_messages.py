"""Values of ports as messages of Foxglove, in JSON with its schemas; vectors, forces and velocities with ours.

    https://docs.foxglove.dev/docs/visualization/message-schemas
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry import QueryObject, Rgba, Role, SceneGraph
from merganser.geometry.perception import PointCloud
from merganser.geometry.visualizers.rerun_and_viser import colored_triangles
from merganser.multibody.math import SpatialForce, SpatialVelocity
from merganser.multibody.recordings.messages import ENCODINGS, MessageFormat, MessageKind, Source, is_poses, names_for

Array = NDArray[Any]
Json = dict[str, Any]
_GRAY = Rgba(0.9, 0.9, 0.9, 1.0)


# ------------------------------------------------------------------ schemas


def _object(title: str, **properties: Json) -> Json:
    return {"title": title, "type": "object", "properties": properties, "required": list(properties)}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


_NUMBER: Json = {"type": "number"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_TEXT: Json = {"type": "string"}
_BYTES: Json = {"type": "string", "contentEncoding": "base64"}
_TIME = _object("time", sec=_COUNT, nsec={**_COUNT, "maximum": 999_999_999})
_VECTOR, _POINT = (_object(f"foxglove.{kind}", x=_NUMBER, y=_NUMBER, z=_NUMBER) for kind in ("Vector3", "Point3"))
_QUATERNION = _object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_POSE = _object("foxglove.Pose", position=_VECTOR, orientation=_QUATERNION)
_COLOR = _object("foxglove.Color", r=_NUMBER, g=_NUMBER, b=_NUMBER, a=_NUMBER)
_NUMERIC_TYPES = ("UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64")
_FIELD = _object(
    "foxglove.PackedElementField",
    name=_TEXT,
    offset=_COUNT,
    type={"title": "foxglove.NumericType", "oneOf": [{"title": t, "const": n} for n, t in enumerate(_NUMERIC_TYPES)]},
)
_TRIANGLES = _object(
    "foxglove.TriangleListPrimitive",
    pose=_POSE, points=_list(_POINT), color=_COLOR, colors=_list(_COLOR), indices=_list(_COUNT),
)  # fmt: skip
_NOTHING = _list({"type": "object"})
_ENTITY = _object(
    "foxglove.SceneEntity",
    timestamp=_TIME, frame_id=_TEXT, id=_TEXT, lifetime=_TIME | {"title": "duration"}, frame_locked={"type": "boolean"},
    metadata=_NOTHING, arrows=_NOTHING, cubes=_NOTHING, spheres=_NOTHING, cylinders=_NOTHING, lines=_NOTHING,
    triangles=_list(_TRIANGLES), texts=_NOTHING, models=_NOTHING,
)  # fmt: skip
_TRANSFORM = _object(
    "foxglove.FrameTransform",
    timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR, rotation=_QUATERNION,
)  # fmt: skip
_JOINT = _object("foxglove.JointState", name=_TEXT, position=_NUMBER, velocity=_NUMBER)
_SCHEMAS = {
    schema["title"]: schema
    for schema in (
        _object("foxglove.JointStates", timestamp=_TIME, joints=_list(_JOINT)),
        _object("foxglove.PoseInFrame", timestamp=_TIME, frame_id=_TEXT, pose=_POSE),
        _object("foxglove.FrameTransforms", transforms=_list(_TRANSFORM)),
        _object(
            "foxglove.RawImage",
            timestamp=_TIME, frame_id=_TEXT, width=_COUNT, height=_COUNT, encoding=_TEXT, step=_COUNT, data=_BYTES,
        ),
        _object(
            "foxglove.PointCloud",
            timestamp=_TIME, frame_id=_TEXT, pose=_POSE, point_stride=_COUNT, fields=_list(_FIELD), data=_BYTES,
        ),
        _object("foxglove.SceneUpdate", deletions=_NOTHING, entities=_list(_ENTITY)),
        _object(
            "merganser.Vector",
            timestamp=_TIME, values={"type": "object", "additionalProperties": {"type": ["number", "null"]}},
        ),
        _object("merganser.SpatialForce", timestamp=_TIME, frame_id=_TEXT, torque=_VECTOR, force=_VECTOR),
        _object("merganser.SpatialVelocity", timestamp=_TIME, frame_id=_TEXT, angular=_VECTOR, linear=_VECTOR),
    )
}  # fmt: skip


# ------------------------------------------------------------------ messages


def _stamp(time: float) -> Json:
    sec, nsec = divmod(round(time * 1e9), 10**9)
    return {"sec": sec, "nsec": nsec}


def _header(time: float, source: Source) -> Json:
    return {"timestamp": _stamp(time), "frame_id": source.frame}


def _xyz(v: Array) -> Json:
    return dict(zip("xyz", map(float, v)))


def _rotation(X: RigidTransform) -> Json:
    w, x, y, z = map(float, X.rotation().ToQuaternion().wxyz())
    return {"x": x, "y": y, "z": z, "w": w}


def _pose(X: RigidTransform) -> Json:
    return {"position": _xyz(X.translation()), "orientation": _rotation(X)}


def _bytes(values: Array) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _write_vector(value: Array, time: float, source: Source) -> Json:
    names = [name if source.names.count(name) == 1 else f"{name}[{n}]" for n, name in enumerate(source.names)]
    numbers = (float(x) if math.isfinite(x) else None for x in value)  # JSON has no others
    return {"timestamp": _stamp(time), "values": dict(zip(names, numbers))}


def _write_joints(value: Array, time: float, source: Source) -> Json:
    n = len(value) // 2
    rows = zip(source.names, value[:n].tolist(), value[n:].tolist())
    joints = [{"name": name, "position": q, "velocity": v} for name, q, v in rows]
    return {"timestamp": _stamp(time), "joints": joints}


def _write_pose(X: RigidTransform, time: float, source: Source) -> Json:
    return {**_header(time, source), "pose": _pose(X)}


def _write_poses(poses: Sequence[RigidTransform], time: float, source: Source) -> Json:
    transforms = [
        {
            "timestamp": _stamp(time), "parent_frame_id": source.frame, "child_frame_id": name,
            "translation": _xyz(X.translation()), "rotation": _rotation(X),
        }
        for name, X in zip(names_for(poses, source), poses)
        if name != source.frame
    ]  # fmt: skip
    return {"transforms": transforms}


def _write_force(F: SpatialForce, time: float, source: Source) -> Json:
    return {**_header(time, source), "torque": _xyz(F.rotational()), "force": _xyz(F.translational())}


def _write_velocity(V: SpatialVelocity, time: float, source: Source) -> Json:
    return {**_header(time, source), "angular": _xyz(V.rotational()), "linear": _xyz(V.translational())}


def _write_image(image: Any, time: float, source: Source) -> Json:
    encoding = ENCODINGS[type(image)].replace("16SC1", "16UC1")  # labels are not negative
    return {
        **_header(time, source), "width": image.width(), "height": image.height(), "encoding": encoding,
        "step": image.data.nbytes // max(image.height(), 1), "data": _bytes(image.data),
    }  # fmt: skip


def _write_cloud(cloud: PointCloud, time: float, source: Source) -> Json:
    columns = [(name, "<f4", row) for name, row in zip("xyz", cloud.xyzs())]
    if cloud.has_rgbs():
        columns += [(name, "u1", row) for name, row in zip(("red", "green", "blue"), cloud.rgbs())]
        columns.append(("alpha", "u1", np.full(cloud.size(), 255)))
    rows = np.empty(cloud.size(), dtype=[(name, kind) for name, kind, _ in columns])
    for name, _, values in columns:
        rows[name] = values
    number = {"<f4": _NUMERIC_TYPES.index("FLOAT32"), "u1": _NUMERIC_TYPES.index("UINT8")}
    offsets: Any = rows.dtype.fields
    fields = [{"name": name, "offset": int(offsets[name][1]), "type": number[kind]} for name, kind, _ in columns]
    origin = _pose(RigidTransform())
    stride = rows.itemsize
    return {**_header(time, source), "pose": origin, "point_stride": stride, "fields": fields, "data": _bytes(rows)}


def _write_scene(query: QueryObject, time: float, source: Source) -> Json:
    """Each geometry that is seen as an entity in the frame that it moves with."""
    inspector, entities = query.inspector(), []
    for frame in inspector.GetAllFrameIds():
        name = source.frame if frame == SceneGraph.world_frame_id() else inspector.GetName(frame)
        for geometry in inspector.GetGeometries(frame, Role.kIllustration):
            properties = inspector.GetIllustrationProperties(geometry)
            rgba = _GRAY if properties is None else properties.GetPropertyOrDefault("phong", "diffuse", _GRAY)
            pose = _pose(inspector.GetPoseInFrame(geometry))
            parts = colored_triangles(inspector.GetShape(geometry), rgba)
            triangles = [
                {
                    "pose": pose, "points": [_xyz(p) for p in vertices], "colors": [],
                    "color": dict(zip("rgba", map(float, color))), "indices": corners.ravel().tolist(),
                }
                for vertices, corners, color in parts
            ]  # fmt: skip
            empty: Json = {key: [] for key, schema in _ENTITY["properties"].items() if schema is _NOTHING}
            entities.append(
                {
                    "timestamp": _stamp(time), "frame_id": name, "id": inspector.GetName(geometry),
                    "lifetime": _stamp(0.0), "frame_locked": True, **empty, "triangles": triangles,
                }
            )  # fmt: skip
    return {"deletions": [], "entities": entities}


def _write_frames(query: QueryObject, time: float, source: Source) -> Json:
    inspector = query.inspector()
    moving = [frame for frame in inspector.GetAllFrameIds() if frame != SceneGraph.world_frame_id()]
    poses = [query.GetPoseInWorld(frame) for frame in moving]
    return _write_poses(poses, time, source._replace(names=[inspector.GetName(frame) for frame in moving]))


def _is_query(value: Any) -> bool:
    return isinstance(value, QueryObject)


FOXGLOVE = MessageFormat(
    profile="",
    schema_encoding="jsonschema",
    message_encoding="json",
    joints=MessageKind("foxglove.JointStates", lambda value: False, _write_joints),
    kinds=(
        MessageKind("merganser.Vector", lambda value: isinstance(value, np.ndarray), _write_vector),
        MessageKind("foxglove.PoseInFrame", lambda value: isinstance(value, RigidTransform), _write_pose),
        MessageKind("foxglove.FrameTransforms", is_poses, _write_poses),
        MessageKind("merganser.SpatialForce", lambda value: isinstance(value, SpatialForce), _write_force),
        MessageKind("merganser.SpatialVelocity", lambda value: isinstance(value, SpatialVelocity), _write_velocity),
        MessageKind("foxglove.RawImage", lambda value: type(value) in ENCODINGS, _write_image),
        MessageKind("foxglove.PointCloud", lambda value: isinstance(value, PointCloud), _write_cloud),
        MessageKind("foxglove.FrameTransforms", _is_query, _write_frames, "transforms"),
        MessageKind("foxglove.SceneUpdate", _is_query, _write_scene, "scene", is_written_once=True),
    ),
    definition=lambda kind: json.dumps(_SCHEMAS[kind]).encode(),
    serialize=lambda message, kind: json.dumps(message, allow_nan=False).encode(),
)


def _of_pose(pose: Json) -> list[float]:
    return [*(pose["orientation"][name] for name in "wxyz"), *(pose["position"][name] for name in "xyz")]


def _numbers(*vectors: Json) -> list[float]:
    return [vector[name] for vector in vectors for name in "xyz"]


# The numbers of a message, as those of ROS 2 in `messages.READ`.
READ_JSON = {
    "merganser.Vector": lambda m: [math.nan if x is None else x for x in m["values"].values()],
    "merganser.SpatialForce": lambda m: _numbers(m["torque"], m["force"]),
    "merganser.SpatialVelocity": lambda m: _numbers(m["angular"], m["linear"]),
    "foxglove.JointStates": lambda m: [joint[name] for name in ("position", "velocity") for joint in m["joints"]],
    "foxglove.PoseInFrame": lambda m: _of_pose(m["pose"]),
}
