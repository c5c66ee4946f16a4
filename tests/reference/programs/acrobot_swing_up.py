"""An acrobot swings up: its elbow follows a command that pumps energy until that of standing upright is reached."""

from math import pi

import numpy as np
from pydrake.all import *  # noqa: F403

DAMPING = 0.0


def add_acrobot(plant):
    shoulder_frame = plant.world_frame()
    for name, length, mass in (("upper", 1.0, 1.0), ("lower", 2.0, 1.0)):
        inertia = SpatialInertia.ThinRodWithMass(mass, length, [0.0, 0.0, 1.0])  # noqa: F405
        inertia = inertia.Shift([0.0, 0.0, 0.5 * length])
        link = plant.AddRigidBody(name, inertia)
        joint = RevoluteJoint(  # noqa: F405
            "shoulder" if name == "upper" else "elbow", shoulder_frame, link.body_frame(), [0, 1, 0], DAMPING
        )
        plant.AddJoint(joint)
        X_LE = RigidTransform(p=[0.0, 0.0, -length])  # noqa: F405
        shoulder_frame = plant.AddFrame(
            FixedOffsetFrame(name + "_end", link.body_frame(), X_LE)  # noqa: F405
        )
    plant.AddJointActuator("elbow", plant.GetJointByName("elbow"))
    plant.Finalize()
    return plant


class EnergyShaping(LeafSystem):  # noqa: F405
    """Linearizes the motion of the elbow by feedback, and moves it with the energy that is missing."""

    def __init__(self):
        LeafSystem.__init__(self)  # noqa: F405
        self.plant = add_acrobot(MultibodyPlant(0.0))  # noqa: F405
        self.context = self.plant.CreateDefaultContext()
        self.plant.SetPositions(self.context, [pi, 0.0])
        self.goal = self.plant.EvalPotentialEnergy(self.context)
        self.DeclareVectorInputPort("state", BasicVector(4))  # noqa: F405
        self.DeclareVectorOutputPort("torque", BasicVector(1), self.CalcTorque)  # noqa: F405

    def CalcTorque(self, context, output):
        x = self.GetInputPort("state").Eval(context)
        self.plant.SetPositionsAndVelocities(self.context, x)
        M = self.plant.CalcMassMatrix(self.context)
        bias = self.plant.CalcBiasTerm(self.context) - self.plant.CalcGravityGeneralizedForces(self.context)
        missing = self.goal - self.plant.EvalPotentialEnergy(self.context) - self.plant.EvalKineticEnergy(self.context)
        vdot_elbow = -2.0 * x[1] - 1.5 * x[3] - np.clip(0.8 * missing * x[2], -8.0, 8.0)
        M_elbow = M[1, 1] - M[1, 0] * M[0, 1] / M[0, 0]
        output[0] = M_elbow * vdot_elbow + bias[1] - M[1, 0] / M[0, 0] * bias[0]


builder = DiagramBuilder()  # noqa: F405
acrobot = builder.AddSystem(add_acrobot(MultibodyPlant(0.0)))  # noqa: F405
controller = builder.AddSystem(EnergyShaping())
builder.Connect(acrobot.get_state_output_port(), controller.GetInputPort("state"))
builder.Connect(controller.GetOutputPort("torque"), acrobot.get_actuation_input_port())
logger = LogVectorOutput(acrobot.get_state_output_port(), builder, 0.1)  # noqa: F405
diagram = builder.Build()
simulator = Simulator(diagram)  # noqa: F405
ApplySimulatorConfig(  # noqa: F405
    SimulatorConfig(integration_scheme="runge_kutta3", accuracy=1e-9, max_step_size=0.05),  # noqa: F405
    simulator,
)
simulator.get_mutable_context().SetContinuousState([0.2, 0.0, 0.0, 0.0])
simulator.AdvanceTo(3.0)
np.savetxt("result.txt", logger.FindLog(simulator.get_context()).data())
