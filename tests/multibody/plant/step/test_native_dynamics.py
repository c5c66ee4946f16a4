"""The plant in the native plan: the same results as in Python, to the last bit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, EventStatus, LeafSystem, RandomDistribution
from merganser.framework.primitives import ConstantVectorSource, Gain, LogVectorOutput, RandomSource, Sine
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    PdControllerGains,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
)

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

Array = Any
WAYS = ("never", "always")


def arm(time_step: float, sampled: bool = True, springs: bool = False) -> MultibodyPlant:
    """Two model instances: a floating base with a two-link arm of limited effort, and a slider on a ball joint."""
    plant = MultibodyPlant(time_step)
    if time_step and not sampled:
        plant.SetUseSampledOutputPorts(False)
    inertia = SpatialInertia.SolidBoxWithMass(1.5, 0.5, 0.4, 0.3).Shift(np.array([-0.1, -0.02, -0.2]))
    first, second = plant.AddModelInstance("first"), plant.AddModelInstance("second")
    base, upper, lower = (plant.AddRigidBody(name, first, inertia) for name in ("base", "upper", "lower"))
    frames = [body.body_frame() for body in (base, upper, lower)]
    shoulder = plant.AddJoint(RevoluteJoint("shoulder", *frames[:2], np.array([0.0, 1.0, 0.0]), damping=0.3))
    elbow = plant.AddJoint(PrismaticJoint("elbow", *frames[1:], np.array([1.0, 0.0, 0.0]), damping=0.2))
    plant.AddJointActuator("shoulder", shoulder, 2.0)
    plant.AddJointActuator("elbow", elbow)
    ball, slider = plant.AddRigidBody("ball", second, inertia), plant.AddRigidBody("slider", second, inertia)
    plant.AddJoint(BallRpyJoint("hip", plant.world_frame(), ball.body_frame(), 0.1))
    plant.AddJoint(PlanarJoint("slide", ball.body_frame(), slider.body_frame(), np.array([0.1, 0.2, 0.3])))
    knee = plant.AddRigidBody("knee", second, inertia)
    bend = plant.AddJoint(RevoluteJoint("bend", slider.body_frame(), knee.body_frame(), np.array([0.0, 0, 1])))
    plant.AddJointActuator("bend", bend)
    if springs:
        plant.AddForceElement(RevoluteSpring(bend, 0.3, 20.0))
    plant.Finalize()
    return plant


class Regulator(LeafSystem):
    """A discrete controller in Python with the period of the plant: u = -x[k] of the second instance."""

    def __init__(self, size: int, period: float) -> None:
        super().__init__()
        self.fails_at = np.inf
        self.DeclareVectorInputPort("state", size)
        self.DeclareDiscreteState(1)
        self.DeclareStateOutputPort("u", self.DeclareDiscreteState(1))
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self.update)

    def update(self, context: Any, discrete: Any) -> EventStatus:
        if context.get_time() >= self.fails_at:
            return EventStatus.Failed(self, "as asked for")
        x = self.get_input_port(0).Eval(context)
        discrete.get_mutable_vector(1).SetFromVector([-3.0 * x[6] + 0.1 * np.sin(context.get_time())])
        return EventStatus.Succeeded()


def diagram(plant: MultibodyPlant, regulated: bool = True) -> tuple[Any, Regulator | None, Any]:
    builder = DiagramBuilder()
    builder.AddNamedSystem("plant", plant)
    sine = builder.AddSystem(Sine(np.array([8.0, 3.0]), np.array([5.0, 7.0]), np.zeros(2)))
    builder.Connect(sine.get_output_port(0), plant.get_actuation_input_port(plant.GetModelInstanceByName("first")))
    push = builder.AddSystem(ConstantVectorSource(np.linspace(-0.5, 0.5, plant.num_velocities())))
    builder.Connect(push.get_output_port(), plant.get_applied_generalized_force_input_port())
    second = plant.GetModelInstanceByName("second")
    regulator = None
    if regulated:
        regulator = builder.AddNamedSystem("regulator", Regulator(plant.num_multibody_states(second), 0.002))
        builder.Connect(plant.get_state_output_port(second), regulator.get_input_port(0))
        builder.Connect(regulator.get_output_port(0), plant.get_actuation_input_port(second))
    else:
        source = builder.AddSystem(ConstantVectorSource([0.4]))
        builder.Connect(source.get_output_port(), plant.get_actuation_input_port(second))
    log = LogVectorOutput(plant.get_state_output_port(), builder, 0.004)
    return builder.Build(), regulator, log


def simulator_of(plant: MultibodyPlant, way: str, regulated: bool = True) -> tuple[Simulator, Any, Any, Any]:
    whole, regulator, log = diagram(plant, regulated)
    simulator = Simulator(whole)
    simulator.set_use_native_plan(way == "always", at_once=True)
    if way == "never":
        plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    rng = np.random.default_rng(3)
    q, v = plant.GetPositions(context), rng.uniform(-0.5, 0.5, plant.num_velocities())
    q[7:] += rng.uniform(-0.3, 0.3, len(q) - 7)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    return simulator, context, regulator, log


def results(plant: MultibodyPlant, simulator: Simulator, context: Any, log: Any) -> list[Any]:
    ports = (plant.get_generalized_acceleration_output_port(), plant.get_net_actuation_output_port())
    forces = plant.get_reaction_forces_output_port().Eval(context)
    return [
        plant.GetPositionsAndVelocities(context),
        log.FindLog(simulator.get_context()).data().copy(),
        *(port.Eval(context) for port in ports),
        np.array([F.get_coeffs() for F in forces]),
        simulator.get_num_unrestricted_updates(),
        simulator.get_num_discrete_updates(),
    ]


@pytest.mark.parametrize("springs", [False, True])
@pytest.mark.parametrize(("time_step", "sampled"), [(0.0, False), (0.002, True), (0.002, False)])
def test_native_and_python_steps_agree_to_the_last_bit(time_step: float, sampled: bool, springs: bool) -> None:
    found = []
    for way in WAYS:
        plant = arm(time_step, sampled, springs)
        simulator, context, _, log = simulator_of(plant, way)
        for end in (0.05, 0.1, 0.2):  # in parts: Python looks at samples between them
            simulator.AdvanceTo(end)
            plant.get_generalized_acceleration_output_port().Eval(context)
        found.append(results(plant, simulator, context, log))
        calls = plant._dynamics.native.num_calls
        assert (calls > 20) == (way == "never"), calls
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)


def test_effort_limits_and_parameters_changed_between_advances_enter() -> None:
    found = []
    for way in WAYS:
        plant = arm(0.002)
        simulator, context, _, log = simulator_of(plant, way)
        simulator.AdvanceTo(0.05)
        before = plant.get_reaction_forces_output_port().Eval(context)[0].get_coeffs()
        plant.get_joint_actuator(plant.GetJointActuatorIndices()[0]).set_effort_limit(0.5)
        plant.GetBodyByName("lower").SetMass(context, 9.0)
        plant.gravity_field().SetGravityVector(context, np.array([0.0, 3.0, -2.0]))
        # The sample is of before.
        np.testing.assert_array_equal(plant.get_reaction_forces_output_port().Eval(context)[0].get_coeffs(), before)
        simulator.AdvanceTo(0.1)
        assert abs(plant.get_net_actuation_output_port().Eval(context)).max() > 0.0
        assert abs(plant.get_net_actuation_output_port().Eval(context)[0]) <= 0.5
        found.append(results(plant, simulator, context, log))
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_an_actuation_that_is_not_a_number_raises_the_same_error_and_changes_nothing(time_step: float) -> None:
    messages = []
    for way in WAYS:
        plant = arm(time_step)
        simulator, context, _, _ = simulator_of(plant, way, regulated=False)
        simulator.AdvanceTo(0.05)
        x = plant.GetPositionsAndVelocities(context)
        source = simulator.get_system().GetSystems()[-2]
        parameters = source.GetMyContextFromRoot(simulator.get_mutable_context()).get_mutable_numeric_parameter(0)
        parameters[0] = np.nan
        with pytest.raises(RuntimeError) as error:
            simulator.AdvanceTo(0.1)
        np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), x)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "actuation" in messages[0]


def test_a_singular_mass_matrix_raises_the_same_error() -> None:
    messages = []
    for way in WAYS:
        plant = arm(0.002)
        simulator, context, _, _ = simulator_of(plant, way)
        simulator.AdvanceTo(0.01)
        plant.GetBodyByName("knee").SetMass(context, 0.0)
        with pytest.raises(RuntimeError, match=r"mass matrix .* singular .* 'knee'") as error:
            simulator.AdvanceTo(0.02)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_after_a_discrete_update_that_fails_the_step_of_the_plant_is_not_taken_twice() -> None:
    found = []
    for way in WAYS:
        plant = arm(0.002)
        simulator, context, regulator, log = simulator_of(plant, way)
        simulator.AdvanceTo(0.01)
        regulator.fails_at = 0.02
        with pytest.raises(RuntimeError, match="as asked for"):
            simulator.AdvanceTo(0.03)
        regulator.fails_at = np.inf
        simulator.AdvanceTo(0.03)
        found.append(results(plant, simulator, context, log))
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)


def test_copies_of_a_context_keep_their_sample() -> None:
    plant = arm(0.002)
    simulator, context, _, _ = simulator_of(plant, "always")
    simulator.AdvanceTo(0.05)
    expected = plant.get_generalized_acceleration_output_port().Eval(context)
    roots = [simulator.get_context().Clone(), copy.deepcopy(simulator.get_context())]
    saved = pickle.loads(pickle.dumps(context._abstract_state._items[plant._sampling.state_index]))
    simulator.AdvanceTo(0.1)
    assert abs(plant.get_generalized_acceleration_output_port().Eval(context) - expected).max() > 0.0
    for root in roots:
        mine = plant.GetMyContextFromRoot(root)
        np.testing.assert_array_equal(plant.get_generalized_acceleration_output_port().Eval(mine), expected)
    x, x_next = saved.get_value()[:2]
    num_q = plant.num_positions()
    np.testing.assert_allclose((x_next - x)[num_q:] / 0.002, expected, rtol=1e-12, atol=1e-12)


def test_applied_spatial_forces_stay_in_python() -> None:
    plant = arm(0.002)
    simulator, context, _, _ = simulator_of(plant, "always")
    assert plant._dynamics.native.resolve(context) is not None
    plant.get_applied_spatial_force_input_port().FixValue(context, [])
    assert plant._dynamics.native.resolve(context) is None
    simulator.AdvanceTo(0.01)
    assert plant._dynamics.native.num_calls >= 5


@pytest.mark.parametrize("time_step", [0.0, 0.001])
def test_joints_that_swing_into_their_limits_do_so_in_the_plan_as_in_python(time_step: float) -> None:
    found = []
    for way in WAYS:
        plant = MultibodyPlant(time_step)
        inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1).Shift(np.array([0.0, 0.0, 0.5]))
        link = plant.AddRigidBody("link", inertia)
        axis, down = np.array([0.0, 1.0, 0.0]), plant.world_frame()
        plant.AddJoint(RevoluteJoint("hinge", down, link.body_frame(), axis, -0.5, 0.4))
        plant.Finalize()
        builder = DiagramBuilder()
        builder.AddSystem(plant)
        log = LogVectorOutput(plant.get_state_output_port(), builder, 0.01)
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(way == "always", at_once=True)
        if way == "never":
            plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
        context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
        plant.SetPositionsAndVelocities(context, np.array([0.3, 2.0]))
        simulator.AdvanceTo(3.0)
        data = log.FindLog(simulator.get_context()).data()
        assert 0.39 < data[0].max() < 0.45
        found.append((data.copy(), plant.GetPositionsAndVelocities(context)))
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)


def test_what_is_on_the_disk_is_used_from_the_first_steps_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from merganser.analysis.plan.loop import LOOP
    from merganser.multibody.dynamics.operation import STEP

    LOOP.address(), STEP.address()
    monkeypatch.undo()
    plant = arm(0.002)
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    simulator = Simulator(builder.Build())
    plant.get_actuation_input_port().FixValue(
        plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), np.zeros(plant.num_actuators())
    )
    simulator.AdvanceTo(10.0)
    assert plant._dynamics.native.num_calls < 2500


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_unconnected_actuation_ports_are_zero_in_the_plan_and_may_be_fixed_later(time_step: float) -> None:
    found = []
    for way in WAYS:
        plant = arm(time_step)
        simulator = Simulator(plant)
        simulator.set_use_native_plan(way == "always", at_once=True)
        if way == "never":
            plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
        context = simulator.get_mutable_context()
        plant.SetVelocities(context, np.linspace(-0.2, 0.3, plant.num_velocities()))
        second = plant.GetModelInstanceByName("second")
        states = []
        for port, u in ((None, None), (plant.get_actuation_input_port(second), [0.5]),
                        (plant.get_actuation_input_port(), [9.0, 0.1, 0.25])):  # fmt: skip
            if port is not None:
                port.FixValue(context, u)
            simulator.AdvanceTo(context.get_time() + 0.02)
            net_actuation = plant.get_net_actuation_output_port().Eval(context)
            states.append([*plant.GetPositionsAndVelocities(context), *net_actuation])
        found.append(states)
        assert (plant._dynamics.native.num_calls > 20) == (way == "never")
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal([row[-3:] for row in found[1]], [[0, 0, 0], [0, 0, 0.5], [2, 0.1, 0.75]])


def test_gains_that_change_between_evaluations_of_compiled_derivatives_enter() -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), np.array([1.0, 0.0, 0.0])))
    actuator = plant.AddJointActuator("motor", rail)
    actuator.set_controller_gains(PdControllerGains(p=10.0, d=0.0))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.get_desired_state_input_port(body.model_instance()).FixValue(context, [1.0, 0.0])
    for gain in (10.0, 30.0, 10.0):
        actuator.set_controller_gains(PdControllerGains(p=gain, d=0.0))
        for q in (0.0, 0.5):
            plant.SetPositions(context, [q])
            assert plant.EvalTimeDerivatives(context).CopyToVector()[1] == pytest.approx(gain * (1.0 - q) / 2.0)


def pendulum_with_stops() -> MultibodyPlant:
    plant = MultibodyPlant(0.01)
    link = plant.AddRigidBody("link", SpatialInertia.PointMass(1.0, np.array([0.0, 0.0, -0.5])))
    pin = plant.AddJoint(
        RevoluteJoint("pin", plant.world_frame(), link.body_frame(), np.array([0.0, 1.0, 0.0]), -0.05, 0.05)
    )
    plant.AddJointActuator("motor", pin)
    plant.Finalize()
    return plant


@pytest.mark.parametrize("distribution", RandomDistribution)
def test_samples_are_those_of_python_where_a_joint_reaches_its_limit(distribution: Any) -> None:
    """Python takes the steps at the limit, with all that happens at the same time; each sample is drawn once."""
    runs = []
    for is_compiled in (False, True):
        builder = DiagramBuilder()
        plant = builder.AddSystem(pendulum_with_stops())
        noise = builder.AddSystem(RandomSource(distribution, 1, 0.01))
        noise.set_fixed_seed(7)
        torque = builder.AddSystem(Gain(3.0, 1))
        builder.Connect(noise.get_output_port(), torque.get_input_port())
        builder.Connect(torque.get_output_port(), plant.get_actuation_input_port())
        ports = noise.get_output_port(), plant.get_state_output_port()
        logs = [LogVectorOutput(port, builder, 0.01) for port in ports]
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_compiled, at_once=True)
        simulator.AdvanceTo(2.0)
        generator = noise.GetMyContextFromRoot(simulator.get_context()).get_abstract_state(0).get_value()
        runs.append([*(log.FindLog(simulator.get_context()).data().copy() for log in logs), generator()])
    for python, compiled in zip(*runs):
        np.testing.assert_array_equal(compiled, python)
    assert np.abs(runs[0][1][0]).max() > 0.049  # it was there
