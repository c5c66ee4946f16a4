"""Sensors of kinds that a program brings, and the kinds of MJCF files."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.mjcf import sensor as read_by_parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors import AddSensor, SensorKind, SensorSampling
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


@pytest.mark.parametrize("is_linear", [False, True])
def test_a_sensor_says_late_what_it_has_measured_at_its_events(is_linear):
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    plant.Finalize()
    clock, late = MJCF_SENSORS["clock"], SensorSampling(0.025, 9, 0.02, 0.01, is_linear)
    sensor = AddSensor(builder, plant, clock, sampling=late)
    simulator = Simulator(builder.Build())
    context = sensor.GetMyContextFromRoot(simulator.get_context())
    for t in (0.04, 0.05, 0.062, 0.1):
        simulator.AdvanceTo(t)
        then = t - 0.025
        expected = then if is_linear else 0.01 + 0.02 * np.floor((then - 0.01) / 0.02)
        assert sensor.get_output_port().Eval(context) == pytest.approx([expected])


def test_times_of_measurements_that_cannot_be_are_refused():
    for given in ({"delay": -1.0}, {"num_samples": 0}, {"period": 0.0}, {"offset": np.inf}):
        with pytest.raises(ValueError, match="must not be negative, the period must be positive"):
            SensorSampling(**given)
    with pytest.raises(RuntimeError, match="Sensor 'clock' measures at time steps, but its plant is continuous"):
        measure(MJCF_SENSORS["clock"], sampling=SensorSampling(0.1))
