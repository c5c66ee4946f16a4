"""Sensors of kinds that a program brings, and the kinds of MJCF files."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.mjcf import sensor as read_by_parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors import AddSensor, SensorKind
from merganser.multibody.sensors.mjcf_sensors import MJCF_SENSORS
from merganser.multibody.tree import FixedOffsetFrame, SpatialInertia


def measure(kind: SensorKind, **arguments):
    """What a sensor of a kind measures of a ball that flies and turns, from a frame 0.1 m beside its middle."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    frame = plant.AddFrame(FixedOffsetFrame("side", ball.body_frame(), RigidTransform([0.1, 0.0, 0.0])))
    plant.Finalize()
    sensor = AddSensor(builder, plant, kind, [frame], **arguments)
    context = builder.Build().CreateDefaultContext()
    of_plant = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositions(of_plant, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    plant.SetVelocities(of_plant, [0.0, 0.0, 3.0, 1.0, 0.0, 0.0])
    return sensor.get_output_port().Eval(sensor.GetMyContextFromRoot(context))


def test_a_kind_of_a_user_measures_what_its_function_computes():
    def calc(sensor, ports):
        frame = sensor.frames[0]
        return [*ports.pose(frame).translation(), *ports.velocity(frame)[1], ports["state"][6], sensor.constants[1]]

    kind = SensorKind("all", 8, calc, ("body_poses", "body_spatial_velocities", "state"))
    np.testing.assert_allclose(measure(kind, constants=[4.0, 5.0]), [0.1, 0.0, 2.0, 1.0, 0.3, 0.0, 2.0, 5.0])


@pytest.mark.parametrize(
    ("size", "result", "inputs", "words"),
    [
        (2, [1.0], (), r"Sensor 'k': calc of SensorKind 'k' must return 2 numbers, got \[1.0\]"),
        (1, None, (), "must return 1 numbers, got None"),
        (1, "state", (), r"SensorKind 'k' reads the port 'state', which is not among its inputs \(\)"),
        (1, [1.0], ("stat",), "no output port named 'stat'. Did you mean 'state'"),
        (1, [1.0], "state", "inputs must be names of ports, got the text 'state'"),
    ],
)
def test_kinds_that_cannot_be_are_refused(size, result, inputs, words):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=words):
        measure(SensorKind("k", size, lambda sensor, ports: ports[result] if result == "state" else result, inputs))


def test_every_sensor_that_the_parser_reads_has_a_kind():
    assert set(read_by_parser._OF) == set(MJCF_SENSORS)
