"""Values of ports as messages of ROS 2, and back: one table; and what a format of messages is."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry.images import (
    ImageDepth16U,
    ImageDepth32F,
    ImageGrey8U,
    ImageLabel16I,
    ImageRgb8U,
    ImageRgba8U,
)
from merganser.geometry.perception import PointCloud
from merganser.multibody.math import SpatialForce, SpatialVelocity

Array = NDArray[Any]


def required(module: str) -> Any:
    """A module of the extra `logs`.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"Recordings need the package {package}. Install the extra: pip install 'merganser[logs]'."
        ) from error


@functools.cache
def type_store() -> Any:
    """The message types of ROS 2 (Humble), which the package rosbags has as tables."""
    typesys = required("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


class Source(NamedTuple):
    """What a message says besides the value.

    Attributes:
        frame: the frame in which poses and vectors are expressed.
        names: of the elements of a vector, or of the bodies that poses belong to.
    """

    frame: str
    names: Sequence[str]


def _make(name: str, /, **fields: Any) -> Any:
    return type_store().types[name](**fields)


def _header(time: float, frame: str) -> Any:
    nanoseconds = round(time * 1e9)
    stamp = _make("builtin_interfaces/msg/Time", sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
    return _make("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def _vector3(v: Array, kind: str = "Vector3") -> Any:
    return _make(f"geometry_msgs/msg/{kind}", **dict(zip("xyz", map(float, v))))


def _quaternion(X: RigidTransform) -> Any:
    q = X.rotation().ToQuaternion()
    return _make("geometry_msgs/msg/Quaternion", w=float(q.w()), x=float(q.x()), y=float(q.y()), z=float(q.z()))


def _write_vector(value: Array, time: float, source: Source) -> Any:
    labels = [_make("std_msgs/msg/MultiArrayDimension", label=name, size=1, stride=1) for name in source.names]
    layout = _make("std_msgs/msg/MultiArrayLayout", dim=labels, data_offset=0)
    return _make("std_msgs/msg/Float64MultiArray", layout=layout, data=np.array(value, dtype=np.float64))


def _write_joints(value: Array, time: float, source: Source) -> Any:
    n = len(value) // 2
    return _make(
        "sensor_msgs/msg/JointState",
        header=_header(time, source.frame),
        name=list(source.names),
        position=np.array(value[:n], dtype=np.float64),
        velocity=np.array(value[n:], dtype=np.float64),
        effort=np.empty(0),
    )


def _write_pose(X: RigidTransform, time: float, source: Source) -> Any:
    pose = _make("geometry_msgs/msg/Pose", position=_vector3(X.translation(), "Point"), orientation=_quaternion(X))
    return _make("geometry_msgs/msg/PoseStamped", header=_header(time, source.frame), pose=pose)


def _write_poses(poses: Sequence[RigidTransform], time: float, source: Source) -> Any:
    transforms = [
        _make(
            "geometry_msgs/msg/TransformStamped",
            header=_header(time, source.frame),
            child_frame_id=name,
            transform=_make(
                "geometry_msgs/msg/Transform", translation=_vector3(X.translation()), rotation=_quaternion(X)
            ),
        )
        for name, X in zip(names_for(poses, source), poses)
        if name != source.frame
    ]
    return _make("tf2_msgs/msg/TFMessage", transforms=transforms)


def _write_wrench(F: SpatialForce, time: float, source: Source) -> Any:
    wrench = _make("geometry_msgs/msg/Wrench", force=_vector3(F.translational()), torque=_vector3(F.rotational()))
    return _make("geometry_msgs/msg/WrenchStamped", header=_header(time, source.frame), wrench=wrench)


def _write_twist(V: SpatialVelocity, time: float, source: Source) -> Any:
    twist = _make("geometry_msgs/msg/Twist", linear=_vector3(V.translational()), angular=_vector3(V.rotational()))
    return _make("geometry_msgs/msg/TwistStamped", header=_header(time, source.frame), twist=twist)


ENCODINGS = {
    ImageRgba8U: "rgba8",
    ImageRgb8U: "rgb8",
    ImageGrey8U: "mono8",
    ImageDepth32F: "32FC1",
    ImageDepth16U: "mono16",
    ImageLabel16I: "16SC1",
}


def _write_image(image: Any, time: float, source: Source) -> Any:
    pixels = np.ascontiguousarray(image.data)
    return _make(
        "sensor_msgs/msg/Image",
        header=_header(time, source.frame),
        height=image.height(),
        width=image.width(),
        encoding=ENCODINGS[type(image)],
        is_bigendian=0,
        step=pixels.nbytes // max(image.height(), 1),
        data=pixels.view(np.uint8).reshape(-1),
    )


def _write_cloud(cloud: PointCloud, time: float, source: Source) -> Any:
    columns = [(name, "<f4", 7, row) for name, row in zip("xyz", cloud.xyzs())]  # 7 is FLOAT32 of PointField
    if cloud.has_rgbs():  # one number of four bytes, blue first
        r, g, b = cloud.rgbs().astype(np.uint32)
        columns.append(("rgb", "<u4", 6, (r << 16) | (g << 8) | b))
    rows = np.empty(cloud.size(), dtype=[(name, kind) for name, kind, _, _ in columns])
    for name, _, _, values in columns:
        rows[name] = values
    fields = [
        _make("sensor_msgs/msg/PointField", name=name, offset=4 * n, datatype=number, count=1)
        for n, (name, _, number, _) in enumerate(columns)
    ]
    return _make(
        "sensor_msgs/msg/PointCloud2",
        header=_header(time, source.frame),
        height=1,
        width=cloud.size(),
        fields=fields,
        is_bigendian=False,
        point_step=rows.itemsize,
        row_step=rows.nbytes,
        data=rows.view(np.uint8),
        is_dense=bool(np.isfinite(cloud.xyzs()).all()),
    )


class MessageKind(NamedTuple):
    """How values of one kind are written.

    Attributes:
        name: of the message type.
        takes: whether a port's value is of this kind.
        write: the message, from the value, the time [s] and the Source.
        subtopic: where a value becomes several messages, what follows the name of the topic.
        is_written_once: at the start of a simulation, rather than periodically.
    """

    name: str
    takes: Callable[[Any], bool]
    write: Callable[[Any, float, Source], Any]
    subtopic: str = ""
    is_written_once: bool = False


class MessageFormat(NamedTuple):
    """What messages a file has.

    Attributes:
        profile, schema_encoding, message_encoding: as MCAP calls them.
        joints: of positions and velocities of joints.
        kinds: of all else.
        definition: the schema of a message type, by its name.
        serialize: the bytes of a message of a type.
    """

    profile: str
    schema_encoding: str
    message_encoding: str
    joints: MessageKind
    kinds: tuple[MessageKind, ...]
    definition: Callable[[str], bytes]
    serialize: Callable[[Any, str], bytes]


def names_for(poses: Sequence[RigidTransform], source: Source) -> Sequence[str]:
    """The names of the bodies that poses belong to."""
    return source.names if len(source.names) == len(poses) else [f"body{n}" for n in range(len(poses))]


def is_poses(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(X, RigidTransform) for X in value)


ROS2 = MessageFormat(
    profile="ros2",
    schema_encoding="ros2msg",
    message_encoding="cdr",
    joints=MessageKind("sensor_msgs/msg/JointState", lambda value: False, _write_joints),
    kinds=(
        MessageKind("std_msgs/msg/Float64MultiArray", lambda value: isinstance(value, np.ndarray), _write_vector),
        MessageKind("geometry_msgs/msg/PoseStamped", lambda value: isinstance(value, RigidTransform), _write_pose),
        MessageKind("tf2_msgs/msg/TFMessage", is_poses, _write_poses),
        MessageKind("geometry_msgs/msg/WrenchStamped", lambda value: isinstance(value, SpatialForce), _write_wrench),
        MessageKind("geometry_msgs/msg/TwistStamped", lambda value: isinstance(value, SpatialVelocity), _write_twist),
        MessageKind("sensor_msgs/msg/Image", lambda value: type(value) in ENCODINGS, _write_image),
        MessageKind("sensor_msgs/msg/PointCloud2", lambda value: isinstance(value, PointCloud), _write_cloud),
    ),
    definition=lambda kind: bytes(type_store().generate_msgdef(kind, ros_version=2)[0].encode()),
    serialize=lambda message, kind: bytes(type_store().serialize_cdr(message, kind)),
)


def _xyz(v: Any) -> list[float]:
    return [v.x, v.y, v.z]


def _wxyz(q: Any) -> list[float]:
    return [q.w, q.x, q.y, q.z]


# The numbers of a message, by its type: in the order of Drake, rotations first.
READ: dict[str, Callable[[Any], Any]] = {
    "std_msgs/msg/Float64MultiArray": lambda m: m.data,
    "std_msgs/msg/Float64": lambda m: [m.data],
    "std_msgs/msg/Float32": lambda m: [m.data],
    "sensor_msgs/msg/JointState": lambda m: np.concatenate([m.position, m.velocity]),
    "geometry_msgs/msg/PoseStamped": lambda m: [*_wxyz(m.pose.orientation), *_xyz(m.pose.position)],
    "geometry_msgs/msg/Pose": lambda m: [*_wxyz(m.orientation), *_xyz(m.position)],
    "geometry_msgs/msg/WrenchStamped": lambda m: [*_xyz(m.wrench.torque), *_xyz(m.wrench.force)],
    "geometry_msgs/msg/Wrench": lambda m: [*_xyz(m.torque), *_xyz(m.force)],
    "geometry_msgs/msg/TwistStamped": lambda m: [*_xyz(m.twist.angular), *_xyz(m.twist.linear)],
    "geometry_msgs/msg/Twist": lambda m: [*_xyz(m.angular), *_xyz(m.linear)],
    "geometry_msgs/msg/Vector3Stamped": lambda m: _xyz(m.vector),
    "geometry_msgs/msg/PointStamped": lambda m: _xyz(m.point),
    "sensor_msgs/msg/Imu": lambda m: [*_wxyz(m.orientation), *_xyz(m.angular_velocity), *_xyz(m.linear_acceleration)],
}
