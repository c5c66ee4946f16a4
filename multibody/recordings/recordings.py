"""Recordings: McapLogger writes what ports give to an MCAP file, and sources read topics as output ports.

So what was commanded or measured drives a diagram.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plots import origin_of, port_labels
from merganser.framework import Context, DiagramBuilder, LeafSystem, OutputPort, PortDataType
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.recordings.messages import (
    READ,
    ROS2,
    MessageFormat,
    MessageKind,
    Source,
    is_poses,
    required,
    type_store,
)
from merganser.multibody.tree import BodyIndex, ModelInstanceIndex

Array = NDArray[Any]
Read = Callable[[Any], Any]


class McapLogger:
    """Writes ports of a diagram as messages of ROS 2 or Foxglove, readable by Foxglove, PlotJuggler, rerun and rosbags.

    A plant's state of joints with one degree of freedom each becomes a JointState, other vectors a Float64MultiArray
    with the names of their elements; RigidTransform a PoseStamped, a list of them (a plant's `body_poses`) transforms
    (TFMessage); SpatialForce and SpatialVelocity a wrench and a twist; images and point clouds their messages. Time
    stamps are those of the simulation. With Foxglove's schemas, the query port of a SceneGraph becomes its geometries
    (SceneUpdate, once, at `<topic>/scene`) and their motion (`<topic>/transforms`), which a 3D panel draws.

        with McapLogger(builder, "run.mcap") as logger:
            logger.Add(plant.get_state_output_port(), period=0.01)
            diagram = builder.Build()
            Simulator(diagram).AdvanceTo(5.0)

    Args:
        builder: of the diagram, before it is built.
        path: of the file; an old one is replaced.
        frame_id: the name of the world frame in messages.
        schemas: "ros2", or "foxglove" for its schemas in JSON, which need no package of ROS.

    Raises:
        ImportError: the extra `logs` is not installed.
        OSError: the file cannot be written.
        ValueError: there are no such schemas.
    """

    _never_changes = True  # copies of a diagram write to the same file

    def __init__(
        self, builder: DiagramBuilder, path: str | Path, *, frame_id: str = "world", schemas: str = "ros2"
    ) -> None:
        writer_module = required("mcap.writer")
        self._format = _format_of(schemas)
        self._builder, self._path, self._frame = builder, Path(path), frame_id
        self._file = self._path.open("wb")
        self._writer = writer_module.Writer(self._file)
        self._writer.start(profile=self._format.profile, library="merganser")
        self._schemas: dict[str, int] = {}
        self._topics: set[str] = set()
        self._end = weakref.finalize(self, _finish, self._writer, self._file)

    def Add(self, port: OutputPort, period: float | None = None, name: str | None = None) -> LeafSystem:
        """Writes what a port gives.

        Args:
            port: of a system in the builder.
            period: between two messages [s]; by default there is one at the start and one after every step.
            name: of the topic; by default /<name of the system>/<name of the port>.

        Returns:
            The system that writes, which the builder owns.

        Raises:
            ValueError: there is such a topic already, or the period is not positive.
            TypeError: there is no message for such values.
            RuntimeError: the logger has been closed.
        """
        topic = name or f"/{port.get_system().get_name()}/{port.get_name()}".replace(" ", "_")
        kinds, names = _kinds_of(port, self._format)
        if not self._end.alive:
            raise RuntimeError(f"McapLogger: '{self._path}' has been closed, so that '{topic}' cannot be added.")
        if topic in self._topics:
            raise ValueError(f"McapLogger: '{self._path}' has a topic '{topic}' already; give another name.")
        if period is not None and not period > 0.0:
            raise ValueError(f"McapLogger: the period of '{topic}' must be positive, got {period!r} s.")
        self._topics.add(topic)
        source = Source(self._frame, names)
        return [self._add(port, kind, f"{topic}/{kind.subtopic}".rstrip("/"), source, period) for kind in kinds][-1]

    def _add(self, port: OutputPort, kind: MessageKind, topic: str, source: Source, period: float | None) -> LeafSystem:
        if kind.name not in self._schemas:
            definition = self._format.definition(kind.name)
            self._schemas[kind.name] = self._writer.register_schema(kind.name, self._format.schema_encoding, definition)
        channel = self._writer.register_channel(topic, self._format.message_encoding, self._schemas[kind.name])
        block = self._builder.AddSystem(_Topic(self, port, channel, kind, source, period))
        block.set_name(f"mcap:{topic}")
        self._builder.Connect(port, block.get_input_port())
        return block

    def close(self) -> None:
        """Ends the file; without it, that happens as the program ends. What is published afterwards is dropped."""
        self._end()

    def __deepcopy__(self, memo: dict[int, Any]) -> McapLogger:
        return self

    def __enter__(self) -> McapLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def write(self, channel: int, kind: MessageKind, message: Any, time: float) -> None:
        """Writes one message at a time of the simulation [s]."""
        if self._end.alive:
            data = self._format.serialize(message, kind.name)
            now = round(time * 1e9)
            self._writer.add_message(channel, log_time=now, data=data, publish_time=now)


def _finish(writer: Any, file: Any) -> None:
    writer.finish()
    file.close()


class _Topic(LeafSystem):
    """Writes its input."""

    def __init__(
        self,
        logger: McapLogger,
        port: OutputPort,
        channel: int,
        kind: MessageKind,
        source: Source,
        period: float | None,
    ) -> None:
        super().__init__()
        self._logger, self._channel, self._kind, self._source = logger, channel, kind, source
        if port.get_data_type() is PortDataType.kVectorValued:
            self.DeclareVectorInputPort("value", port.size())
        else:
            self.DeclareAbstractInputPort("value", port.Allocate())
        if kind.is_written_once:
            self.DeclareInitializationPublishEvent(self._write)
        elif period is None:
            self.DeclarePerStepPublishEvent(self._write)
        else:
            self.DeclarePeriodicPublishEvent(period, 0.0, self._write)
        self.DeclareForcedPublishEvent(self._write)

    def _write(self, context: Context) -> None:
        time = context.get_time()
        message = self._kind.write(self.get_input_port().Eval(context), time, self._source)
        self._logger.write(self._channel, self._kind, message, time)


def _format_of(schemas: str) -> MessageFormat:
    if schemas == "foxglove":
        from merganser.multibody.recordings.foxglove_messages import FOXGLOVE  # with a SceneGraph's geometries

        return FOXGLOVE
    if schemas != "ros2":
        raise ValueError(f"McapLogger: schemas must be 'ros2' or 'foxglove', got {schemas!r}.")
    type_store()  # refuses before there is a file
    return ROS2


def _kinds_of(port: OutputPort, messages: MessageFormat) -> tuple[list[MessageKind], list[str]]:
    """The messages of a port's values, and the names of its elements, joints or bodies."""
    value: Any = np.zeros(port.size())
    labels = port_labels(port)
    plant: Any = origin_of(port).get_system()
    is_of_plant = hasattr(plant, "num_model_instances")
    if port.get_data_type() is PortDataType.kVectorValued:
        n = port.size() // 2
        joints = [label[:-2] for label in labels[:n]]
        of_one_axis = {f"{joint}{q}": f"{joint}{v}" for joint in joints for q, v in (("_q", "_w"), ("_x", "_v"))}
        if n and is_of_plant and [of_one_axis.get(label) for label in labels[:n]] == labels[n:]:
            return [messages.joints], _without_instances(plant, joints)
    else:
        value = port.Allocate().get_value()
    if kinds := [kind for kind in messages.kinds if kind.takes(value)]:
        return kinds, _names_of_bodies(plant) if is_poses(value) and is_of_plant else labels
    raise TypeError(
        f"McapLogger: there is no message for {port.GetFullDescription()}, which gives {type(value).__name__}; "
        "vectors, poses, lists of poses, spatial forces and velocities, images and point clouds have one."
    )


def _names_of_bodies(plant: Any) -> list[str]:
    bodies = [plant.get_body(BodyIndex(n)) for n in range(plant.num_bodies())]
    names = [str(body.name()) for body in bodies]
    return names if len(set(names)) == len(names) else [str(body.scoped_name()) for body in bodies]


def _without_instances(plant: Any, names: list[str]) -> list[str]:
    """Names as files have them, where those of all model instances differ."""
    instances = [plant.GetModelInstanceName(ModelInstanceIndex(n)) for n in range(plant.num_model_instances())]
    shorter = []
    for name in names:
        prefix = max((f"{each}_" for each in instances if name.startswith(f"{each}_")), key=len, default="")
        shorter.append(name.removeprefix(prefix))
    return shorter if len(set(shorter)) == len(names) else names


class Topic(NamedTuple):
    """What one topic of a recording says.

    Attributes:
        times: [s], ascending, shape [N].
        values: one message a column, shape [size, N].
        message_type: as in "sensor_msgs/msg/JointState".
    """

    times: Array
    values: Array
    message_type: str


def ReadTopic(path: str | Path, topic: str, *, read: Read | None = None, from_start: bool = True) -> Topic:
    """Reads a topic of an MCAP file, or of a bag of ROS 1 or 2.

    Args:
        path: of a file .mcap or .bag, or of the folder of a bag of ROS 2.
        topic: its name.
        read: function of a message that returns its numbers, all messages as many. By default those of joints are
            positions and velocities; of poses (w, x, y, z) and the position; of wrenches and twists the rotational
            part, then the translational one; of arrays, vectors, points, numbers and inertial units what they hold.
        from_start: whether times are counted from the first message of the recording; else they are as recorded.

    Raises:
        ImportError: the extra `logs` is not installed.
        FileNotFoundError: there is no such file.
        ValueError: there is no such topic, it is empty, or its messages have different sizes.
        TypeError: how to read such messages is not known.
    """
    where = Path(path)
    if not where.exists():
        raise FileNotFoundError(f"There is no recording '{where}'.")
    messages = _messages_of_mcap(where) if where.suffix == ".mcap" else _messages_of_bag(where)
    others: set[str] = set()
    start, kind, times, rows = None, "", [], []
    for name, time, message_type, decode in messages:
        start = time if start is None else min(start, time)
        if name != topic:
            others.add(name)
            continue
        kind = message_type
        function = read or READ.get(kind) or _read_json(kind)
        if function is None:
            raise TypeError(
                f"Topic '{topic}' of '{where}' has messages {kind}, whose numbers are not known; give `read`, a "
                "function of a message that returns them."
            )
        times.append(time)
        rows.append(np.asarray(function(decode()), dtype=np.float64).reshape(-1))
    if not rows:
        raise ValueError(
            f"'{where}' has no messages of '{topic}'; its topics are {', '.join(sorted(others)) or 'none'}."
        )
    sizes = {len(row) for row in rows}
    if len(sizes) > 1:
        raise ValueError(f"Messages of '{topic}' in '{where}' have different sizes: {sorted(sizes)}.")
    order = np.argsort(times, kind="stable")
    ticks = np.array(times, dtype=np.int64)[order] - (start if from_start and start is not None else 0)
    return Topic(ticks / 1e9, np.array(rows)[order].T, kind)


def _messages_of_mcap(path: Path) -> Iterator[tuple[str, int, str, Callable[[], Any]]]:
    """Topic, time [ns], type and a function that decodes, of each message."""
    known: dict[int, str] = {}
    with path.open("rb") as file:
        for schema, channel, message in required("mcap.reader").make_reader(file).iter_messages(log_time_order=False):
            if schema is not None and (schema.encoding, channel.message_encoding) == ("jsonschema", "json"):
                yield channel.topic, message.log_time, schema.name, partial(json.loads, message.data)
                continue
            if schema is None or schema.encoding != "ros2msg":
                name, encoding = ("", "none") if schema is None else (schema.name, schema.encoding)
                yield channel.topic, message.log_time, name, partial(_refuse, path, channel.topic, encoding)
                continue
            store = type_store()
            if schema.id not in known:
                known[schema.id] = schema.name if "/msg/" in schema.name else schema.name.replace("/", "/msg/", 1)
                types = required("rosbags.typesys").get_types_from_msg(schema.data.decode(), known[schema.id])
                store.register({key: value for key, value in types.items() if key not in store.types})
            name = known[schema.id]
            yield channel.topic, message.log_time, name, partial(store.deserialize_cdr, message.data, name)


def _refuse(path: Path, topic: str, encoding: str) -> Any:
    raise TypeError(
        f"Topic '{topic}' of '{path}' has messages described by '{encoding}'; those of ROS 2 ('ros2msg') and in "
        "JSON ('jsonschema') can be read."
    )


def _read_json(kind: str) -> Read | None:
    """How a message in JSON is read; None if that is not known."""
    from merganser.multibody.recordings.foxglove_messages import READ_JSON  # with a SceneGraph's geometries

    return READ_JSON.get(kind)


def _messages_of_bag(path: Path) -> Iterator[tuple[str, int, str, Callable[[], Any]]]:
    with required("rosbags.highlevel").AnyReader([path], default_typestore=type_store()) as reader:
        for connection, time, data in reader.messages():
            name = connection.msgtype
            yield connection.topic, time, name, partial(reader.deserialize, data, name)


class RosbagSource(TrajectorySource):
    """Gives the numbers of a recorded topic, by the times of its messages; before the first and after the last, those.

    It is a TrajectorySource: simulations with it run compiled, and integrators end a step where the value jumps.

    Ports:
        output `y0`: shape [size].

    Args:
        path: of a recording, see ReadTopic.
        topic: its name.
        interpolate: "hold" for the last message's value, "linear" for lines between messages.
        read: see ReadTopic.
        from_start: see ReadTopic.

    Attributes:
        topic: what has been read.

    Raises:
        ValueError: there is no such topic or interpolation.
    """

    def __init__(
        self,
        path: str | Path,
        topic: str,
        interpolate: str = "hold",
        *,
        read: Read | None = None,
        from_start: bool = True,
    ) -> None:
        if interpolate not in ("hold", "linear"):
            raise ValueError(f"{type(self).__name__}: interpolate must be 'hold' or 'linear', got {interpolate!r}.")
        self.topic = found = ReadTopic(path, topic, read=read, from_start=from_start)
        is_last = np.append(np.diff(found.times) > 0.0, True)  # of those of one time, the last one counts
        times, values = found.times[is_last], found.values[:, is_last]
        if len(times) == 1:  # a polynomial has two breaks
            times, values = np.array([times[0], times[0] + 1.0]), np.repeat(values, 2, axis=1)
        elif interpolate == "hold":  # the last value has a segment of its own
            times, values = np.append(times, times[-1] + 1.0), np.column_stack((values, values[:, -1]))
        make = PiecewisePolynomial.ZeroOrderHold if interpolate == "hold" else PiecewisePolynomial.FirstOrderHold
        super().__init__(make(times, values))


class McapSource(RosbagSource):
    """The same of an MCAP file."""
