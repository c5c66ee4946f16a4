"""Controllers and springs of programs under error control: as stable as those of the plant, and as cheap in steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import RungeKutta5Integrator, Simulator
from merganser.framework import AbstractValue, BasicVector, DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource, Integrator, MatrixGain
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, PdControllerGains, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]

KP, KD = 1e5, 1e3


class Force(LeafSystem):
    """u = -K x, of two joints, in Python."""

    def __init__(self, K: np.ndarray) -> None:
        super().__init__()
        self._K = K
        self.DeclareVectorInputPort("x", 4)
        self.DeclareVectorOutputPort("u", 2, self._calc)

    def _calc(self, context: Any, output: BasicVector) -> None:
        output.SetFromVector(-self._K @ self.get_input_port().Eval(context))


def _gains(p: float, d: float) -> np.ndarray:
    return np.hstack([p * np.eye(2), d * np.eye(2)])


def _arm(own: tuple[float, float] | None, block: LeafSystem | None, limit: float = math.inf, port: str = "actuation"):
    """A double pendulum, with PD controllers of the plant, with a block that makes its inputs, or with both."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    parent = plant.world_frame()
    for k in range(2):
        link = plant.AddRigidBody(f"link{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.4, 0.1, 0.1))
        frame = parent if k == 0 else plant.AddFrame(FixedOffsetFrame("end", parent, RigidTransform([0.4, 0.0, 0.0])))
        joint = plant.AddJoint(RevoluteJoint(f"joint{k}", frame, link.body_frame(), [0.0, 1.0, 0.0], 0.1))
        joint.set_default_angle(0.8 - k)
        motor = plant.AddJointActuator(f"motor{k}", joint, limit)
        if own is not None:
            motor.set_controller_gains(PdControllerGains(p=own[0], d=own[1]))
        parent = link.body_frame()
    plant.Finalize()
    if own is not None:
        desired = builder.AddSystem(ConstantVectorSource(np.zeros(4)))
        instance = plant.get_body(1).model_instance()
        builder.Connect(desired.get_output_port(), plant.get_desired_state_input_port(instance))
    if block is not None:
        builder.AddSystem(block)
        builder.Connect(plant.get_state_output_port(), block.get_input_port())
        builder.Connect(block.get_output_port(), plant.GetInputPort(port))
    return _with_accuracy(Simulator(builder.Build()), 1e-3), plant


def _with_accuracy(simulator: Simulator, accuracy: float) -> Simulator:
    integrator = CenicIntegrator(simulator.get_system(), simulator.get_mutable_context())
    integrator.set_maximum_step_size(0.1)
    integrator.set_target_accuracy(accuracy)
    simulator.reset_integrator(integrator)
    return simulator


def _run(simulator: Simulator, plant: MultibodyPlant, time: float = 0.3) -> tuple[int, np.ndarray, np.ndarray]:
    simulator.AdvanceTo(time)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    u = plant.get_net_actuation_output_port().Eval(context)
    return simulator.get_integrator().get_num_steps_taken(), plant.GetPositionsAndVelocities(context).copy(), u.copy()


@pytest.mark.parametrize("limit", [math.inf, 20.0])
@pytest.mark.parametrize("block", [Force, lambda K: MatrixGain(-K)], ids=["of Python", "compiled"])
def test_a_stiff_controller_takes_no_more_steps_than_that_of_the_plant(
    block: Any, limit: float, request: pytest.FixtureRequest
) -> None:
    if block is not Force:
        request.getfixturevalue("compile_at_once")
    p, d = (KP, KD) if math.isinf(limit) else (1e3, 30.0)
    steps, x, u = _run(*_arm((p, d), None, limit))
    its_steps, its_x, its_u = _run(*_arm(None, block(_gains(p, d)), limit))
    assert its_steps <= steps < 150
    np.testing.assert_allclose(its_x, x, atol=1e-6)
    np.testing.assert_allclose(its_u, u, atol=1e-5 * np.abs(u).max())


def test_generalized_forces_act_as_efforts_do_and_gains_add_up_to_those_of_the_plant() -> None:
    steps, x, _ = _run(*_arm((KP, KD), None))
    as_forces = _run(*_arm(None, Force(_gains(KP, KD)), port="applied_generalized_force"))
    together = _run(*_arm((0.3 * KP, 0.3 * KD), Force(_gains(0.7 * KP, 0.7 * KD))))
    for its_steps, its_x, _ in (as_forces, together):
        assert its_steps <= steps
        np.testing.assert_allclose(its_x, x, atol=1e-6)


def test_compiled_steps_are_those_of_python(request: pytest.FixtureRequest) -> None:
    in_python = _run(*_arm((1e3, 1.0), MatrixGain(-_gains(KP, KD)), 50.0), 0.1)
    request.getfixturevalue("compile_at_once")
    compiled = _run(*_arm((1e3, 1.0), MatrixGain(-_gains(KP, KD)), 50.0), 0.1)
    for ours, theirs in zip(compiled, in_python):
        np.testing.assert_array_equal(ours, theirs)


def test_inputs_that_do_not_follow_the_state_cost_no_evaluations() -> None:
    simulator, _ = _arm(None, None)
    simulator.AdvanceTo(0.3)
    integrator = simulator.get_integrator()
    attempts = integrator.get_num_steps_taken() + integrator.get_num_step_shrinkages_from_error_control()
    assert integrator.get_num_derivative_evaluations() == 3 * attempts


@pytest.mark.parametrize("k", [-40.0, 40.0])
def test_a_spring_of_a_program_is_right_whether_it_is_stable_or_not(k: float) -> None:
    """Of an arm without gravity, whose first joint alone moves: q'' = -k q, I = 1."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    link = plant.AddRigidBody("link", SpatialInertia.SolidBoxWithMass(1.0, math.sqrt(6.0), math.sqrt(6.0), 1.0))
    joint = plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), link.body_frame(), [0.0, 0.0, 1.0]))
    joint.set_default_angle(0.1)
    plant.Finalize()
    spring = builder.AddSystem(MatrixGain([[-k, 0.0]]))
    builder.Connect(plant.get_state_output_port(), spring.get_input_port())
    builder.Connect(spring.get_output_port(), plant.get_applied_generalized_force_input_port())
    simulator = _with_accuracy(Simulator(builder.Build()), 1e-6)
    simulator.AdvanceTo(0.8)
    q = plant.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))[0]
    omega = math.sqrt(abs(k))
    exact = 0.1 * (math.cos(omega * 0.8) if k > 0.0 else math.cosh(omega * 0.8))
    assert abs(q - exact) < 1e-4 * max(1.0, abs(exact))


class Tether(LeafSystem):
    """A spring and damper from the origin of a body to that of the world, as a spatial force."""

    def __init__(self, plant: MultibodyPlant, k: float, d: float) -> None:
        super().__init__()
        self._body, self._k, self._d = plant.get_body(1).index(), k, d
        num_x = plant.num_positions() + plant.num_velocities()
        self.DeclareVectorInputPort("x", num_x)
        self.DeclareAbstractOutputPort("F", lambda: Value([ExternallyAppliedSpatialForce()]), self._calc)

    def _calc(self, context: Any, output: AbstractValue) -> None:
        x = self.get_input_port().Eval(context)
        force = ExternallyAppliedSpatialForce()
        force.body_index, force.p_BoBq_B = self._body, np.zeros(3)
        force.F_Bq_W = SpatialForce(np.zeros(3), -self._k * x[4:7] - self._d * x[10:13])
        output.set_value([force])


def test_a_stiff_tether_of_spatial_forces_takes_few_steps_and_forces_balance() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    plant.SetDefaultFloatingBaseBodyPose(plant.GetBodyByName("ball"), RigidTransform([0.1, 0.0, 0.2]))
    plant.Finalize()
    tether = builder.AddSystem(Tether(plant, KP, 2.0 * KD))
    builder.Connect(plant.get_state_output_port(), tether.get_input_port())
    builder.Connect(tether.get_output_port(), plant.get_applied_spatial_force_input_port())
    simulator = _with_accuracy(Simulator(builder.Build()), 1e-3)
    simulator.AdvanceTo(1.0)
    x = plant.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))
    np.testing.assert_allclose(x[4:7], [0.0, 0.0, -2.0 * 9.81 / KP], atol=1e-6)
    assert simulator.get_integrator().get_num_steps_taken() < 100


def test_an_input_that_jumps_needs_no_steps_without_end() -> None:
    class Jump(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("x", 4)
            self.DeclareVectorOutputPort("u", 2, self._calc)

        def _calc(self, context: Any, output: BasicVector) -> None:
            q = self.get_input_port().Eval(context)[0]
            output.SetFromVector([-20.0 if q > 0.4 else 20.0, 0.0])

    simulator, plant = _arm(None, Jump())
    simulator.AdvanceTo(0.5)
    assert simulator.get_integrator().get_num_steps_taken() < 3000
    assert np.isfinite(plant.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))).all()


class Sampled(LeafSystem):
    """A PD controller that looks at two joints every millisecond, and holds its output in between."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("x", 4)
        group = self.DeclareDiscreteState(2)
        self.DeclareStateOutputPort("u", group)
        self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self._update)

    def _update(self, context: Any, discrete_state: Any) -> None:
        x = self.get_input_port().Eval(context)
        discrete_state.set_value(-50.0 * x[:2] - 2.0 * x[2:])


