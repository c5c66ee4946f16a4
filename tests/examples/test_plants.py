"""The plants of textbooks: laws of mechanics, stability, names of elements, and what they look like."""

from __future__ import annotations

import math

import numpy as np
import pytest

import merganser.examples as examples
from merganser.analysis import Simulator
from merganser.examples import (
    AcrobotGeometry,
    AcrobotParams,
    AcrobotPlant,
    AcrobotSpongController,
    AcrobotWEncoder,
    CompassGait,
    CompassGaitGeometry,
    PendulumGeometry,
    PendulumInput,
    PendulumParams,
    PendulumPlant,
    QuadrotorGeometry,
    QuadrotorPlant,
    RimlessWheel,
    RimlessWheelGeometry,
    StabilizingLQRController,
    VanDerPolOscillator,
)
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.geometry import SceneGraph


def test_elements_have_names() -> None:
    params = PendulumParams()
    assert (params.mass(), params.length(), params.damping(), params.gravity()) == (1.0, 0.5, 0.1, 9.81)
    params.set_mass(mass=2.0)
    changed = params.with_length(3.0)
    assert isinstance(changed, PendulumParams) and changed.CopyToVector().tolist() == [2.0, 3.0, 0.1, 9.81]
    assert params.length() == 0.5 and PendulumInput().GetCoordinateNames() == ["tau"]
    with pytest.raises(AttributeError, match="PendulumParams has no 'weight'; its elements are mass, length"):
        params.weight()


@pytest.mark.parametrize("plant", [PendulumPlant(), AcrobotPlant()], ids=["pendulum", "acrobot"])
def test_energy_is_kept_without_damping(plant: PendulumPlant | AcrobotPlant) -> None:
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    params = plant.get_mutable_parameters(context)
    for name in params.GetCoordinateNames():
        if name in ("damping", "b1", "b2"):
            getattr(params, f"set_{name}")(0.0)
    n = context.num_continuous_states()
    context.SetContinuousState(np.random.default_rng(3).uniform(0.3, 1.0, n))
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    energy = plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context)
    simulator.AdvanceTo(2.0)
    assert plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context) == pytest.approx(energy, abs=1e-7)


def test_matrices_of_the_acrobot_are_those_of_its_motion() -> None:
    plant = AcrobotPlant()
    context = plant.CreateDefaultContext()
    context.SetContinuousState([0.3, -0.8, 1.2, 0.4])
    plant.get_input_port().FixValue(context, [1.7])
    vdot = plant.EvalTimeDerivatives(context).CopyToVector()[2:]
    residual = plant.MassMatrix(context) @ vdot + plant.DynamicsBiasTerm(context) - np.array([0.0, 1.7])
    assert residual == pytest.approx(np.zeros(2), abs=1e-12)
    params = AcrobotParams()
    plant.SetMitAcrobotParameters(params)
    assert (params.m1(), params.l2(), params.Ic2()) == (2.4367, 2.0, -1.0068)


def test_the_acrobot_is_swung_up_and_stays_there() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(AcrobotPlant())
    controller = builder.AddSystem(AcrobotSpongController())
    builder.Connect(plant.get_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_input_port())
    simulator = Simulator(builder.Build())
    state = plant.get_mutable_state(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()))
    state.SetFromVector([0.1, 0.1, 0.0, 0.0])
    simulator.AdvanceTo(20.0)
    x = simulator.get_context().get_continuous_state_vector().CopyToVector()
    assert math.cos(x[0]) == pytest.approx(-1.0, abs=1e-3) and math.cos(x[1]) == pytest.approx(1.0, abs=1e-3)
    assert np.abs(x[2:]).max() < 0.05


def test_the_encoder_gives_the_angles_only() -> None:
    acrobot = AcrobotWEncoder(acrobot_state_as_second_output=True)
    context = acrobot.CreateDefaultContext()
    acrobot.get_mutable_acrobot_state(context).SetFromVector([1.0, 2.0, 3.0, 4.0])
    assert acrobot.GetOutputPort("measured_joint_positions").Eval(context).tolist() == [1.0, 2.0]
    assert acrobot.GetOutputPort("acrobot_state").Eval(context).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert isinstance(acrobot.acrobot_plant(), AcrobotPlant) and AcrobotWEncoder().num_output_ports() == 1


def test_a_quadrotor_hovers_and_keeps_its_angular_momentum() -> None:
    plant = QuadrotorPlant()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.get_input_port().FixValue(context, [plant.m() * plant.g() / plant.force_constant() / 4.0] * 4)
    simulator.AdvanceTo(1.0)
    assert np.abs(context.get_continuous_state_vector().CopyToVector()).max() < 1e-12

    def angular_momentum() -> np.ndarray:
        from merganser.framework.math import RollPitchYaw

        x = context.get_continuous_state_vector().CopyToVector()
        rpy = RollPitchYaw(x[3:6])
        R, w_W = rpy.ToRotationMatrix().matrix(), rpy.CalcAngularVelocityInParentFromRpyDt(x[9:12])
        return R @ plant.inertia() @ R.T @ w_W

    context.SetContinuousState([0, 0, 0, 0.3, -0.2, 0.5, 0, 0, 0, 0.9, -0.5, 0.4])
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    before = angular_momentum()
    simulator.AdvanceTo(2.0)
    assert angular_momentum() == pytest.approx(before, rel=1e-7)


