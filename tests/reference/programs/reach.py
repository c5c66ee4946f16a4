"""An arm follows poses of its hand by differential inverse kinematics and the driver of an iiwa; it has an IMU."""

from pathlib import Path

import numpy as np
from pydrake.all import (
    Accelerometer,
    DiagramBuilder,
    DifferentialInverseKinematicsIntegrator,
    DifferentialInverseKinematicsParameters,
    Gyroscope,
    LogVectorOutput,
    MultibodyPlant,
    Parser,
    RigidTransform,
    RotationMatrix,
    Simulator,
)
from pydrake.manipulation import IiwaDriver, SimIiwaDriver

MODEL = str(Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf")
HOME = np.array([0.1, 0.5, -0.2, -1.0, 0.3, 0.6, 0.0])


def add_arm(plant):
    (arm,) = Parser(plant).AddModels(MODEL)
    plant.Finalize()
    return arm


builder = DiagramBuilder()
plant = builder.AddSystem(MultibodyPlant(2.0**-9))
plant.SetUseSampledOutputPorts(False)
arm = add_arm(plant)
model = MultibodyPlant(0.0)
add_arm(model)
driver = SimIiwaDriver.AddToBuilder(
    builder, plant, arm, IiwaDriver(control_mode="position_only", ext_joint_filter_tau=0.05), model
)
parameters = DifferentialInverseKinematicsParameters(7, 7)
parameters.set_nominal_joint_position(HOME)
parameters.set_joint_centering_gain(0.2 * np.eye(7))
hand = model.GetFrameByName("tool")
follower = builder.AddSystem(
    DifferentialInverseKinematicsIntegrator(model, model.world_frame(), hand, 2.0**-7, parameters)
)
builder.Connect(plant.get_state_output_port(arm), follower.GetInputPort("robot_state"))
builder.Connect(follower.get_output_port(), driver.GetInputPort("position"))
body, X_BS = plant.GetBodyByName("link_7"), RigidTransform(RotationMatrix.MakeXRotation(0.3), [0.0, 0.02, 0.05])
gyroscope = builder.AddSystem(Gyroscope(body, X_BS))
accelerometer = builder.AddSystem(Accelerometer(body, X_BS, plant.gravity_field().gravity_vector()))
for sensor in (gyroscope, accelerometer):
    builder.Connect(plant.get_body_poses_output_port(), sensor.get_body_poses_input_port())
    builder.Connect(plant.get_body_spatial_velocities_output_port(), sensor.get_body_velocities_input_port())
builder.Connect(
    plant.get_body_spatial_accelerations_output_port(), accelerometer.get_body_accelerations_input_port()
)
ports = [
    plant.get_state_output_port(), follower.get_output_port(), gyroscope.get_measurement_output_port(),
    accelerometer.get_measurement_output_port(), driver.GetOutputPort("torque_commanded"),
]  # fmt: skip
logs = [LogVectorOutput(port, builder, 2.0**-4) for port in ports]
diagram = builder.Build()
simulator = Simulator(diagram)
context = simulator.get_mutable_context()
plant.SetPositions(plant.GetMyMutableContextFromRoot(context), HOME)
mine = follower.GetMyMutableContextFromRoot(context)
follower.SetPositions(mine, HOME)
X_WH = follower.ForwardKinematics(mine)
for n, step in enumerate([[0.0, 0.0, 0.0], [0.0, 0.02, -0.02], [-0.02, -0.02, 0.0]]):
    goal = RigidTransform(RotationMatrix.MakeZRotation(0.05 * n) @ X_WH.rotation(), X_WH.translation() + step)
    follower.GetInputPort("X_AE_desired").FixValue(mine, goal)
    simulator.AdvanceTo(0.21 * (n + 1))
np.savetxt("result.txt", np.concatenate([log.FindLog(context).data().ravel() for log in logs]))