def test_a_controller_at_a_kilohertz_acts_as_with_another_integrator() -> None:
    ends = []
    for is_ours in (True, False):
        simulator, plant = _arm(None, Sampled())
        context = simulator.get_mutable_context()
        if not is_ours:
            simulator.reset_integrator(RungeKutta5Integrator(simulator.get_system(), context))
            simulator.get_mutable_integrator().set_target_accuracy(1e-9)
        ends.append(_run(simulator, plant, 0.1)[1])
    np.testing.assert_allclose(*ends, atol=1e-4)


def test_blocks_that_integrate_accelerations_end_at_the_velocity() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    link = plant.AddRigidBody("link", SpatialInertia.SolidBoxWithMass(1.0, 0.4, 0.1, 0.1))
    plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), link.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    force, block = builder.AddSystem(ConstantVectorSource([0.1])), builder.AddSystem(Integrator(1))
    builder.Connect(force.get_output_port(), plant.get_applied_generalized_force_input_port())
    builder.Connect(plant.get_generalized_acceleration_output_port(), block.get_input_port())
    simulator = _with_accuracy(Simulator(builder.Build()), 1e-3)
    simulator.AdvanceTo(0.3)
    _, v = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(simulator.get_context()))
    z = block.GetMyContextFromRoot(simulator.get_context()).get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(z, v, rtol=1e-9)


@pytest.mark.parametrize("own", [None, (5.0, 0.5)], ids=["alone", "beside controllers"])
def test_programs_drive_actuators_within_unequal_efforts(own):
    results = []
    for accuracy in (1e-3, 1e-5, None):
        simulator, plant = _arm(own, Force(_gains(200.0, 20.0)), math.inf)
        plant.GetJointActuatorByName("motor0").set_effort_range(-1.0, 6.0)
        plant.GetJointActuatorByName("motor1").set_effort_range(-4.0, 0.5)
        if accuracy is None:
            integrator = RungeKutta5Integrator(simulator.get_system(), simulator.get_mutable_context())
            integrator.set_maximum_step_size(1e-3)
            simulator.reset_integrator(integrator)
        else:
            _with_accuracy(simulator, accuracy)
        _, x, u = _run(simulator, plant)
        assert -1.0 <= u[0] <= 6.0 and -4.0 <= u[1] <= 0.5
        results.append(x)
    assert np.abs(results[0] - results[2]).max() < 0.05
    assert np.abs(results[1] - results[2]).max() < 0.01
