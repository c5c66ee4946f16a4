"""Accelerometers and gyroscopes on bodies of a plant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, ExtractValue
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors import Accelerometer, Accelerometer_, Gyroscope
from merganser.multibody.tree import FixedOffsetFrame, JacobianWrtVariable, RevoluteJoint, SpatialInertia

GRAVITY = np.array([0.0, 0.0, -9.81])
X_BS = RigidTransform(RollPitchYaw(0.3, -0.4, 0.5), [0.1, -0.2, 0.3])


class Station:
    """A body with both sensors, on a pivot about y that is above it, or free."""

    def __init__(self, time_step: float = 0.0, is_free: bool = False, gravity: Any = GRAVITY, X_BS: Any = X_BS) -> None:
        builder = DiagramBuilder()
        self.plant = plant = builder.AddSystem(MultibodyPlant(time_step))
        self.body = plant.AddRigidBody("body", SpatialInertia.SolidBoxWithMass(2.0, 0.3, 0.2, 0.1))
        if not is_free:
            pivot = plant.AddFrame(FixedOffsetFrame("pivot", self.body.body_frame(), RigidTransform([0.0, 0.0, 0.4])))
            plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), pivot, [0.0, 1.0, 0.0]))
        plant.Finalize()
        self.accelerometer = builder.AddSystem(Accelerometer(self.body, X_BS, gravity))
        self.gyroscope = builder.AddSystem(Gyroscope(self.body, X_BS))
        velocities = plant.get_body_spatial_velocities_output_port()
        for sensor in (self.accelerometer, self.gyroscope):
            builder.Connect(plant.get_body_poses_output_port(), sensor.get_body_poses_input_port())
            builder.Connect(velocities, sensor.get_body_velocities_input_port())
        accelerations = plant.get_body_spatial_accelerations_output_port()
        builder.Connect(accelerations, self.accelerometer.get_body_accelerations_input_port())
        self.diagram = builder.Build()
        self.context = self.diagram.CreateDefaultContext()

    def set_state(self, x: Any) -> None:
        self.plant.SetPositionsAndVelocities(self.plant.GetMyMutableContextFromRoot(self.context), x)

    def measure(self) -> tuple[Any, Any]:
        return tuple(
            sensor.get_measurement_output_port().Eval(sensor.GetMyContextFromRoot(self.context))
            for sensor in (self.accelerometer, self.gyroscope)
        )


def test_a_sensor_at_rest_measures_gravity_upwards() -> None:
    station = Station()
    a, w = station.measure()
    assert a == pytest.approx(X_BS.rotation().inverse() @ -GRAVITY, abs=1e-12)
    assert w.tolist() == [0.0, 0.0, 0.0]


def test_a_swinging_sensor_measures_the_acceleration_of_its_point() -> None:
    station = Station()
    station.set_state([0.7, 1.9])
    a, w = station.measure()
    plant, context = station.plant, station.plant.GetMyContextFromRoot(station.context)
    frames = station.body.body_frame(), X_BS.translation(), plant.world_frame(), plant.world_frame()
    J = plant.CalcJacobianTranslationalVelocity(context, JacobianWrtVariable.kV, *frames)
    bias = plant.CalcBiasTranslationalAcceleration(context, JacobianWrtVariable.kV, *frames)
    a_WS_W = J @ plant.EvalTimeDerivatives(context).CopyToVector()[1:] + bias.ravel()
    R_SW = (plant.EvalBodyPoseInWorld(context, station.body) @ X_BS).rotation().inverse()
    assert a == pytest.approx(R_SW @ (a_WS_W - GRAVITY), abs=1e-12)
    assert w == pytest.approx(R_SW @ [0.0, 1.9, 0.0], abs=1e-12)


def test_a_sensor_that_falls_freely_measures_its_spin_alone() -> None:
    station = Station(is_free=True)
    station.set_state([1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 4.0, 0.1, 0.2, 0.3])
    a, w = station.measure()
    p_BS, w_WB = X_BS.translation(), np.array([0.0, 0.0, 4.0])  # about a principal axis
    assert a == pytest.approx(X_BS.rotation().inverse() @ np.cross(w_WB, np.cross(w_WB, p_BS)), abs=1e-12)
    assert w == pytest.approx(X_BS.rotation().inverse() @ w_WB, abs=1e-12)


def test_without_gravity_it_measures_the_acceleration() -> None:
    station = Station(is_free=True, gravity=np.zeros(3), X_BS=RigidTransform())
    a, _ = station.measure()
    assert a == pytest.approx(GRAVITY, abs=1e-12)
    assert station.accelerometer.gravity_vector().tolist() == [0.0, 0.0, 0.0]


def test_sensors_of_a_plant_with_steps_measure_the_last_step() -> None:
    station = Station(time_step=0.001)
    station.set_state([0.7, 0.0])
    simulator = Simulator(station.diagram, station.context)
    simulator.AdvanceTo(0.05)
    a, w = station.measure()
    continuous = Station()
    plant_context = station.plant.GetMyContextFromRoot(station.context)
    continuous.set_state(station.plant.GetPositionsAndVelocities(plant_context))
    expected = continuous.measure()
    assert a == pytest.approx(expected[0], abs=0.05) and w == pytest.approx(expected[1], abs=0.02)


def test_sensors_have_derivatives() -> None:
    station = Station()
    station.set_state([0.7, 1.9])
    copy = station.diagram.ToAutoDiffXd()
    context = copy.CreateDefaultContext()
    context.SetTimeStateAndParametersFrom(station.context)
    sensor = copy.GetSubsystemByName(station.accelerometer.get_name())
    assert isinstance(sensor, Accelerometer_[AutoDiffXd])
    a = sensor.get_measurement_output_port().Eval(sensor.GetMyContextFromRoot(context))
    assert ExtractValue(a).ravel() == pytest.approx(station.measure()[0], abs=1e-12)


def test_sensors_say_where_they_are() -> None:
    station = Station()
    for sensor in (station.accelerometer, station.gyroscope):
        assert sensor.body_index() == station.body.index() and sensor.pose().IsExactlyEqualTo(X_BS)
        assert sensor.get_measurement_output_port().get_name() == "measurement"


@pytest.mark.parametrize("gravity", [[0.0, 1.0], [0.0, 0.0, np.nan]])
def test_gravity_that_cannot_be_is_refused(gravity: list[float]) -> None:
    with pytest.raises(ValueError, match="gravity_vector must be 3 finite numbers"):
        Station(gravity=gravity)


def test_a_sensor_of_a_body_of_another_plant_is_an_error() -> None:
    station = Station()
    context = station.accelerometer.CreateDefaultContext()
    for port in map(station.accelerometer.get_input_port, range(3)):
        port.FixValue(context, [])
    with pytest.raises(RuntimeError, match="body"):
        station.accelerometer.get_output_port().Eval(context)
