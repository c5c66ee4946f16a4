#!/usr/bin/env bash
# drake 1.51.1: a discrete controller beside a discrete plant reads the state from after the plant's step.
#
# Plant and controller both update at t = 0, h, 2 h, ... With the default, sampled output ports, the plant's step is an
# unrestricted update, and those come before discrete updates of the same time: a controller with a discrete update at
# time t reads x(t + h), not x(t). One would guess that all updates at t see the values from before t, as two discrete
# systems do; a loop that reads the future by one step is more stable than the one on the robot.
#
# Seen (a body at 1 m/s, h = 0.25 s; what the controller reads at 0, 0.25, 0.5 s):
#     sampled outputs (the default):     0.25, 0.5, 0.75 m
#     SetUseSampledOutputPorts(False):   0, 0.25, 0.5 m
#
# Instead: SetUseSampledOutputPorts(False) before Finalize() where the delay of a loop matters.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder, EventStatus, LeafSystem

H = 0.25


class Controller(LeafSystem):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.DeclareVectorInputPort("x", 2)
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(H, 0.0, self.update)

    def update(self, context, discrete_state):
        self.seen.append(self.GetInputPort("x").Eval(context)[0])
        return EventStatus.Succeeded()


for is_sampled in (True, False):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), ball.body_frame(), [1, 0, 0]))
    plant.SetUseSampledOutputPorts(is_sampled)
    plant.Finalize()
    controller = builder.AddSystem(Controller())
    builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    simulator = Simulator(builder.Build())
    plant.SetVelocities(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), [1.0])
    simulator.AdvanceTo(0.6)
    print(f"sampled {is_sampled}: the controller reads", *controller.seen)
    np.testing.assert_allclose(controller.seen, np.array([0.0, 0.25, 0.5]) + (H if is_sampled else 0.0))
PROGRAM
