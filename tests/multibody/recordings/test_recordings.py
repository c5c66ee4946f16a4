"""Recordings: what is written is what the ports gave, for the libraries of others and for ours."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantValueSource, ConstantVectorSource, LogVectorOutput, Sine
from merganser.geometry.images import ImageDepth32F, ImageRgba8U
from merganser.geometry.perception import BaseField, Fields, PointCloud
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import RevoluteJoint, SpatialInertia

pytest.importorskip("mcap")
rosbags = pytest.importorskip("rosbags")

from merganser.multibody.recordings import McapLogger, McapSource, ReadTopic, RosbagSource  # noqa: E402


def read_by_mcap(path: Path) -> list[tuple[str, str, float, bytes]]:
    from mcap.reader import make_reader

    with path.open("rb") as file:
        return [
            (channel.topic, schema.name, message.log_time * 1e-9, message.data)
            for schema, channel, message in make_reader(file).iter_messages()
        ]


def decoded(path: Path) -> dict[str, list[tuple[float, Any]]]:
    """What rosbags makes of the file, by topic."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    found: dict[str, list[tuple[float, Any]]] = {}
    for topic, name, time, data in read_by_mcap(path):
        found.setdefault(topic, []).append((time, store.deserialize_cdr(data, name)))
    return found


def double_pendulum(builder: DiagramBuilder) -> Any:
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    parent = plant.world_body()
    for name in ("upper", "lower"):
        body = plant.AddRigidBody(name, SpatialInertia.PointMass(1.0, [0.0, 0.0, -1.0]))
        plant.AddJoint(RevoluteJoint(f"{name}_pin", parent.body_frame(), body.body_frame(), [0.0, 1.0, 0.0]))
        parent = body
    plant.Finalize()
    plant.SetDefaultPositions([0.5, 0.2])
    return plant


def test_joints_and_bodies_of_a_plant(tmp_path: Path) -> None:
    builder, path = DiagramBuilder(), tmp_path / "run.mcap"
    plant = double_pendulum(builder)
    sink = LogVectorOutput(plant.get_state_output_port(), builder, 0.05)
    with McapLogger(builder, path) as logger:
        logger.Add(plant.get_state_output_port(), period=0.05, name="/joint_states")
        logger.Add(plant.get_body_poses_output_port(), period=0.1, name="/tf")
        simulator = Simulator(builder.Build())
        simulator.AdvanceTo(0.3)
    log = sink.FindLog(simulator.get_context())
    topics = decoded(path)
    joints = topics["/joint_states"]
    np.testing.assert_allclose([time for time, _ in joints], log.sample_times(), atol=1e-9)
    assert joints[0][1].name == ["upper_pin", "lower_pin"]
    state = np.array([[*message.position, *message.velocity] for _, message in joints]).T
    np.testing.assert_array_equal(state, log.data())
    transforms = topics["/tf"][0][1].transforms
    assert [each.child_frame_id for each in transforms] == ["upper", "lower"]
    assert [each.header.frame_id for each in transforms] == ["world", "world"]
    lower = transforms[1].transform
    plant_context = plant.GetMyContextFromRoot(Simulator(simulator.get_system()).get_context())
    X = plant.EvalBodyPoseInWorld(plant_context, plant.GetBodyByName("lower"))
    np.testing.assert_allclose([lower.translation.x, lower.translation.z], X.translation()[[0, 2]], atol=1e-15)
    np.testing.assert_allclose(lower.rotation.w, X.rotation().ToQuaternion().w())


def test_values_of_each_kind_are_read_by_rosbags(tmp_path: Path) -> None:
    builder, path = DiagramBuilder(), tmp_path / "values.mcap"
    cloud = PointCloud(2, Fields(BaseField.kXYZs | BaseField.kRGBs))
    cloud.mutable_xyzs()[:] = [[1, 2], [3, 4], [5, 6]]
    cloud.mutable_rgbs()[:] = [[10, 40], [20, 50], [30, 60]]
    image, depth = ImageRgba8U(3, 2), ImageDepth32F(2, 1)
    image.mutable_data[1, 2] = [1, 2, 3, 4]
    depth.mutable_data[0, 1] = 2.5
    X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    values = {"pose": X, "force": SpatialForce([1, 2, 3], [4, 5, 6]), "cloud": cloud, "image": image, "depth": depth}
    with McapLogger(builder, path, frame_id="map") as logger:
        for name, value in values.items():
            logger.Add(builder.AddSystem(ConstantValueSource(Value(value))).get_output_port(), period=1.0, name=name)
        logger.Add(builder.AddSystem(ConstantVectorSource([7.0, 8.0])).get_output_port(), name="/vector")
        Simulator(builder.Build()).AdvanceTo(0.5)
    found = {name: messages[0][1] for name, messages in decoded(path).items()}
    q = X.rotation().ToQuaternion().wxyz()
    of_pose = found["pose"].pose
    assert found["pose"].header.frame_id == "map" and of_pose.position.y == 2.0
    np.testing.assert_allclose([of_pose.orientation.w, of_pose.orientation.x, of_pose.orientation.y], q[:3])
    assert (found["force"].wrench.torque.z, found["force"].wrench.force.x) == (3.0, 4.0)
    assert (found["image"].encoding, found["image"].step, found["image"].data[-4:].tolist()) == (
        "rgba8",
        12,
        [1, 2, 3, 4],
    )
    assert found["depth"].encoding == "32FC1" and found["depth"].data.view(np.float32).tolist() == [0.0, 2.5]
    assert found["vector" if "vector" in found else "/vector"].data.tolist() == [7.0, 8.0]
    points = found["cloud"]
    kinds = np.dtype([(f.name, {7: "<f4", 6: "<u4"}[f.datatype]) for f in points.fields])
    rows = points.data.view(kinds)
    assert points.width == 2 and rows["z"].tolist() == [5.0, 6.0] and rows["rgb"].tolist() == [0x0A141E, 0x28323C]


