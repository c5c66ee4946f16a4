"""Topics of recordings as output ports: what was commanded or measured drives a diagram."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.recordings.messages import READ, required, type_store

Array = NDArray[Any]
Read = Callable[[Any], Any]


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
