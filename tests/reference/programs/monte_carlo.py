"""Where a ball on a rough, random slope ends: random defaults of systems and joints, many simulations."""

import numpy as np
from pydrake.common import RandomDistribution, RandomGenerator
from pydrake.common.schema import Gaussian, ToDistribution, Uniform
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia
from pydrake.symbolic import Expression, Variable
from pydrake.systems.analysis import MonteCarloSimulation, RandomSimulation, Simulator
from pydrake.systems.framework import BasicVector, DiagramBuilder, LeafSystem
from pydrake.systems.primitives import RandomSource


class Slope(LeafSystem):
    """Pushes along the slope."""

    def __init__(self, angle):
        LeafSystem.__init__(self)
        self.angle = self.DeclareNumericParameter(BasicVector([angle]))
        self.velocity = self.DeclareVectorInputPort("state", 2)
        self.wind = self.DeclareVectorInputPort("wind", 1)
        self.DeclareVectorOutputPort("force", 1, self.calc_force)

    def calc_force(self, context, output):
        (angle,) = context.get_numeric_parameter(self.angle).CopyToVector()
        _, v = self.velocity.Eval(context)
        output.SetFromVector([9.81 * np.sin(angle) - 0.5 * v + 0.2 * self.wind.Eval(context)[0]])


def make_simulator(generator):
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", MultibodyPlant(0.0))
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(mass=1.0, radius=0.1))
    joint = plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), ball.body_frame(), [1, 0, 0]))
    plant.AddJointActuator("push", joint)
    plant.Finalize()
    uniform = Variable("u", Variable.Type.RANDOM_UNIFORM)
    joint.set_random_translation_distribution(Expression(0.5) * uniform - 0.25)
    slope = builder.AddNamedSystem("slope", Slope(ToDistribution(Uniform(min=0.1, max=0.5)).Sample(generator)))
    wind = builder.AddNamedSystem("wind", RandomSource(RandomDistribution.kGaussian, 1, 0.25))
    builder.Connect(plant.get_state_output_port(), slope.get_input_port(0))
    builder.Connect(wind.get_output_port(0), slope.get_input_port(1))
    builder.Connect(slope.get_output_port(0), plant.get_actuation_input_port())
    diagram = builder.Build()
    diagram.set_name("slope and ball")
    simulator = Simulator(diagram)
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    return simulator


def place(system, context):
    plant = system.GetSubsystemByName("plant")
    return plant.GetPositions(plant.GetMyContextFromRoot(context))[0]


generator = RandomGenerator(5)
study = [RandomSimulation(make_simulator, place, final_time=1.0, generator=generator) for _ in range(6)]
many = MonteCarloSimulation(
    make_simulator=make_simulator, output=place, final_time=1.0, num_samples=3, generator=RandomGenerator(11)
)
again = [RandomSimulation(make_simulator, place, 1.0, result.generator_snapshot) for result in many]
assert again == [result.output for result in many]
mass = Gaussian(mean=2.0, stddev=0.5)
masses = RandomGenerator(1)
draws = [ToDistribution(mass).Sample(masses) for _ in range(3)]
np.savetxt("result.txt", [*study, *draws])