def test_a_quadrotor_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="mass must be positive"):
        QuadrotorPlant(m_arg=0.0)
    with pytest.raises(ValueError, match="positive definite"):
        QuadrotorPlant(I_arg=-np.eye(3))
    with pytest.raises(ValueError, match="must be finite"):
        QuadrotorPlant(L_arg=math.nan)


def test_the_limit_cycle_is_closed() -> None:
    cycle = VanDerPolOscillator.CalcLimitCycle()
    assert cycle.shape[0] == 2 and cycle[:, 0] == pytest.approx(cycle[:, -1], abs=0.01)
    oscillator = VanDerPolOscillator()
    context = oscillator.CreateDefaultContext()
    context.SetContinuousState([0.5, 2.0])
    assert oscillator.get_position_output_port().Eval(context).tolist() == [0.5]
    assert oscillator.get_full_state_output_port().Eval(context).tolist() == [0.5, 2.0]
    assert oscillator.EvalTimeDerivatives(context).CopyToVector().tolist() == [2.0, 1.0]


def test_a_quadrotor_flies_to_where_its_regulator_wants_it() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(QuadrotorPlant())
    regulator = builder.AddSystem(StabilizingLQRController(plant, [1.0, -2.0, 3.0]))
    builder.Connect(plant.get_output_port(), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), plant.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(10.0)
    x = simulator.get_context().get_continuous_state_vector().CopyToVector()
    assert x == pytest.approx([1.0, -2.0, 3.0, *[0.0] * 9], abs=1e-3)
    with pytest.raises(ValueError, match="must have 3 elements; got 2"):
        StabilizingLQRController(plant, [1.0, 2.0])


@pytest.mark.parametrize(
    "name", ["PendulumPlant", "AcrobotPlant", "QuadrotorPlant", "VanDerPolOscillator", "CompassGait", "RimlessWheel"]
)
def test_each_plant_has_derivatives(name: str) -> None:
    plant = getattr(examples, name)()
    n = plant.CreateDefaultContext().num_continuous_states()
    x, h = np.random.default_rng(1).uniform(-0.5, 0.5, n), 1e-6

    def xdot(system: object, state: np.ndarray) -> np.ndarray:
        context = system.CreateDefaultContext()
        context.SetContinuousState(state)
        return system.EvalTimeDerivatives(context).CopyToVector()

    slopes = ExtractGradient(xdot(plant.ToAutoDiffXd(), InitializeAutoDiff(x).ravel()))
    differences = [(xdot(plant, x + h * e) - xdot(plant, x - h * e)) / (2.0 * h) for e in np.eye(n)]
    np.testing.assert_allclose(slopes, np.array(differences).T, atol=1e-6)


@pytest.mark.parametrize(
    ("plant", "looks", "state", "expected"),
    [
        (PendulumPlant(), PendulumGeometry, [0.5 * math.pi, 0.0], {"arm point mass": [-0.5, 0.0, 0.0]}),
        (AcrobotPlant(), AcrobotGeometry, [0.5 * math.pi, 0.0, 0.0, 0.0], {"lower_link": [-2.0, 0.25, 0.0]}),
        (RimlessWheel(), RimlessWheelGeometry, [0.25 * math.pi, 0.0], {"spoke1": [0.5**0.5 - 0.5, 0.0, 0.5**0.5]}),
        (
            CompassGait(),
            CompassGaitGeometry,
            [0.0, 0.5 * math.pi, 0.0, 0.0],
            {"left_leg": [0.0, 0.0, 0.5], "right_leg_mass": [-0.5, 0.0, 1.0]},
        ),
        (QuadrotorPlant(), QuadrotorGeometry, [1.0, 2.0, 3.0] + [0.0] * 9, {"propeller 1": [1.0, 2.15, 3.02]}),
    ],
    ids=["pendulum", "acrobot", "rimless_wheel", "compass_gait", "quadrotor"],
)
def test_what_a_plant_looks_like_follows_its_state(plant, looks, state, expected) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = builder.AddSystem(type(plant)()), builder.AddSystem(SceneGraph())
    port = plant.get_output_port(plant.num_output_ports() - 1)
    block = looks.AddToBuilder(builder, port, scene_graph=scene_graph)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState(state)
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    inspector = scene_graph.model_inspector()
    found = {
        inspector.GetName(id): query.GetPoseInWorld(id).translation()
        for id in inspector.GetAllGeometryIds()
    }  # fmt: skip
    for name, p_WG in expected.items():
        assert found[name] == pytest.approx(p_WG, abs=1e-12)
    assert isinstance(block, looks)


@pytest.mark.parametrize("looks", [AcrobotGeometry, CompassGaitGeometry, RimlessWheelGeometry])
def test_what_a_plant_looks_like_needs_a_scene_graph(looks) -> None:
    builder = DiagramBuilder()
    port = builder.AddSystem(RimlessWheel()).get_output_port(1)
    with pytest.raises(TypeError, match=rf"{looks.__name__}.AddToBuilder\(\) takes \(builder, port, scene_graph\)"):
        looks.AddToBuilder(builder, port, PendulumParams(), builder.AddSystem(SceneGraph()))
    with pytest.raises(TypeError, match="takes"):
        looks.AddToBuilder(builder, port)
