"""The hand of an arm goes through the poses of a pick and a place, by differential inverse kinematics."""

import numpy as np
import pydrake.multibody.tree as tree
from pydrake.common.value import AbstractValue
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.plant import MultibodyPlant
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder, LeafSystem
from pydrake.systems.primitives import Integrator, LogVectorOutput, StateInterpolatorWithDiscreteDerivative
from pydrake.trajectories import PiecewisePolynomial, PiecewisePose

X, Y, Z = np.eye(3)


def make_arm():
    plant = MultibodyPlant(0.001)
    parent = plant.world_frame()
    for i, (axis, offset) in enumerate([(Z, 0.3), (Y, 0.3), (Y, 0.35), (X, 0.3), (Y, 0.1), (X, 0.1)]):
        link = plant.AddRigidBody(f"link{i}", tree.SpatialInertia.SolidCubeWithDensity(1000.0, 0.05))
        base = plant.AddFrame(tree.FixedOffsetFrame(f"base{i}", parent, RigidTransform(offset * Z)))
        plant.AddJoint(
            tree.RevoluteJoint(name=f"joint{i}", frame_on_parent=base, frame_on_child=link.body_frame(), axis=axis)
        )
        parent = link.body_frame()
    plant.AddFrame(tree.FixedOffsetFrame("hand", parent, RigidTransform([0.0, 0.0, 0.1])))
    plant.Finalize()
    return plant


class PseudoInverse(LeafSystem):
    """Velocities of the joints that give the hand its velocity, and bring it to its pose."""

    def __init__(self, plant):
        super().__init__()
        self.plant, self.context = plant, plant.CreateDefaultContext()
        self.hand = plant.GetFrameByName("hand")
        self.X_WH = self.DeclareAbstractInputPort("X_WH", AbstractValue.Make(RigidTransform()))
        self.V_WH = self.DeclareVectorInputPort("V_WH", 6)
        self.q = self.DeclareVectorInputPort("q", plant.num_positions())
        self.DeclareVectorOutputPort("v", plant.num_velocities(), self.CalcVelocity)

    def CalcVelocity(self, context, output):
        self.plant.SetPositions(self.context, self.q.Eval(context))
        J = self.plant.CalcJacobianSpatialVelocity(
            self.context, tree.JacobianWrtVariable.kV, self.hand, np.zeros(3), self.plant.world_frame(),
            self.plant.world_frame(),
        )  # fmt: skip
        wanted = self.X_WH.Eval(context)
        actual = self.plant.CalcRelativeTransform(self.context, self.plant.world_frame(), self.hand)
        turn = (wanted.rotation() @ actual.rotation().inverse()).ToAngleAxis()
        error = np.concatenate([turn.angle() * turn.axis(), wanted.translation() - actual.translation()])
        output.SetFromVector(np.linalg.pinv(J) @ (self.V_WH.Eval(context) + 5.0 * error))


class Poses(LeafSystem):
    """A pose that depends on time, and its velocity."""

    def __init__(self, path):
        super().__init__()
        self.path, self.velocity = path, path.MakeDerivative()
        self.DeclareAbstractOutputPort("X", lambda: AbstractValue.Make(RigidTransform()), self.calc_pose)
        self.DeclareVectorOutputPort("V", 6, self.calc_velocity)

    def calc_velocity(self, context, output):
        output.SetFromVector(self.velocity.value(context.get_time()).ravel())

    def calc_pose(self, context, output):
        output.set_value(self.path.GetPose(context.get_time()))


plant = make_arm()
context = plant.CreateDefaultContext()
start = np.array([0.2, 0.4, 0.8, 0.3, 0.9, -0.2])
plant.SetPositions(context, start)
X_WStart = plant.GetFrameByName("hand").CalcPoseInWorld(context)
X_WPick = X_WStart @ RigidTransform(RollPitchYaw(0.1, -0.2, 0.3), [0.05, 0.0, 0.1])
X_WLift = RigidTransform(X_WPick.rotation(), X_WPick.translation() + [0.0, 0.0, 0.1])
R_WPlace = RotationMatrix.MakeZRotation(0.4) @ X_WStart.rotation()
X_WPlace = RigidTransform(R_WPlace, X_WStart.translation() + [-0.1, 0.15, -0.05])
path = PiecewisePose.MakeLinear([0.0, 1.0, 1.5, 2.5], [X_WStart, X_WPick, X_WLift, X_WPlace])
fingers = PiecewisePolynomial.FirstOrderHold([0.0, 1.0, 1.2, 2.5], [[0.1, 0.1, 0.0, 0.0]])

builder = DiagramBuilder()
poses = builder.AddNamedSystem("poses", Poses(path))
controller = builder.AddNamedSystem("controller", PseudoInverse(plant))
integrator = builder.AddNamedSystem("integrator", Integrator(6))
builder.Connect(poses.GetOutputPort("X"), controller.GetInputPort("X_WH"))
builder.Connect(poses.GetOutputPort("V"), controller.GetInputPort("V_WH"))
builder.Connect(controller.get_output_port(), integrator.get_input_port())
builder.Connect(integrator.get_output_port(), controller.GetInputPort("q"))
states = builder.AddSystem(StateInterpolatorWithDiscreteDerivative(6, 0.05, suppress_initial_transient=True))
builder.Connect(integrator.get_output_port(), states.get_input_port())
log = LogVectorOutput(states.get_output_port(), builder, 0.1)
simulator = Simulator(builder.Build())
root = simulator.get_mutable_context()
integrator.set_integral_value(integrator.GetMyContextFromRoot(root), start)
simulator.get_mutable_integrator().set_fixed_step_mode(True)
simulator.get_mutable_integrator().set_maximum_step_size(0.01)
simulator.AdvanceTo(2.5)
q = integrator.get_output_port().Eval(integrator.GetMyContextFromRoot(root))
plant.SetPositions(context, q)
reached = plant.GetFrameByName("hand").CalcPoseInWorld(context)
assert reached.IsNearlyEqualTo(X_WPlace, 1e-2), (reached, X_WPlace)
widths = [fingers.value(t)[0, 0] for t in np.linspace(0.0, 2.5, 26)]
np.savetxt("result.txt", np.vstack([log.FindLog(root).data(), widths]))
