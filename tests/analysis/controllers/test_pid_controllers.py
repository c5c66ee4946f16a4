"""PID control: its equations, its ports, and the loop around a plant."""

import numpy as np
import pytest
import scipy.linalg

from merganser.analysis import Simulator
from merganser.analysis.controllers import PidControlledSystem, PidController
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import ConstantVectorSource, Linearize, LinearSystem

KP, KI, KD = np.array([[1.5, 2.5], [0.5, 0.7], [0.2, 0.3]])


def random_matrix(*shape):
    return np.random.default_rng(3).normal(size=shape)


PROJECTIONS = {
    "none": (),
    "state": (random_matrix(4, 7),),
    "state and output": (random_matrix(4, 7), random_matrix(3, 2)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("projections", PROJECTIONS.values(), ids=PROJECTIONS)
def test_controller_follows_its_equations(projections, dtype):
    system = PidController(*projections, KP, KI, KD)
    P_x, P_y = (*projections, *(np.eye(4), np.eye(2))[len(projections) :])
    context = system._make_context(dtype)
    system.SetDefaultContext(context)
    rng = np.random.default_rng(4)
    phase = 1.0 + 0.5j if dtype is np.complex128 else 1.0
    x, x_d, z = (phase * rng.normal(size=n) for n in (P_x.shape[1], 4, 2))
    system.get_input_port_estimated_state().FixValue(context, x)
    system.get_input_port_desired_state().FixValue(context, x_d)
    context.SetContinuousState(z)
    e, edot = np.split(x_d - P_x @ x, 2)
    control = system.get_output_port_control().Eval(context)
    np.testing.assert_allclose(control, P_y @ (KP * e + KI * z + KD * edot), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(system.EvalTimeDerivatives(context).CopyToVector(), e, rtol=1e-14, atol=1e-14)


def test_terms_are_added_in_their_order():
    system = PidController(kp=KP, ki=KI, kd=KD)
    context = system.CreateDefaultContext()
    rng = np.random.default_rng(5)
    for _ in range(50):
        x, x_d, z = rng.normal(size=4).tolist(), rng.normal(size=4).tolist(), rng.normal(size=2).tolist()
        system.get_input_port(0).FixValue(context, x)
        system.get_input_port(1).FixValue(context, x_d)
        context.SetContinuousState(z)
        expected = []
        for i, (kp, ki, kd) in enumerate(zip(KP.tolist(), KI.tolist(), KD.tolist())):
            expected.append((kp * (x_d[i] - x[i]) + ki * z[i]) + kd * (x_d[2 + i] - x[2 + i]))
        assert system.get_output_port().Eval(context).tolist() == expected


def test_ports_and_gains_of_a_controller():
    system = PidController(state_projection=random_matrix(4, 7), kp=KP, ki=KI, kd=KD)
    ports = {port.get_name(): port.size() for port in (system.get_input_port(0), system.get_input_port(1))}
    assert ports == {"estimated_state": 7, "desired_state": 4}
    assert (system.get_output_port().get_name(), system.get_output_port().size()) == ("control", 2)
    assert sorted(system.GetDirectFeedthroughs()) == [(0, 0), (1, 0)]
    state = system.CreateDefaultContext().get_continuous_state()
    assert (state.num_q(), state.num_z(), state.CopyToVector().tolist()) == (0, 2, [0.0, 0.0])
    gains = (system.get_Kp_vector(), system.get_Ki_vector(), system.get_Kd_vector())
    np.testing.assert_array_equal(gains, [KP, KI, KD])
    gains[0][:] = 0.0
    assert (system.get_Kp_vector() == KP).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1.0], [1.0, 2.0]), "equally many elements; got 2, 1 and 2"),
        ((np.eye(3), KP, KI, KD), r"state_projection must have shape \(4, any\) .* got \(3, 3\)"),
        ((np.eye(4), np.eye(3), KP, KI, KD), r"output_projection must have shape \(any, 2\) .* got \(3, 3\)"),
        (([np.nan], [1.0], [1.0]), "kp: an element is not a number"),
    ],
)
def test_gains_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=f"PidController: .*{message}"):
        PidController(*arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PidController(KP, KI),
        lambda: PidController(KP, KI, KD, kp=KP),
        lambda: PidController(projection=np.eye(4), kp=KP, ki=KI, kd=KD),
        lambda: PidControlledSystem(None, 1.0, 2.0, 3.0),
        lambda: PidControlledSystem(double_integrator(), 1.0, 2.0),
    ],
)
def test_wrong_arguments_are_refused(make):
    with pytest.raises(TypeError):
        make()


def test_unconnected_controller_names_its_port():
    system = PidController(KP, KI, KD)
    with pytest.raises(RuntimeError, match=r"Input port 'estimated_state' .* is not connected"):
        system.get_output_port().Eval(system.CreateDefaultContext())


# ---------------------------------------------------------------------- around a plant


def double_integrator(n=1):
    """n unit masses: (q, v), pushed by u."""
    zero, one = np.zeros((n, n)), np.eye(n)
    return LinearSystem(np.block([[zero, one], [zero, zero]]), np.vstack([zero, one]), np.eye(2 * n))


def closed_loop(kp, ki, kd):
    """d(q, v, z)/dt of one mass under PID control, with inputs (feedforward, q_d, v_d)."""
    A = np.array([[0.0, 1.0, 0.0], [-kp, -kd, ki], [-1.0, 0.0, 0.0]])
    B = np.array([[0.0, 0.0, 0.0], [1.0, kp, kd], [0.0, 1.0, 0.0]])
    return A, B


