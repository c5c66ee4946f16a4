"""Recordings with Foxglove's schemas: each message fits its schema, and each schema is Foxglove's own."""

from __future__ import annotations

import importlib
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantValueSource, ConstantVectorSource
from merganser.geometry import Box
from merganser.geometry.images import ImageLabel16I, ImageRgba8U
from merganser.geometry.perception import BaseField, Fields, PointCloud
from merganser.multibody.math import SpatialForce, SpatialVelocity
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import PrismaticJoint, SpatialInertia

pytest.importorskip("mcap")

from merganser.multibody.recordings import McapLogger, McapSource, ReadTopic

Messages = dict[str, list[dict[str, Any]]]


def read(path: Path) -> tuple[Messages, dict[str, dict[str, Any]]]:
    """The messages of a file by topic, and its schemas by name, by the package mcap."""
    from mcap.reader import make_reader

    found: Messages = {}
    schemas = {}
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            assert schema is not None and (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
            schemas[schema.name] = json.loads(schema.data)
            found.setdefault(channel.topic, []).append({"schema": schema.name, "content": json.loads(message.data)})
    return found, schemas


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Messages, dict[str, dict[str, Any]]]:
    """Each kind of value, of half a second."""
    builder, path = DiagramBuilder(), tmp_path_factory.mktemp("mcap") / "all.mcap"
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    cart = plant.AddRigidBody("cart", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), cart.body_frame(), [0.0, 0.0, 1.0]))
    plant.RegisterVisualGeometry(cart, RigidTransform([0.0, 0.1, 0.0]), Box(1, 2, 3), "cabin", [1.0, 0.5, 0.0, 0.25])
    plant.RegisterVisualGeometry(plant.world_body(), RigidTransform(), Box(9, 9, 0.1), "floor", [0.5, 0.5, 0.5, 1.0])
    plant.Finalize()
    cloud = PointCloud(2, Fields(BaseField.kXYZs | BaseField.kRGBs))
    cloud.mutable_xyzs()[:] = [[1, 2], [3, 4], [5, 6]]
    cloud.mutable_rgbs()[:] = [[10, 40], [20, 50], [30, 60]]
    image, label = ImageRgba8U(3, 2), ImageLabel16I(2, 1)
    image.mutable_data[1, 2] = [1, 2, 3, 4]
    X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    F, V = SpatialForce([1, 2, 3], [4, 5, 6]), SpatialVelocity([1, 2, 3], [4, 5, 6])
    values = {"/pose": X, "/force": F, "/speed": V, "/cloud": cloud, "/image": image, "/label": label}
    with McapLogger(builder, path, frame_id="map", schemas="foxglove") as logger:
        for name, value in values.items():
            logger.Add(builder.AddSystem(ConstantValueSource(Value(value))).get_output_port(), period=1.0, name=name)
        logger.Add(builder.AddSystem(ConstantVectorSource([7.0, np.inf])).get_output_port(), name="/vector")
        logger.Add(plant.get_state_output_port(), period=0.1, name="/joints")
        logger.Add(plant.get_body_poses_output_port(), period=0.25, name="/tf")
        logger.Add(scene_graph.get_query_output_port(), period=0.25, name="/world")
        Simulator(builder.Build()).AdvanceTo(0.5)
    return path, *read(path)


def test_each_message_fits_its_schema(recording: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="validates messages")
    _, messages, schemas = recording
    assert len(messages) == 11 and len(schemas) == 9
    for topic in messages.values():
        for message in topic:
            jsonschema.Draft202012Validator(schemas[message["schema"]]).validate(message["content"])


