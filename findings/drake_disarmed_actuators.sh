#!/usr/bin/env bash
# drake 1.51.1: forces of actuators with PD gains are dropped while no desired state is connected.
#
# A PD controller is disarmed while the port of desired states of its model instance is unconnected: "as if no PD
# controller exists", says the documentation of MultibodyPlant. One would guess that the force at the actuation port
# still acts, as it does where an actuator has no gains; and the port of net actuation says so, too. In a discrete step
# it does not act: nothing moves.
#
# Seen (5 N on 1 kg for 0.1 s, free of other forces):
#     without gains:                     net actuation 5 N, 0.5 m/s
#     with gains, no desired state:      net actuation 5 N, 0 m/s
#     with gains and a desired state:    4.28 N at the end, 0.46 m/s
#
# Instead: connect the port of desired states wherever an actuator has gains, with the state itself if need be; look at
# velocities, not at the port of net actuation, to see whether a force acts.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import PdControllerGains, PrismaticJoint, SpatialInertia, default_model_instance
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder


def push(has_gains, has_desired_state):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), ball.body_frame(), [1, 0, 0]))
    motor = plant.AddJointActuator("motor", rail)
    if has_gains:
        motor.set_controller_gains(PdControllerGains(p=10.0, d=1.0))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(context, [5.0])
    if has_desired_state:
        plant.get_desired_state_input_port(default_model_instance()).FixValue(context, [0.0, 0.0])
    simulator.AdvanceTo(0.1)
    return plant.get_net_actuation_output_port().Eval(context)[0], plant.GetVelocities(context)[0]


for case, expected in (((False, False), (5.0, 0.5)), ((True, False), (5.0, 0.0)), ((True, True), (4.2757, 0.4633))):
    force, speed = push(*case)
    print(f"gains {case[0]}, desired state {case[1]}: net actuation {force:.4f} N, {speed:.4f} m/s")
    np.testing.assert_allclose([force, speed], expected, atol=1e-3)
PROGRAM
