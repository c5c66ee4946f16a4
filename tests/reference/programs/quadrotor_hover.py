"""A quadrotor with four propellers finds back to its place in the air."""

import numpy as np
import pydrake.multibody.plant as mbp
import pydrake.systems.framework as framework
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.tree import RpyFloatingJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.controllers import LinearQuadraticRegulator
from pydrake.systems.primitives import LogVectorOutput

MASS, ARM, GRAVITY = 0.8, 0.2, 9.81


def make_quadrotor():
    builder = framework.DiagramBuilder()
    plant = builder.AddSystem(mbp.MultibodyPlant(0.0))
    inertia = SpatialInertia(MASS, np.zeros(3), UnitInertia(0.006, 0.006, 0.011))
    body = plant.AddRigidBody("body", inertia)
    plant.AddJoint(RpyFloatingJoint("base", plant.world_frame(), body.body_frame()))
    plant.Finalize()
    propellers = []
    for i in range(4):
        angle = 0.5 * np.pi * i
        X_BP = RigidTransform(ARM * np.array([np.cos(angle), np.sin(angle), 0.0]))
        propellers.append(
            mbp.PropellerInfo(body.index(), X_BP, thrust_ratio=1.0, moment_ratio=0.02 * (-1) ** i)
        )
    propeller = builder.AddSystem(mbp.Propeller(propellers))
    builder.Connect(propeller.get_spatial_forces_output_port(), plant.get_applied_spatial_force_input_port())
    builder.Connect(plant.get_body_poses_output_port(), propeller.get_body_poses_input_port())
    builder.ExportInput(propeller.get_command_input_port(), "thrust")
    builder.ExportOutput(plant.get_state_output_port(), "state")
    return builder.Build()


quadrotor = make_quadrotor()
quadrotor.set_name("quadrotor")
context = quadrotor.CreateDefaultContext()
hover = np.zeros(12)
hover[3:6] = RigidTransform([0.0, 0.0, 1.0]).translation()
context.SetContinuousState(hover)
quadrotor.GetInputPort("thrust").FixValue(context, np.full(4, 0.25 * MASS * GRAVITY))
assert np.abs(quadrotor.EvalTimeDerivatives(context).CopyToVector()).max() < 1e-12
Q = np.diag([10.0] * 6 + [1.0] * 6)
controller = LinearQuadraticRegulator(quadrotor, context, Q, np.eye(4), input_port_index=0)

builder = framework.DiagramBuilder()
builder.AddSystem(quadrotor)
builder.AddSystem(controller)
builder.Connect(quadrotor.get_output_port(0), controller.get_input_port())
builder.Connect(controller.get_output_port(), quadrotor.get_input_port(0))
log = LogVectorOutput(quadrotor.get_output_port(0), builder, publish_period=0.1)
diagram = builder.Build()
results = [controller.D()]
for roll, x in ((0.6, 0.4), (-0.3, -1.0)):
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    ResetIntegratorFromFlags(simulator, "runge_kutta3", 0.1).set_target_accuracy(1e-6)
    start = hover.copy()
    start[:3] = RollPitchYaw(roll, 0.2, -0.5).vector()
    start[3] = x
    context.SetContinuousState(start)
    simulator.AdvanceTo(2.0)
    results.append(log.FindLog(context).data().T)
np.savetxt("result.txt", np.vstack(results))