@pytest.mark.parametrize("selector", [(), (np.eye(2),)])
def test_controlled_plant_moves_as_linear_theory_says(selector):
    system = PidControlledSystem(double_integrator(), *selector, 3.0, 0.8, 1.2)
    simulator = Simulator(system)
    context = simulator.get_mutable_context()
    system.get_control_input_port().FixValue(context, [0.4])
    system.get_state_input_port().FixValue(context, [1.0, 0.0])
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    simulator.AdvanceTo(2.0)
    A, B = closed_loop(3.0, 0.8, 1.2)
    drive = B @ [0.4, 1.0, 0.0]
    expected = scipy.linalg.expm(2.0 * np.block([[A, drive[:, None]], [np.zeros((1, 4))]]))[:3, 3]
    np.testing.assert_allclose(system.get_state_output_port().Eval(context), expected[:2], rtol=0, atol=1e-8)


def test_structure_of_a_controlled_system():
    plant = double_integrator(2)
    plant.set_name("masses")
    system = PidControlledSystem(plant, [1.0, 2.0], [0.0, 0.0], [3.0, 4.0])
    assert [s.get_name() for s in system.GetSystems()] == ["masses", "PidController", "Adder"]
    ports = [(system.get_input_port(i).get_name(), system.get_input_port(i).size()) for i in range(2)]
    assert ports == [("feedforward_control", 2), ("desired_state", 4)]
    assert system.get_control_input_port() is system.get_input_port(0)
    assert system.get_state_input_port() is system.get_input_port(1)
    assert system.get_state_output_port() is system.get_output_port(0)
    assert system.get_state_output_port().get_name() == plant.get_output_port().get_name()


class TwoWays(LeafSystem):
    """A plant whose state comes out of its second port and whose force goes in at its second."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("noise", 3)
        self.DeclareVectorInputPort("force", 1)
        self.DeclareVectorOutputPort("energy", 1, lambda c, y: y.SetFromVector([0.0]), {self.nothing_ticket()})
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(1, 1, 0))

    def DoCalcTimeDerivatives(self, context, derivatives):
        v = context.get_continuous_state_vector()[1]
        derivatives.SetFromVector([v, self.GetInputPort("force").Eval(context)[0]])


def test_ports_of_the_plant_are_chosen_by_index():
    system = PidControlledSystem(TwoWays(), 1.0, 0.0, 0.0, state_output_port_index=1, plant_input_port_index=1)
    assert system.num_input_ports() == 2
    assert [system.get_output_port(i).get_name() for i in range(2)] == ["energy", "state"]
    assert system.get_state_output_port().get_name() == "state"
    positional = PidControlledSystem(TwoWays(), np.eye(2), [1.0], [0.0], [0.0], 1, 1)
    assert positional.get_state_output_port().get_name() == "state"
    with pytest.raises(IndexError, match="'::TwoWays' has no output port 2"):
        PidControlledSystem(TwoWays(), 1.0, 0.0, 0.0, 2)


def test_plant_whose_state_does_not_fit_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'::LinearSystem' \(vector of size 2\) to Input port 'estimated_state'"):
        PidControlledSystem(double_integrator(), [1.0, 1.0], [0.0, 0.0], [0.0, 0.0])


def test_failed_connection_leaves_the_builder_as_it_was():
    builder = DiagramBuilder()
    plant = builder.AddSystem(double_integrator())
    ports = plant.get_input_port(), plant.get_output_port()
    with pytest.raises(ValueError):
        PidControlledSystem.ConnectController(*ports, np.eye(4), *np.ones((3, 2)), builder)
    assert builder.GetSystems() == [plant] and not builder.connection_map()
    PidControlledSystem.ConnectController(*ports, *np.ones((3, 1)), builder)
    with pytest.raises(ValueError, match="already connected"):
        PidControlledSystem.ConnectController(*ports, *np.ones((3, 1)), builder)
    assert len(builder.GetSystems()) == 3


def test_force_of_a_saturated_controller_is_limited():
    builder = DiagramBuilder()
    plant = builder.AddSystem(double_integrator())
    result = PidControlledSystem.ConnectControllerWithInputSaturation(
        plant.get_input_port(), plant.get_output_port(), np.eye(2), [100.0], [0.0], [0.0], [-2.0], [3.0], builder
    )
    builder.ExportInput(result.control_input_port, "feedforward")
    builder.ExportInput(result.state_input_port, "desired")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.GetInputPort("feedforward").FixValue(context, [0.0])
    for target, force in ((1.0, 3.0), (-1.0, -2.0), (0.01, 1.0)):
        diagram.GetInputPort("desired").FixValue(context, [target, 0.0])
        assert diagram.EvalTimeDerivatives(context).CopyToVector()[1] == pytest.approx(force, abs=1e-14)


def test_controlled_system_is_linearized_exactly():
    builder = DiagramBuilder()
    system = builder.AddSystem(PidControlledSystem(double_integrator(), 3.0, 0.8, 1.2))
    zero = builder.AddSystem(ConstantVectorSource([0.0]))
    builder.Connect(zero.get_output_port(), system.get_control_input_port())
    builder.ExportInput(system.get_state_input_port(), "desired")
    builder.ExportOutput(system.get_state_output_port(), "state")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0, 0.0])
    linear = Linearize(diagram, context)
    A, B = closed_loop(3.0, 0.8, 1.2)
    np.testing.assert_allclose(linear.A(), A, rtol=0, atol=1e-15)
    np.testing.assert_allclose(linear.B(), B[:, 1:], rtol=0, atol=1e-15)
