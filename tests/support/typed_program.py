"""A program of a user's, with what type checkers must see of it: checked by mypy and pyright, and run by a test."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from merganser.analysis import Simulator
from merganser.framework import (
    BasicVector,
    Context,
    ContinuousState,
    Diagram,
    DiagramBuilder,
    DiscreteValues,
    InputPort,
    LeafOutputPort,
    LeafSystem,
    OutputPort,
    System,
)
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.primitives import Gain, Gain_, LogVectorOutput, VectorLogSink
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import QueryObject, SceneGraph
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactResults, MultibodyPlant
from merganser.multibody.tree import ModelInstanceIndex, RevoluteJoint, RigidBody, SpatialInertia

Array = NDArray[Any]


class Damper(LeafSystem):
    """Torque against the rate of a hinge."""

    def __init__(self, damping: float) -> None:
        super().__init__()
        self.damping = damping
        assert_type(self.DeclareVectorInputPort("state", 2), InputPort[Array])
        assert_type(self.DeclareVectorOutputPort("torque", 1, self.calc_torque), LeafOutputPort[Array])

    def calc_torque(self, context: Context, output: BasicVector) -> None:
        rate = self.get_input_port(0).Eval(context)[1]
        output.SetFromVector([-self.damping * rate])


class Leak(LeafSystem):
    """Parameters of methods that are overridden may have other names."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, c: Context, d: ContinuousState) -> None:
        d.SetFromVector(-c.get_continuous_state_vector().CopyToVector())

    def DoCalcPotentialEnergy(self, c: Context) -> float:
        return 0.0


def build() -> tuple[Diagram, MultibodyPlant, Damper]:
    builder = DiagramBuilder()
    pair = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    plant, scene_graph = pair
    assert_type(plant, MultibodyPlant)
    assert_type(scene_graph, SceneGraph)
    bob = plant.AddRigidBody("bob", SpatialInertia.PointMass(mass=1.0, position=[0, 0, -1]))
    assert_type(bob, RigidBody)
    pin = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), bob.body_frame(), axis=[0, 1, 0]))
    assert_type(pin, RevoluteJoint)
    plant.AddJointActuator("motor", pin)
    robot = "<robot name='r'><link name='tip'/></robot>"
    assert_type(Parser(plant).AddModelsFromString(robot, "urdf"), list[ModelInstanceIndex])
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("tip"))
    plant.Finalize()
    damper = builder.AddSystem(Damper(0.5))
    assert_type(damper, Damper)
    assert_type(damper.damping, float)
    log = builder.AddNamedSystem("log", VectorLogSink(2))
    assert_type(log, VectorLogSink)
    builder.Connect(plant.get_state_output_port(), log.get_input_port())
    assert_type(LogVectorOutput(plant.get_state_output_port(), builder), VectorLogSink)
    assert_type(plant.get_state_output_port(), LeafOutputPort[Array])
    builder.Connect(plant.get_state_output_port(), damper.get_input_port())
    builder.Connect(damper.get_output_port(), plant.get_actuation_input_port())
    diagram = builder.Build()
    assert_type(diagram, Diagram)
    return diagram, plant, damper


def use() -> float:
    diagram, plant, damper = build()
    assert_type(MultibodyPlant(0.0), MultibodyPlant)
    assert_type(Gain(2.0, 1), Gain)
    assert_type(Gain_[AutoDiffXd], type[Gain])
    assert_type(damper.Clone(), Damper)
    assert_type(plant.ToAutoDiffXd(), MultibodyPlant)
    assert_type(damper.get_output_port(0), OutputPort[Any])
    assert_type(damper.get_input_port(0), InputPort[Any])
    assert_type(damper.get_output_port(0).get_system(), System)

    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.1)
    root = simulator.get_context()
    context = plant.GetMyContextFromRoot(root)
    assert_type(diagram.GetSubsystemContext(plant, root), Context)
    assert_type(plant.get_state_output_port().Eval(context), Array)
    assert_type(plant.get_body_poses_output_port().Eval(context), list[RigidTransform])
    assert_type(plant.get_contact_results_output_port().Eval(context), ContactResults)
    assert_type(plant.get_geometry_query_input_port().Eval(context), QueryObject)
    assert_type(context.get_discrete_state(), DiscreteValues)
    state = context.get_continuous_state_vector().CopyToVector()

    X_WB = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("bob"))
    assert_type(X_WB, RigidTransform)
    assert_type(X_WB @ X_WB.inverse(), RigidTransform)
    assert_type(X_WB @ np.zeros(3), Array)
    assert_type(X_WB.rotation() @ RotationMatrix(), RotationMatrix)
    assert_type(X_WB.multiply(np.zeros(3)), Array)
    line = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], [[0.0, 1.0]])
    assert_type(line, PiecewisePolynomial)
    return float(state[0] + line.value(0.5)[0, 0])


if __name__ == "__main__":
    print(use())
