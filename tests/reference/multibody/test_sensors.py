"""Inertial sensors, and poses for a SceneGraph, against pydrake's."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")

pytestmark = pytest.mark.reference


def library(root: str, modules: dict[str, str]) -> SimpleNamespace:
    names = {}
    for module, wanted in modules.items():
        home = importlib.import_module(f"{root}.{module}")
        names |= {name: getattr(home, name) for name in wanted.split()}
    return SimpleNamespace(**names)


TREE, MATH = "SpatialInertia RevoluteJoint", "SpatialVelocity SpatialAcceleration"
OURS = library(
    "merganser",
    {
        "multibody.sensors": "Accelerometer Gyroscope", "multibody.tree": TREE, "multibody.math": MATH,
        "multibody.plant": "MultibodyPlant AddMultibodyPlantSceneGraph MultibodyPositionToGeometryPose",
        "framework": "Value DiagramBuilder", "framework.math": "RigidTransform RollPitchYaw",
    },
)  # fmt: skip
THEIRS = library(
    "pydrake",
    {
        "systems.sensors": "Accelerometer Gyroscope", "multibody.tree": TREE, "multibody.math": MATH,
        "multibody.plant": "MultibodyPlant AddMultibodyPlantSceneGraph",
        "systems.rendering": "MultibodyPositionToGeometryPose", "systems.framework": "DiagramBuilder",
        "common.value": "Value", "math": "RigidTransform RollPitchYaw",
    },
)  # fmt: skip


def readings(lib: SimpleNamespace, name: str, seed: int) -> tuple[Any, ...]:
    """Ports of a sensor on the second of three bodies, and what it measures of random motions."""
    rng = np.random.default_rng(seed)
    plant = lib.MultibodyPlant(0.0)
    bodies = [plant.AddRigidBody(f"b{i}", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1)) for i in range(2)]
    X = [lib.RigidTransform(lib.RollPitchYaw(*rng.normal(size=3)), rng.normal(size=3)) for _ in range(4)]
    V = [lib.SpatialVelocity(rng.normal(size=3), rng.normal(size=3)) for _ in range(3)]
    A = [lib.SpatialAcceleration(rng.normal(size=3), rng.normal(size=3)) for _ in range(3)]
    more = {"gravity_vector": rng.normal(size=3)} if name == "Accelerometer" else {}
    sensor = getattr(lib, name)(body=bodies[1], X_BS=X[3], **more)
    context = sensor.CreateDefaultContext()
    sensor.get_body_poses_input_port().FixValue(context, lib.Value(X[:3]))
    sensor.get_body_velocities_input_port().FixValue(context, lib.Value(V))
    if name == "Accelerometer":
        sensor.get_body_accelerations_input_port().FixValue(context, lib.Value(A))
    ports = [sensor.get_input_port(i).get_name() for i in range(sensor.num_input_ports())]
    return sensor.get_measurement_output_port().Eval(context), ports, int(sensor.body_index())


@pytest.mark.parametrize("name", ["Accelerometer", "Gyroscope"])
def test_what_inertial_sensors_measure(name: str) -> None:
    for seed in range(5):
        (here, *structure), (there, *expected) = readings(OURS, name, seed), readings(THEIRS, name, seed)
        np.testing.assert_allclose(here, there, atol=1e-12)
        assert structure == expected


def poses(lib: SimpleNamespace, with_velocities: bool) -> tuple[Any, ...]:
    builder = lib.DiagramBuilder()
    plant, _ = lib.AddMultibodyPlantSceneGraph(builder, 0.0)
    arm = plant.AddRigidBody("arm", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(lib.RevoluteJoint("joint", plant.world_frame(), arm.body_frame(), [0.0, 1.0, 0.0]))
    ball = plant.AddRigidBody("ball", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    block = lib.MultibodyPositionToGeometryPose(plant=plant, input_multibody_state=with_velocities)
    context = block.CreateDefaultContext()
    port = block.get_input_port()
    x = np.concatenate([[1.0, 0.0, 0.0, 0.0], np.arange(1.0, 12.0)])[: port.size()]
    port.FixValue(context, x)
    output = block.get_output_port().Eval(context)
    found = [output.value(plant.GetBodyFrameIdOrThrow(body.index())).GetAsMatrix4() for body in (arm, ball)]
    return np.array(found), port.get_name(), port.size(), block.get_output_port().get_name(), output.size()


@pytest.mark.parametrize("with_velocities", [False, True])
def test_poses_of_positions_that_come_from_elsewhere(with_velocities: bool) -> None:
    (here, *ports), (there, *expected) = poses(OURS, with_velocities), poses(THEIRS, with_velocities)
    np.testing.assert_allclose(here, there, atol=1e-12)
    assert ports == expected