def test_schemas_are_those_of_foxglove(recording: Any) -> None:
    pytest.importorskip("foxglove_schemas_protobuf", reason="has Foxglove's schemas as tables")

    def compare(schema: dict[str, Any], descriptor: Any) -> None:
        fields = {field.name: field for field in descriptor.fields}
        assert schema["title"] in (descriptor.full_name, "time", "duration")
        optional = {"acceleration", "effort"} if descriptor.name == "JointState" else set()
        of_time = {"seconds": "sec", "nanos": "nsec"} if schema["title"] in ("time", "duration") else {}
        assert set(schema["properties"]) == {of_time.get(name, name) for name in fields} - optional
        for name, inner in schema["properties"].items():
            field = next(fields[key] for key in fields if of_time.get(key, key) == name)
            assert field.is_repeated == (inner.get("type") == "array"), name
            item = inner.get("items", inner)
            if field.enum_type is not None:
                assert {each["title"]: each["const"] for each in item["oneOf"]} == {
                    value.name: value.number for value in field.enum_type.values
                }
            elif field.message_type is None:
                assert item["type"] == {1: "number", 7: "integer", 8: "boolean", 9: "string", 12: "string"}.get(
                    field.type, "integer"
                )
            elif "properties" in item:  # the others are lists that stay empty
                compare(item, field.message_type)

    schemas = [schema for name, schema in recording[2].items() if name.startswith("foxglove.")]
    assert len(schemas) == 6
    for schema in schemas:
        name = schema["title"].removeprefix("foxglove.")
        module = importlib.import_module(f"foxglove_schemas_protobuf.{name}_pb2")
        compare(schema, getattr(module, name).DESCRIPTOR)


def test_messages_say_what_the_ports_gave(recording: Any) -> None:
    first = {topic: messages[0]["content"] for topic, messages in recording[1].items()}
    assert first["/pose"]["frame_id"] == "map" and first["/pose"]["pose"]["position"]["y"] == 2.0
    assert first["/force"]["torque"]["z"] == 3.0 and first["/speed"]["linear"]["x"] == 4.0
    assert list(first["/vector"]["values"].values()) == [7.0, None]
    assert [joint["name"] for joint in first["/joints"]["joints"]] == ["rail"]
    assert first["/image"]["encoding"] == "rgba8" and b64decode(first["/image"]["data"])[-4:] == bytes([1, 2, 3, 4])
    assert first["/label"]["encoding"] == "16UC1" and first["/label"]["step"] == 4
    cloud = first["/cloud"]
    kinds = [(field["name"], {7: "<f4", 1: "u1"}[field["type"]]) for field in cloud["fields"]]
    rows = np.frombuffer(b64decode(cloud["data"]), dtype=kinds)
    assert cloud["point_stride"] == rows.itemsize == 16
    assert rows["z"].tolist() == [5.0, 6.0] and rows["green"].tolist() == [20, 50]


def test_a_scene_graph_becomes_entities_that_move_with_frames(recording: Any) -> None:
    messages = recording[1]
    [scene] = messages["/world/scene"]
    entities = {entity["id"].rpartition("::")[2]: entity for entity in scene["content"]["entities"]}
    cabin, [triangles] = entities["cabin"], entities["cabin"]["triangles"]
    assert entities["floor"]["frame_id"] == "map" and triangles["pose"]["position"]["y"] == 0.1
    assert triangles["color"] == {"r": 1.0, "g": 0.5, "b": 0.0, "a": 0.25}
    points = np.array([[point[axis] for axis in "xyz"] for point in triangles["points"]])
    np.testing.assert_allclose(np.ptp(points, axis=0), [1.0, 2.0, 3.0])
    heights = [message["content"]["transforms"][0]["translation"]["z"] for message in messages["/world/transforms"]]
    names = {message["content"]["transforms"][0]["child_frame_id"] for message in messages["/world/transforms"]}
    assert names == {cabin["frame_id"]} and heights[0] == 0.0 and heights[0] > heights[1] > heights[2]


def test_a_recording_in_json_drives_a_diagram(recording: Any) -> None:
    path = recording[0]
    state = McapSource(path, "/joints")
    context = state.CreateDefaultContext()
    context.SetTime(0.35)
    fallen = ReadTopic(path, "/joints").values[:, 3]
    np.testing.assert_array_equal(state.get_output_port().Eval(context), fallen)
    assert fallen == pytest.approx([-9.81 * 0.01**2 * 30 * 31 / 2, -9.81 * 0.3])
    np.testing.assert_allclose(ReadTopic(path, "/pose").values[4:, 0], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"'/cloud' .* has messages foxglove\.PointCloud, whose numbers are not known"):
        ReadTopic(path, "/cloud")


def test_unknown_schemas_are_refused_before_there_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="schemas must be 'ros2' or 'foxglove', got 'ros1'"):
        McapLogger(DiagramBuilder(), tmp_path / "a.mcap", schemas="ros1")
    assert not (tmp_path / "a.mcap").exists()
