"""Linear models between ports: closed forms, loops that are opened, samples of systems with several rates."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.frequency import FrequencyResponse, LinearizeBetween, OpenLoopAt
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import Adder, Gain, LinearSystem, PassThrough, ZeroOrderHold

OMEGA = np.geomspace(1e-2, 1e2, 60)
S = 1j * OMEGA


def servo(gain=2.0):
    """A motor, 5 / (s (s + 1) (s + 5)), in a loop with a gain; input: what is wanted, output: the angle."""
    builder = DiagramBuilder()
    matrices = [[0.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -5.0]], [[0.0], [0.0], [5.0]], [[1.0, 0.0, 0.0]], [[0.0]]
    motor = builder.AddNamedSystem("motor", LinearSystem(*matrices))
    difference = builder.AddNamedSystem("difference", Adder(2, 1))
    amplifier = builder.AddNamedSystem("amplifier", Gain(gain, 1))
    minus = builder.AddNamedSystem("minus", Gain(-1.0, 1))
    builder.Connect(motor.get_output_port(), minus.get_input_port())
    builder.Connect(minus.get_output_port(), difference.get_input_port(1))
    builder.Connect(difference.get_output_port(), amplifier.get_input_port())
    builder.Connect(amplifier.get_output_port(), motor.get_input_port())
    builder.ExportInput(difference.get_input_port(0), "wanted")
    builder.ExportOutput(motor.get_output_port(), "angle")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    return diagram, context


def motor_response(s):
    return 5.0 / (s * (s + 1.0) * (s + 5.0))


def test_the_closed_loop_between_the_ports_of_a_diagram():
    diagram, context = servo()
    L = 2.0 * motor_response(S)
    np.testing.assert_allclose(FrequencyResponse(diagram, context, OMEGA).response[0, 0], L / (1.0 + L), rtol=1e-10)


def test_the_loop_gain_at_any_port_of_the_loop():
    diagram, context = servo()
    for name in ("motor", "amplifier", "minus"):
        port = diagram.GetSubsystemByName(name).get_input_port()
        loop = OpenLoopAt(diagram, context, port)
        found = FrequencyResponse(loop, omega=OMEGA).response[0, 0]
        np.testing.assert_allclose(found, 2.0 * motor_response(S), rtol=1e-10)


def test_a_disturbance_inside_of_the_loop():
    diagram, context = servo()
    motor = diagram.GetSubsystemByName("motor")
    P, L = motor_response(S), 2.0 * motor_response(S)
    between = motor.get_input_port(), motor.get_output_port()
    np.testing.assert_allclose(
        FrequencyResponse(diagram, context, OMEGA, *between).response[0, 0], P / (1.0 + L), rtol=1e-10
    )
    opened = [diagram.GetSubsystemByName("minus").get_input_port()]
    found = FrequencyResponse(diagram, context, OMEGA, *between, opened).response[0, 0]
    np.testing.assert_allclose(found, P, rtol=1e-10)


def test_ports_deep_inside_of_nested_diagrams():
    inner, _ = servo()
    builder = DiagramBuilder()
    builder.AddNamedSystem("drive", inner)
    source = builder.AddNamedSystem("source", PassThrough(1))
    builder.Connect(source.get_output_port(), inner.get_input_port())
    builder.ExportInput(source.get_input_port())
    outer = builder.Build()
    context = outer.CreateDefaultContext()
    outer.get_input_port().FixValue(context, [0.0])
    motor = inner.GetSubsystemByName("motor")
    loop = OpenLoopAt(outer, context, motor.get_input_port())
    np.testing.assert_allclose(
        FrequencyResponse(loop, omega=OMEGA).response[0, 0], 2.0 * motor_response(S), rtol=1e-10
    )
    L = 2.0 * motor_response(S)
    difference = inner.GetSubsystemByName("difference").get_input_port(0)  # fed through the port of the inner diagram
    closed = FrequencyResponse(outer, context, OMEGA, difference, motor.get_output_port()).response[0, 0]
    np.testing.assert_allclose(closed, L / (1.0 + L), rtol=1e-10)


def test_the_operating_point_is_not_changed():
    diagram, context = servo()
    motor = diagram.GetSubsystemByName("motor")
    before = motor.get_input_port().Eval(motor.GetMyContextFromRoot(context))
    OpenLoopAt(diagram, context, motor.get_input_port())
    context.SetContinuousState([0.5, 0.0, 0.0])
    assert before == [0.0] and motor.get_input_port().Eval(motor.GetMyContextFromRoot(context)) == [-1.0]


def sampled_loop(measured, commanded):
    """A double integrator with friction, whose position is sampled with one period, its command held with another."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(LinearSystem([[0.0, 1.0], [0.0, -1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]]))
    sampler, gain = builder.AddSystem(ZeroOrderHold(measured, 1)), builder.AddSystem(Gain(-3.0, 1))
    command, total = builder.AddSystem(ZeroOrderHold(commanded, 1)), builder.AddSystem(Adder(2, 1))
    builder.Cascade(plant, sampler)
    builder.Cascade(sampler, gain)
    builder.Cascade(gain, command)
    builder.Connect(command.get_output_port(), total.get_input_port(0))
    builder.Connect(total.get_output_port(), plant.get_input_port())
    builder.ExportInput(total.get_input_port(1))
    builder.ExportOutput(plant.get_output_port())
    return builder.Build()


