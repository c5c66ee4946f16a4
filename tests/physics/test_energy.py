"""Energy: conserved without forces that do work, and changed by exactly the work of those that do."""

import numpy as np
import pytest
from plants import Controller, arm_and_box, example_plant, no_actuation, set_random_state

from merganser.analysis import Simulator
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem


def energy(plant, context):
    return plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)


@pytest.mark.parametrize("file", ["cart_pole.sdf", "double_pendulum.urdf"])
def test_undamped_mechanism_conserves_energy(file):
    """Over 10 s, with an error of 1e-8 a step."""
    plant = example_plant(file)
    assert not plant._tree.default_damping().any()
    simulator = Simulator(plant)
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    context = simulator.get_mutable_context()
    no_actuation(plant, context)
    plant.SetPositionsAndVelocities(context, [0.1, 2.0, 0.3, -0.2])
    start, kinetic = energy(plant, context), plant.CalcKineticEnergy(context)
    simulator.AdvanceTo(10.0)
    assert abs(plant.CalcKineticEnergy(context) - kinetic) > 1e-3  # it did move
    assert energy(plant, context) == pytest.approx(start, abs=1e-6)


class WorkMeter(LeafSystem):
    """Integrates the power of the actuation and of the damping of a plant."""

    def __init__(self, plant):
        super().__init__()
        self.B, self.damping = plant.MakeActuationMatrix(), plant._tree.default_damping()
        self.num_q = plant.num_positions()
        self.DeclareVectorInputPort("u", plant.num_actuated_dofs())
        self.DeclareVectorInputPort("x", plant.num_multibody_states())
        self.DeclareContinuousState(BasicVector([0.0]))

    def DoCalcTimeDerivatives(self, context, derivatives):
        u, x = (self.GetInputPort(name).Eval(context) for name in "ux")
        v = x[self.num_q :]
        derivatives.SetFromVector([(self.B @ u - self.damping * v) @ v])


def test_work_of_actuation_and_damping_is_the_change_of_energy():
    plant = arm_and_box(0.0, damping=0.3)
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    controller = builder.AddSystem(Controller(2, lambda t: [9.0 * np.sin(5.0 * t), 40.0 * np.cos(3.0 * t)]))
    meter = builder.AddSystem(WorkMeter(plant))
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    builder.Connect(controller.get_output_port(), meter.GetInputPort("u"))
    builder.Connect(plant.get_state_output_port(), meter.GetInputPort("x"))
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    set_random_state(plant, context, 1)
    start = energy(plant, context)
    simulator.AdvanceTo(1.0)
    work = meter.GetMyContextFromRoot(root).get_continuous_state_vector()[0]
    assert abs(work) > 1.0
    assert energy(plant, context) - start == pytest.approx(work, abs=1e-6)
