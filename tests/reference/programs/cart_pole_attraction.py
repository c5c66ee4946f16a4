"""How far a cart-pole may be from upright, so that its linear quadratic regulator brings it back."""

import numpy as np
from pydrake.common import RandomGenerator
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.systems.analysis import Simulator
from pydrake.systems.controllers import LinearQuadraticRegulator
from pydrake.systems.framework import BasicVector, DiagramBuilder, VectorSystem
from pydrake.systems.primitives import IsControllable, Linearize

CART_POLE = """
<robot name="cart_pole">
  <link name="cart"><inertial><mass value="2.5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <link name="pole"><inertial><origin xyz="0 0 -0.6"/><mass value="0.4"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/></joint>
  <joint name="theta" type="continuous"><parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/></joint>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="x"/><actuator name="push"/>
  </transmission>
</robot>
"""
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])


def make_plant():
    plant = MultibodyPlant(time_step=0.0)
    plant.set_name("cart_pole")
    Parser(plant=plant).AddModelsFromString(CART_POLE, "urdf")
    plant.Finalize()
    return plant


def make_regulator(plant):
    context = plant.CreateDefaultContext()
    context.SetContinuousState(UPRIGHT)
    port = plant.get_actuation_input_port()
    port.FixValue(context, np.zeros(1))
    linear = Linearize(plant, context, port.get_index(), plant.get_state_output_port().get_index())
    assert IsControllable(linear)
    return LinearQuadraticRegulator(linear.A(), linear.B(), np.diag([1.0, 10.0, 0.1, 0.1]), 0.1 * np.eye(1))


class Regulator(VectorSystem):
    def __init__(self, K):
        VectorSystem.__init__(self, 4, 1, direct_feedthrough=True)
        self.K = K

    def DoCalcVectorOutput(self, context, x, state, u):
        u[:] = -self.K @ (x - UPRIGHT)


plant = make_plant()
K, S = make_regulator(plant)

# V = e' S e falls in a set {V < rho}; the least V of random samples where it does not bounds rho from above.
context = plant.CreateDefaultContext()
numbers = np.random.default_rng(7)
rho = 40.0
inverse_root = np.linalg.inv(np.linalg.cholesky(S).T)
assert isinstance(RandomGenerator(3)(), int)
for _ in range(300):
    direction = numbers.normal(size=4)
    e = inverse_root @ (direction / np.linalg.norm(direction)) * np.sqrt(numbers.uniform(0.0, 40.0))
    context.SetContinuousState(UPRIGHT + e)
    plant.get_actuation_input_port().FixValue(context, -K @ e)
    V_dot = 2.0 * e @ S @ plant.EvalTimeDerivatives(context).CopyToVector()
    if V_dot >= 0.0:
        rho = min(rho, e @ S @ e)

builder = DiagramBuilder()
plant = builder.AddSystem(make_plant())
regulator = builder.AddSystem(Regulator(K))
builder.Connect(plant.get_state_output_port(), regulator.get_input_port(0))
builder.Connect(regulator.get_output_port(0), plant.get_actuation_input_port())
diagram = builder.Build()
ends = []
for direction in np.eye(4):
    simulator = Simulator(diagram)
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    start = BasicVector(UPRIGHT + inverse_root @ direction * np.sqrt(0.5 * rho))
    simulator.get_mutable_context().SetContinuousState(start.CopyToVector())
    simulator.Initialize()
    simulator.AdvanceTo(1.5)
    ends.append(simulator.get_context().get_continuous_state_vector().CopyToVector())
np.savetxt("result.txt", np.vstack([K, S, [rho, 0.0, 0.0, 0.0], ends]))