@pytest.mark.parametrize(("periods", "common"), [((0.1, 0.1), 0.1), ((0.1, 0.2), 0.2), ((0.04, 0.06), 0.12)])
def test_samples_of_a_system_of_several_rates_are_those_of_a_simulation(periods, common):
    diagram = sampled_loop(*periods)
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    model = LinearizeBetween(diagram, context)
    assert model.time_period() == pytest.approx(common)
    simulator = Simulator(diagram)
    simulated = simulator.get_mutable_context()
    diagram.get_input_port().FixValue(simulated, [1.0])
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    x = np.zeros(model.num_states())
    for k in range(20):
        assert (model.C() @ x)[0] == pytest.approx(diagram.get_output_port().Eval(simulated)[0], abs=1e-9)
        x = model.A() @ x + model.B() @ [1.0]
        simulator.AdvanceTo((k + 1) * common)


def test_a_discrete_system_keeps_its_matrices():
    system = LinearSystem([[0.5, 0.1], [0.0, 0.8]], [[1.0], [0.5]], [[1.0, 2.0]], [[0.3]], time_period=0.1)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    model = LinearizeBetween(system, context)
    for name in "ABCD":
        np.testing.assert_allclose(getattr(model, name)(), getattr(system, name)(), atol=1e-15)
    omega = np.linspace(0.1, np.pi / 0.1, 30)
    z = np.exp(1j * omega * 0.1)
    expected = [system.C() @ np.linalg.solve(v * np.eye(2) - system.A(), system.B()) + system.D() for v in z]
    found = FrequencyResponse(system, omega=omega).response
    np.testing.assert_allclose(found[0, 0], np.ravel(expected), rtol=1e-12)


def test_wrong_ports_are_refused_by_name():
    diagram, context = servo()
    with pytest.raises(ValueError, match=r"wanted.*is not connected; there is no loop"):
        OpenLoopAt(diagram, context, diagram.get_input_port())
    with pytest.raises(ValueError, match="is not inside of system"):
        OpenLoopAt(diagram, context, Gain(1.0, 1).get_input_port())
    with pytest.raises(TypeError, match=r"Expected a port, got str"):
        LinearizeBetween(diagram, context, "motor")
    with pytest.raises(TypeError, match="is not linear; give the context of its operating point"):
        FrequencyResponse(diagram)
    discrete = LinearSystem([[0.5]], [[1.0]], [[1.0]], [[0.0]], time_period=0.1)
    with pytest.raises(ValueError, match=r"from 0 to 31\.4159 rad/s; got 40 rad/s"):
        FrequencyResponse(discrete, omega=[1.0, 40.0])


def test_periods_without_a_short_common_multiple_are_refused():
    diagram = sampled_loop(0.001, 0.00100001)
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    with pytest.raises(RuntimeError, match="have the least common multiple"):
        LinearizeBetween(diagram, context)
