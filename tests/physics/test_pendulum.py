"""A pendulum has the period of the textbook, and the discrete plant converges to the continuous one."""

import math

import numpy as np
import pytest
from plants import arm_and_box, example_plant, no_actuation, pendulum, set_random_state

from merganser.analysis import Simulator

G = 9.81


def test_small_oscillation_has_the_period_of_the_mathematical_pendulum():
    """theta(t) = A cos(w t), w^2 = g / l, to the order of A^2 / 16 in the period."""
    length, amplitude = 0.7, 1e-3
    plant = pendulum(0.0, length)
    simulator = Simulator(plant)
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, [amplitude])
    period = 2.0 * math.pi * math.sqrt(length / G)
    for quarter in (0.25, 1.25, 2.25):  # where a wrong period shows most
        simulator.AdvanceTo(quarter * period)
        # A relative error of A^2 / 16 in the period moves the zero by less than 15 A^2 / 16 / w seconds.
        assert plant.GetPositions(context)[0] == pytest.approx(0.0, abs=amplitude**3 + 1e-8)
        assert plant.GetVelocities(context)[0] == pytest.approx(-amplitude * math.sqrt(G / length), rel=1e-4)


def test_static_torque_holds_the_pendulum_where_gravity_balances_it():
    length, mass, angle = 0.7, 1.3, 0.4
    plant = pendulum(0.0, length, mass, motor=True)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [angle])
    plant.get_actuation_input_port().FixValue(context, [mass * G * length * math.sin(angle)])
    np.testing.assert_allclose(plant.EvalTimeDerivatives(context).CopyToVector(), 0.0, atol=1e-12)


def final_state(plant, time_step, duration):
    simulator = Simulator(plant)
    if time_step == 0.0:
        simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    context = simulator.get_mutable_context()
    no_actuation(plant, context)
    set_random_state(plant, context, 3)
    simulator.AdvanceTo(duration)
    if time_step > 0.0:
        simulator.AdvancePendingEvents()
    x = plant.GetPositionsAndVelocities(context)
    for start in plant._model.quaternions:  # integrators keep their length, discrete steps do not, like Drake's
        x[start : start + 4] /= np.linalg.norm(x[start : start + 4])
    return x


@pytest.mark.parametrize("model", ["double pendulum", "damped arm and free box"])
def test_discrete_plant_converges_to_the_continuous_one_at_first_order(model):
    def make(time_step):
        if model == "double pendulum":
            return example_plant("double_pendulum.urdf", time_step)
        return arm_and_box(time_step, damping=2.0)

    duration = 0.25
    exact = final_state(make(0.0), 0.0, duration)
    errors = [np.abs(final_state(make(h), h, duration) - exact).max() for h in (duration / 128, duration / 256)]
    assert errors[0] < 0.2
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
