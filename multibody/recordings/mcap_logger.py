"""McapLogger: writes what ports give to an MCAP file while a simulation runs."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from merganser.analysis.plots import origin_of, port_labels
from merganser.framework import Context, DiagramBuilder, LeafSystem, OutputPort, PortDataType
from merganser.multibody.recordings.messages import (
    ROS2,
    MessageFormat,
    MessageKind,
    Source,
    is_poses,
    required,
    type_store,
)
from merganser.multibody.tree import BodyIndex, ModelInstanceIndex


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
