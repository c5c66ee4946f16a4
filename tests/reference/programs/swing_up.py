"""A pendulum is swung up by its energy, then held by a linear quadratic regulator."""

import numpy as np
from pydrake.all import (
    ConstantVectorSource,
    DiagramBuilder,
    LeafSystem,
    Linearize,
    LinearQuadraticRegulator,
    LogVectorOutput,
    MultibodyPlant,
    RevoluteJoint,
    Saturation,
    Simulator,
    SpatialInertia,
    UnitInertia,
    wrap_to,
)  # fmt: skip


def make_plant():
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia(1.0, np.array([0.0, 0.0, -0.5]), UnitInertia(0.26, 0.26, 0.02))
    bob = plant.AddRigidBody("bob", inertia)
    pin = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), bob.body_frame(), [0, 1, 0], 0.05))
    plant.AddJointActuator("motor", pin)
    plant.Finalize()
    return plant


class SwingUp(LeafSystem):
    def __init__(self, plant):
        super().__init__()
        self.DeclareVectorInputPort("state", 2)
        self.DeclareVectorOutputPort("torque", 1, self.calc)
        self.plant, self.context = plant, plant.CreateDefaultContext()
        self.plant.SetPositions(self.context, [np.pi])
        self.top = plant.CalcPotentialEnergy(self.context)
        plant.get_actuation_input_port().FixValue(self.context, [0.0])
        linear = Linearize(
            plant, self.context, plant.get_actuation_input_port().get_index(),
            plant.get_state_output_port().get_index(),
        )  # fmt: skip
        self.K, self.S = LinearQuadraticRegulator(linear.A(), linear.B(), np.diag([10.0, 1.0]), np.eye(1))

    def calc(self, context, output):
        x = self.get_input_port(0).Eval(context)
        error = np.array([wrap_to(x[0], 0.0, 2.0 * np.pi) - np.pi, x[1]])
        if error @ self.S @ error < 8.0:
            output.SetFromVector(-self.K @ error)
            return
        self.plant.SetPositionsAndVelocities(self.context, x)
        energy = self.plant.CalcPotentialEnergy(self.context) + self.plant.CalcKineticEnergy(self.context)
        output.SetFromVector([0.5 * x[1] * (self.top - energy) + 0.05 * x[1]])


builder = DiagramBuilder()
plant = builder.AddSystem(make_plant())
controller = builder.AddSystem(SwingUp(make_plant()))
limit = builder.AddSystem(Saturation([-3.0], [3.0]))
builder.Connect(plant.get_state_output_port(), controller.get_input_port(0))
builder.Connect(controller.get_output_port(0), limit.get_input_port())
builder.Connect(limit.get_output_port(), plant.get_actuation_input_port())
log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.25)
simulator = Simulator(builder.Build())
context = simulator.get_mutable_context()
plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), [0.1, 0.0])
simulator.get_mutable_integrator().set_target_accuracy(1e-9)
simulator.AdvanceTo(3.0)
np.savetxt("result.txt", log.FindLog(simulator.get_context()).data())
assert ConstantVectorSource([1.0]).num_input_ports() == 0
