"""The compass gait and the rimless wheel: mechanics between landings and at them, limit cycles, rest."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.examples import CompassGait, CompassGaitParams, RimlessWheel
from merganser.examples.walkers import mass_terms, rates_after_landing
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff

Array = np.ndarray


def simulator_of(plant: CompassGait | RimlessWheel, state: list[float], accuracy: float) -> Simulator:
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    context.SetContinuousState(state)
    context.SetAccuracy(accuracy)
    simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    return simulator


def state_of(simulator: Simulator) -> Array:
    return simulator.get_context().get_continuous_state_vector().CopyToVector()


def masses_of_the_compass_gait(p: CompassGaitParams, x: Array) -> list[tuple[float, Array, Array]]:
    """Mass, position and velocity of hip, stance leg and swing leg, with the stance foot at the origin, in [x, z]."""

    def along(angle: float) -> Array:
        return np.array([math.sin(angle), math.cos(angle)])

    def across(angle: float) -> Array:
        return np.array([math.cos(angle), -math.sin(angle)])

    l, b = p.length_leg(), p.center_of_mass_leg()
    hip, hip_velocity = l * along(x[0]), l * x[2] * across(x[0])
    return [
        (p.mass_hip(), hip, hip_velocity),
        (p.mass_leg(), hip - b * along(x[0]), hip_velocity - b * x[2] * across(x[0])),
        (p.mass_leg(), hip - b * along(x[1]), hip_velocity - b * x[3] * across(x[1])),
    ]


def angular_momentum(masses: list[tuple[float, Array, Array]], about: Array) -> float:
    """Clockwise, as angles are."""
    return sum(m * ((r[1] - about[1]) * v[0] - (r[0] - about[0]) * v[1]) for m, r, v in masses)


def test_landing_keeps_angular_momenta_about_the_new_foot_and_the_hip() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        p = CompassGaitParams()
        p.SetFromVector([*rng.uniform(1.0, 10.0, 2), 1.3, rng.uniform(0.2, 1.2), 9.81, 0.1])
        x = np.concatenate([rng.uniform(-0.5, 0.5, 2), rng.normal(size=2)])
        after = np.array([x[1], x[0], *rates_after_landing(p, x)])
        before, then = masses_of_the_compass_gait(p, x), masses_of_the_compass_gait(p, after)
        new_foot = before[0][1] - p.length_leg() * np.array([math.sin(x[1]), math.cos(x[1])])
        assert angular_momentum(then, np.zeros(2)) == pytest.approx(angular_momentum(before, new_foot), abs=1e-12)
        trailing = angular_momentum([then[2]], then[0][1])
        assert trailing == pytest.approx(angular_momentum([before[1]], before[0][1]), abs=1e-12)


def test_a_compass_gait_keeps_its_energy_until_it_lands() -> None:
    plant = CompassGait()
    simulator = simulator_of(plant, [0.0, 0.0, 0.4, -2.0], 1e-10)
    context = simulator.get_context()

    def energy() -> float:
        return plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context)

    start = energy()
    simulator.AdvanceTo(0.3)
    assert energy() == pytest.approx(start, abs=1e-7) and context.get_discrete_state(0)[0] == 0.0
    simulator.AdvanceTo(0.6)
    assert energy() < start - 0.1 and context.get_discrete_state(0)[0] > 0.1


def test_a_passive_walker_walks_down_the_ramp_with_steps_that_are_all_alike() -> None:
    plant = CompassGait()
    simulator = simulator_of(plant, [0.0, 0.0, 0.4, -2.0], 1e-8)
    landings: list[tuple[float, float, bool]] = []

    def watch(context) -> None:
        foot, is_left = context.get_discrete_state(0)[0], context.get_abstract_state(0).get_value()
        if not landings or foot != landings[-1][1]:
            landings.append((context.get_time(), foot, is_left))

    simulator.set_monitor(watch)
    simulator.AdvanceTo(10.0)
    times, feet, sides = zip(*landings)
    assert len(feet) > 10 and sides[:4] == (True, False, True, False)
    assert np.ptp(np.diff(feet)[-4:]) < 1e-3 and np.ptp(np.diff(times)[-4:]) < 1e-3


def test_the_hip_torque_acts_on_both_legs() -> None:
    plant = CompassGait()
    context = plant.CreateDefaultContext()
    context.SetContinuousState([0.2, -0.1, 0.3, 0.4])
    without = plant.EvalTimeDerivatives(context).CopyToVector()
    plant.get_input_port().FixValue(context, [2.0])
    pushed = (plant.EvalTimeDerivatives(context).CopyToVector() - without)[2:]
    M11, M12, M22 = mass_terms(context.get_numeric_parameter(0), math.cos(0.3))
    assert np.array([[M11, M12], [M12, M22]]) @ pushed == pytest.approx([-2.0, 2.0], abs=1e-12)


@pytest.mark.parametrize("plant", [CompassGait(), RimlessWheel()], ids=["compass_gait", "rimless_wheel"])
@pytest.mark.parametrize("flag", [True, False])
def test_rates_of_the_floating_base_are_those_of_its_coordinates(plant, flag) -> None:
    if isinstance(plant, RimlessWheel):
        flag = False  # a wheel that rolls
    copy = plant.ToAutoDiffXd()
    context = copy.CreateDefaultContext()
    rng = np.random.default_rng(4)
    x = rng.normal(size=context.num_continuous_states())
    context.SetContinuousState(InitializeAutoDiff(x).ravel())
    context.SetDiscreteState(0, [1.7])
    context.SetAbstractState(0, flag)
    numbers = plant.CreateDefaultContext()
    numbers.SetContinuousState(x)
    numbers.SetAbstractState(0, flag)
    xdot = plant.EvalTimeDerivatives(numbers).CopyToVector()
    state = copy.get_floating_base_state_output_port().Eval(context)
    n = len(state) // 2
    rates = ExtractGradient(state[:n].reshape(-1, 1)) @ xdot
    assert [scalar.value() for scalar in state[n:]] == pytest.approx(rates, abs=1e-12)


def test_the_legs_of_the_floating_base_are_left_and_right() -> None:
    plant = CompassGait()
    context = plant.CreateDefaultContext()
    context.SetContinuousState([0.1, 0.3, 0.5, 0.7])
    port = plant.get_floating_base_state_output_port()
    assert port.Eval(context)[[4, 6, 11, 13]] == pytest.approx([0.1, 0.2, 0.5, 0.2])
    context.SetAbstractState(0, False)
    assert port.Eval(context)[[4, 6, 11, 13]] == pytest.approx([0.3, -0.2, 0.7, -0.2])


def test_a_wheel_rolls_at_the_speed_of_its_limit_cycle() -> None:
    plant = RimlessWheel()
    simulator = simulator_of(plant, [0.0, 3.0], 1e-9)
    p = simulator.get_mutable_context().get_mutable_numeric_parameter(0)
    p.set_slope(0.2)
    alpha = RimlessWheel.calc_alpha(p)
    assert alpha == pytest.approx(math.pi / 8.0)
    # The energy gained on a step is what landing takes, and is kept in between.
    k = p.gravity() / p.length()
    landed = 4.0 * k * math.sin(alpha) * math.sin(p.slope()) / math.tan(2.0 * alpha) ** 2
    simulator.AdvanceTo(15.0)
    theta, rate = state_of(simulator)
    energy = 0.5 * landed + k * math.cos(p.slope() - alpha)
    assert 0.5 * rate * rate + k * math.cos(theta) == pytest.approx(energy, abs=1e-5)
    assert simulator.get_context().get_discrete_state(0)[0] > 10.0


def test_a_wheel_that_rocks_comes_to_rest_on_two_spokes() -> None:
    plant = RimlessWheel()
    simulator = simulator_of(plant, [-0.2, 0.0], 1e-8)
    simulator.AdvanceTo(1.5)
    context = simulator.get_context()
    rest = state_of(simulator)
    assert context.get_abstract_state(0).get_value() is True
    assert rest == pytest.approx([0.08 - math.pi / 8.0, 0.0], abs=1e-6)
    assert plant.EvalTimeDerivatives(context).CopyToVector().tolist() == [0.0, 0.0]
    simulator.AdvanceTo(3.0)
    assert state_of(simulator).tolist() == rest.tolist()


def test_walkers_are_functions_of_symbols() -> None:
    sympy = pytest.importorskip("sympy")  # of the extra `symbolic`
    from merganser.framework.symbolic import MakeVectorVariable

    assert sympy
    for plant in (CompassGait(), RimlessWheel()):
        symbols = plant.ToSymbolic()
        context, numbers = symbols.CreateDefaultContext(), plant.CreateDefaultContext()
        x = MakeVectorVariable(numbers.num_continuous_states(), "x")
        context.SetContinuousState(x)
        values = np.random.default_rng(2).normal(size=len(x))
        numbers.SetContinuousState(values)
        env = dict(zip(x, values))
        expected = plant.EvalTimeDerivatives(numbers).CopyToVector()
        found = [each.Evaluate(env) for each in symbols.EvalTimeDerivatives(context).CopyToVector()]
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("plant", [CompassGait(), RimlessWheel()], ids=["compass_gait", "rimless_wheel"])
def test_copies_walk_the_same_way(plant) -> None:
    start = [0.0, 0.0, 0.4, -2.0] if isinstance(plant, CompassGait) else [0.0, 3.0]
    ends = []
    for each in (plant, plant.Clone(), pickle.loads(pickle.dumps(plant))):
        simulator = simulator_of(each, start, 1e-6)
        simulator.AdvanceTo(0.7)
        ends.append(state_of(simulator).tolist())
        assert simulator.get_context().get_discrete_state(0)[0] > 0.5
    assert ends[0] == ends[1] == ends[2]