@pytest.mark.parametrize("interpolate", ["hold", "linear"])
def test_a_recorded_topic_drives_a_diagram(tmp_path: Path, interpolate: str) -> None:
    path = tmp_path / "sine.mcap"
    builder = DiagramBuilder()
    with McapLogger(builder, path) as logger:
        logger.Add(
            builder.AddSystem(Sine([1.0, 2.0], [3.0, 3.0], [0.0, 0.0])).get_output_port(0), period=0.1, name="/u"
        )
        Simulator(builder.Build()).AdvanceTo(1.05)
    source = McapSource(path, "/u", interpolate)
    assert source.topic.message_type == "std_msgs/msg/Float64MultiArray" and source.topic.values.shape == (2, 11)
    context = source.CreateDefaultContext()
    for time, wanted in ((0.0, 0.0), (0.3, np.sin(0.9)), (9.0, np.sin(3.0))):
        context.SetTime(time)
        np.testing.assert_allclose(source.get_output_port().Eval(context), np.array([1.0, 2.0]) * wanted, atol=1e-14)
    context.SetTime(0.35)
    between = np.sin(0.9) if interpolate == "hold" else 0.5 * (np.sin(0.9) + np.sin(1.2))
    np.testing.assert_allclose(source.get_output_port().Eval(context)[0], between, atol=1e-14)


def test_a_logged_diagram_is_linearized_copied_and_writes_each_step_once(tmp_path: Path) -> None:
    builder, path = DiagramBuilder(), tmp_path / "run.mcap"
    sine = builder.AddSystem(Sine(1.0, 2.0, 0.0, 1))
    with McapLogger(builder, path) as logger:
        logger.Add(sine.get_output_port(0), name="/u")
        diagram = builder.Build()
        diagram.ToAutoDiffXd()
        copy.deepcopy(diagram)
        Simulator(diagram).AdvanceTo(0.25)
    times = ReadTopic(path, "/u").times
    assert times[0] == 0.0 and (np.diff(times) > 0.0).all() and times[-1] == 0.25


def test_a_bag_of_ros2_is_read(tmp_path: Path) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    Twist, Vector3 = (store.types[f"geometry_msgs/msg/{name}"] for name in ("Twist", "Vector3"))
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/cmd_vel", Twist.__msgtype__, typestore=store)
        for k in range(3):
            message = Twist(linear=Vector3(x=float(k), y=0.0, z=0.0), angular=Vector3(x=0.0, y=0.0, z=-float(k)))
            writer.write(connection, 5_000_000_000 + k * 100_000_000, store.serialize_cdr(message, Twist.__msgtype__))
    topic = ReadTopic(tmp_path / "bag", "/cmd_vel")
    np.testing.assert_allclose(topic.times, [0.0, 0.1, 0.2], atol=1e-12)
    np.testing.assert_array_equal(topic.values[[2, 3]], [[0.0, -1.0, -2.0], [0.0, 1.0, 2.0]])
    speed = RosbagSource(tmp_path / "bag", "/cmd_vel", read=lambda message: message.linear.x, from_start=False)
    assert speed.topic.times[0] == 5.0 and speed.get_output_port().size() == 1


def test_what_is_wrong_is_refused_by_name(tmp_path: Path) -> None:
    builder, path = DiagramBuilder(), tmp_path / "run.mcap"
    source = builder.AddNamedSystem("speed", ConstantVectorSource([1.0]))
    text = builder.AddNamedSystem("text", ConstantValueSource(Value("words")))
    logger = McapLogger(builder, path)
    logger.Add(source.get_output_port())
    with pytest.raises(ValueError, match="has a topic '/speed/y0' already"):
        logger.Add(source.get_output_port())
    with pytest.raises(ValueError, match=r"period of '/u' must be positive, got 0\.0 s"):
        logger.Add(source.get_output_port(), 0.0, "/u")
    with pytest.raises(TypeError, match=r"no message for Output port.*'::text', which gives str"):
        logger.Add(text.get_output_port())
    diagram = builder.Build()
    Simulator(diagram).AdvanceTo(0.1)
    logger.close()
    logger.close()
    diagram.ForcedPublish(diagram.CreateDefaultContext())  # is dropped
    with pytest.raises(RuntimeError, match=r"run\.mcap' has been closed"):
        logger.Add(source.get_output_port(), name="/other")
    with pytest.raises(ValueError, match="no messages of '/velocity'; its topics are /speed/y0"):
        McapSource(path, "/velocity")
    with pytest.raises(FileNotFoundError, match=r"no recording '.*absent\.mcap'"):
        McapSource(tmp_path / "absent.mcap", "/speed")
    with pytest.raises(ValueError, match="must be 'hold' or 'linear', got 'cubic'"):
        McapSource(path, "/speed/y0", "cubic")


def test_the_extra_is_named_where_a_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bag").mkdir()
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(ImportError, match=r"need the package mcap\. .*pip install 'merganser\[logs\]'"):
        McapLogger(DiagramBuilder(), tmp_path / "run.mcap")
    with pytest.raises(ImportError, match=r"need the package rosbags\. .*pip install 'merganser\[logs\]'"):
        RosbagSource(tmp_path / "bag", "/cmd_vel")
    assert not (tmp_path / "run.mcap").exists()
