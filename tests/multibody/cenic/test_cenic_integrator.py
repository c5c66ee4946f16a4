"""Contact under error control: orders, forces, other states and inputs, failures."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import (
    ApplySimulatorConfig,
    ExtractSimulatorConfig,
    RungeKutta5Integrator,
    Simulator,
    SimulatorConfig,
)
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.framework.native.compiler.code_files import package_of
from merganser.framework.primitives import ConstantVectorSource, Integrator
from merganser.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties, Sphere
from merganser.multibody.cenic import CenicIntegrator, CenicIntegrator_, IcfSolverParameters
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]

G = 9.81


def material(dissipation: float = 0.5) -> ProximityProperties:
    properties = ProximityProperties()
    AddContactMaterial(dissipation, 1e4, CoulombFriction(0.5, 0.5), properties)
    return properties


def add_body(plant: MultibodyPlant, name: str, shape: Any, pose: RigidTransform, dissipation: float = 0.5) -> None:
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.2)
    if isinstance(shape, Sphere):
        inertia = SpatialInertia.SolidSphereWithMass(1.0, shape.radius())
    body = plant.AddRigidBody(name, inertia)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, material(dissipation))
    plant.SetDefaultFloatingBaseBodyPose(body, pose)


def add_ground(plant: MultibodyPlant, dissipation: float = 0.5) -> None:
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material(dissipation))


def tumbling(plant: MultibodyPlant) -> None:
    add_ground(plant)
    add_body(plant, "box", Box(0.2, 0.2, 0.2), RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.0, 0.0, 0.3]))
    add_body(plant, "ball", Sphere(0.1), RigidTransform([0.05, 0.0, 0.55]))


def arm(plant: MultibodyPlant) -> None:
    """A double pendulum."""
    parent = plant.world_frame()
    for k in range(2):
        link = plant.AddRigidBody(f"link{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.4, 0.1, 0.1))
        frame = parent if k == 0 else plant.AddFrame(_offset(parent))
        plant.AddJoint(RevoluteJoint(f"joint{k}", frame, link.body_frame(), [0.0, 1.0, 0.3 * k], 0.1))
        parent = link.body_frame()


def _offset(parent: Any) -> Any:
    from merganser.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame("end", parent, RigidTransform([0.4, 0.0, 0.0]))


def simulator_of(
    fill: Callable[[MultibodyPlant], None], accuracy: float = 1e-3, has_scene: bool = True
) -> tuple[Simulator, MultibodyPlant]:
    builder = DiagramBuilder()
    if has_scene:
        plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    else:
        plant = builder.AddSystem(MultibodyPlant(0.0))
    fill(plant)
    plant.Finalize()
    return with_accuracy(Simulator(builder.Build()), accuracy), plant


def with_accuracy(simulator: Simulator, accuracy: float) -> Simulator:
    integrator = CenicIntegrator(simulator.get_system(), simulator.get_mutable_context())
    integrator.set_maximum_step_size(0.1)
    integrator.set_target_accuracy(accuracy)
    simulator.reset_integrator(integrator)
    return simulator


def state_of(simulator: Simulator, plant: MultibodyPlant) -> np.ndarray:
    return plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(simulator.get_context())).copy()


def _instance(plant: MultibodyPlant) -> Any:
    return plant.get_body(1).model_instance()


# ---------------------------------------------------------------------- accuracy


def test_smooth_motion_is_of_order_two() -> None:
    simulator, plant = simulator_of(arm, has_scene=False)
    context = simulator.get_mutable_context()
    simulator.reset_integrator(RungeKutta5Integrator(simulator.get_system(), context)).set_target_accuracy(1e-11)
    simulator.AdvanceTo(1.0)
    exact = state_of(simulator, plant)
    errors, steps = [], []
    for accuracy in (1e-3, 1e-4, 1e-5, 1e-6):
        simulator, plant = simulator_of(arm, accuracy, has_scene=False)
        simulator.AdvanceTo(1.0)
        errors.append(np.abs(state_of(simulator, plant) - exact).max())
        steps.append(simulator.get_integrator().get_num_steps_taken())
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order > 1.9
    assert errors[-1] < 1e-4


def test_a_ball_that_bounces_on_a_spring_returns_to_its_height() -> None:
    """Without dissipation, after the time of two falls and half a period on the spring."""
    height, k = 0.05, 5e3  # two stiffnesses of 1e4 in series
    omega, speed = math.sqrt(k), math.sqrt(2.0 * G * height)
    in_contact = (2.0 / omega) * (math.pi / 2.0 + math.atan(G / omega / speed))

    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant, 0.0)
        add_body(plant, "ball", Sphere(0.1), RigidTransform([0.0, 0.0, 0.1 + height]), 0.0)

    errors = []
    for accuracy in (1e-4, 1e-6):
        simulator, plant = simulator_of(fill, accuracy)
        simulator.AdvanceTo(2.0 * speed / G + in_contact)
        errors.append(abs(state_of(simulator, plant)[6] - 0.1 - height))
    assert errors[0] < 2e-3 and errors[1] < 1e-4


def test_errors_follow_the_accuracy_where_bodies_hit_and_roll() -> None:
    simulator, plant = simulator_of(tumbling, 1e-7)
    simulator.AdvanceTo(0.3)
    exact, errors = state_of(simulator, plant)[:14], []
    for accuracy in (1e-3, 1e-4, 1e-5, 1e-6):
        simulator, plant = simulator_of(tumbling, accuracy)
        simulator.AdvanceTo(0.3)
        errors.append(np.abs(state_of(simulator, plant)[:14] - exact).max())
    assert errors[0] < 0.1 and errors[-1] < 1e-3
    assert errors[-1] < 0.01 * errors[0]


def test_bodies_at_rest_stay_and_steps_grow() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, "box", Box(0.2, 0.2, 0.2), RigidTransform([0.0, 0.0, 0.1 - G / 5e3]))

    simulator, plant = simulator_of(fill)
    simulator.AdvanceTo(5.0)
    assert simulator.get_integrator().get_num_steps_taken() < 70
    assert simulator.get_integrator().get_largest_step_size_taken() == pytest.approx(0.1, rel=0.02)
    x = state_of(simulator, plant)
    np.testing.assert_allclose(x[:6], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(x[7:], 0.0, atol=1e-6)


# ---------------------------------------------------------------------- forces


@pytest.mark.parametrize("is_compiled", [False, True])
def test_forces_and_accelerations_belong_together(is_compiled: bool, request: pytest.FixtureRequest) -> None:
    if is_compiled:
        request.getfixturevalue("compile_at_once")

    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, "box", Box(0.2, 0.2, 0.2), RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.0, 0.0, 0.15]))

    simulator, plant = simulator_of(fill, 1e-5)
    largest = [0.0, 0.0]

    def look(root: Any) -> None:
        context = plant.GetMyContextFromRoot(root)
        contacts = plant.get_contact_results_output_port().Eval(context)
        vdot = plant.get_generalized_acceleration_output_port().Eval(context)
        force = np.zeros(3)
        for i in range(contacts.num_point_pair_contacts()):
            info = contacts.point_pair_contact_info(i)
            force += info.contact_force() * (1.0 if int(info.bodyB_index()) == 1 else -1.0)
        tau = plant.get_generalized_contact_forces_output_port(_instance(plant)).Eval(context)
        np.testing.assert_allclose(force, tau[3:], atol=1e-9)
        error = force - vdot[3:] - np.array([0.0, 0.0, G])
        largest[0], largest[1] = max(largest[0], force[2]), max(largest[1], float(np.abs(error).max()))

    simulator.set_monitor(look)
    simulator.AdvanceTo(0.15)
    assert largest[0] > 20.0
    assert largest[1] < 1e-5 * largest[0]


def test_reaction_forces_of_a_joint_carry_what_hangs_on_it() -> None:
    def fill(plant: MultibodyPlant) -> None:
        body = plant.AddRigidBody("load", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
        plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0], -0.1, 0.1))

    simulator, plant = simulator_of(fill)
    simulator.AdvanceTo(0.2)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    (force,) = plant.get_reaction_forces_output_port().Eval(context)
    np.testing.assert_allclose(force.translational(), [0.0, 0.0, 2.0 * G], atol=1e-6)


def test_outputs_where_no_step_has_ended_show_what_acts_at_the_moment() -> None:
    simulator, plant = simulator_of(tumbling)
    simulator.AdvanceTo(0.3)
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, plant.GetPositions(context) + np.array([0.0] * 6 + [5.0] + [0.0] * 6 + [7.0]))
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    np.testing.assert_allclose(vdot[[5, 11]], -G, atol=1e-9)
    assert plant.get_contact_results_output_port().Eval(context).num_point_pair_contacts() == 0


def _creep(time_step: float, accuracy: float) -> float:
    """How fast a box slips down a slope of 20 degrees, with friction 0.5, in the fourth half second [m/s]."""
    builder, R_WG = DiagramBuilder(), RotationMatrix.MakeYRotation(math.radians(20.0))
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    if time_step > 0.0:
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    X_WG = RigidTransform(R_WG, np.zeros(3))
    plant.RegisterCollisionGeometry(plant.world_body(), X_WG, HalfSpace(), "slope", material(20.0))
    add_body(plant, "box", Box(0.2, 0.2, 0.2), RigidTransform(R_WG, R_WG @ [0.0, 0.0, 0.0982]), 20.0)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    if time_step == 0.0:
        with_accuracy(simulator, accuracy)
    places = []
    for time in (1.5, 2.0):
        simulator.AdvanceTo(time)
        places.append((R_WG.inverse() @ state_of(simulator, plant)[4:7])[0])
    return float((places[1] - places[0]) / 0.5)


def test_what_sticks_creeps_less_than_in_discrete_steps() -> None:
    of_discrete = _creep(2e-3, 0.0)
    assert 1e-5 < of_discrete < 2e-4
    for accuracy in (1e-1, 1e-3, 1e-5):
        assert abs(_creep(0.0, accuracy)) < 0.5 * of_discrete


def test_compiled_attempts_are_found_on_the_disk_by_their_package() -> None:
    """Where they are not, simulations would stay in Python for good."""
    assert package_of(CenicIntegrator.attempt.interpreted) == "cenic"


def test_compiled_steps_are_those_of_python(request: pytest.FixtureRequest) -> None:
    simulator, plant = simulator_of(tumbling)
    simulator.AdvanceTo(0.4)
    in_python = state_of(simulator, plant)
    request.getfixturevalue("compile_at_once")
    simulator, plant = simulator_of(tumbling)
    simulator.AdvanceTo(0.4)
    np.testing.assert_array_equal(state_of(simulator, plant), in_python)


# ---------------------------------------------------------------------- other systems


class Spring(LeafSystem):
    """A force -k q - d v on one joint, or an exception after some time."""

    def __init__(self, k: float, d: float, last: float = math.inf) -> None:
        super().__init__()
        self.k, self.d, self.last = k, d, last
        self.DeclareVectorInputPort("x", 2)
        self.DeclareVectorOutputPort("u", 1, self._calc)

    def _calc(self, context: Any, output: BasicVector) -> None:
        if context.get_time() > self.last:
            raise ArithmeticError("no more")
        q, v = self.get_input_port().Eval(context)
        output.SetFromVector([-self.k * q - self.d * v])


def _cart(spring: Spring) -> tuple[Simulator, MultibodyPlant, Integrator]:
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    body = plant.AddRigidBody("cart", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    joint = plant.AddJoint(PrismaticJoint("x", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    joint.set_default_translation(0.3)
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    builder.AddSystem(spring)
    builder.Connect(plant.get_state_output_port(), spring.get_input_port())
    builder.Connect(spring.get_output_port(), plant.get_actuation_input_port())
    way = builder.AddSystem(Integrator(2))
    builder.Connect(plant.get_state_output_port(), way.get_input_port())
    return Simulator(builder.Build()), plant, way


def test_a_spring_of_a_program_and_states_outside_are_followed() -> None:
    k, d = 40.0, 1.0
    simulator, plant, way = _cart(Spring(k, d))
    with_accuracy(simulator, 1e-6).AdvanceTo(1.0)
    omega = math.sqrt(k - 0.25 * d * d)
    decay = math.exp(-0.5 * d)
    q = 0.3 * decay * (math.cos(omega) + 0.5 * d / omega * math.sin(omega))
    v = -0.3 * decay * k / omega * math.sin(omega)
    np.testing.assert_allclose(state_of(simulator, plant), [q, v], atol=2e-4)
    z = way.GetMyContextFromRoot(simulator.get_context()).get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(z[1], q - 0.3, atol=1e-4)  # the integral of the velocity
    np.testing.assert_allclose(z[0], -(v + d * (q - 0.3)) / k, atol=1e-4)  # k int q = -v - d (q - q_0)


class Push(LeafSystem):
    """A force along x that follows the contact force along z."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("contact forces", 6)
        self.DeclareVectorOutputPort("tau", 6, self._calc)

    def _calc(self, context: Any, output: BasicVector) -> None:
        output.SetFromVector([0.0, 0.0, 0.0, 0.1 * self.get_input_port().Eval(context)[5], 0.0, 0.0])


@pytest.mark.parametrize("is_compiled", [False, True])
def test_who_looks_at_contacts_and_whose_state_is_first_changes_nothing(
    is_compiled: bool, request: pytest.FixtureRequest
) -> None:
    if is_compiled:
        request.getfixturevalue("compile_at_once")
    ends = []
    for is_watched, is_first in ((False, True), (True, True), (False, False)):
        builder = DiagramBuilder()
        if not is_first:
            clock = builder.AddSystem(Integrator(1))
            builder.Connect(builder.AddSystem(ConstantVectorSource([1.0])).get_output_port(), clock.get_input_port())
        plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
        add_ground(plant)
        add_body(plant, "ball", Sphere(0.1), RigidTransform([0.0, 0.0, 0.12]))
        plant.Finalize()
        push, port = builder.AddSystem(Push()), plant.get_generalized_contact_forces_output_port(_instance(plant))
        builder.Connect(port, push.get_input_port())
        builder.Connect(push.get_output_port(), plant.get_applied_generalized_force_input_port())
        simulator = with_accuracy(Simulator(builder.Build()), 1e-4)
        if is_watched:
            simulator.set_monitor(lambda root, p=plant, port=port: print(port.Eval(p.GetMyContextFromRoot(root))))
        simulator.AdvanceTo(0.2)
        ends.append(state_of(simulator, plant))
    assert ends[0][4] != 0.0
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])


def test_states_outside_count_in_the_error() -> None:
    """A cart that rolls needs no short steps, the integral of its position does."""
    simulator, plant, way = _cart(Spring(0.0, 0.0))
    with_accuracy(simulator, 1e-6)
    plant.SetVelocities(plant.GetMyContextFromRoot(simulator.get_mutable_context()), [50.0])
    simulator.AdvanceTo(0.1)
    z = way.GetMyContextFromRoot(simulator.get_context()).get_continuous_state_vector().CopyToVector()
    assert abs(z[0] - (0.3 * 0.1 + 0.5 * 50.0 * 0.1**2)) < 1e-6
    assert simulator.get_integrator().get_num_steps_taken() > 100


def test_an_exception_in_a_step_changes_nothing_and_what_follows_is_as_without_it() -> None:
    undisturbed, its_plant, _ = _cart(Spring(40.0, 1.0))
    with_accuracy(undisturbed, 1e-4).AdvanceTo(1.0)
    spring = Spring(40.0, 1.0, last=0.5)
    simulator, plant, _ = _cart(spring)
    with_accuracy(simulator, 1e-4)
    with pytest.raises(ArithmeticError, match="no more"):
        simulator.AdvanceTo(1.0)
    time, before = simulator.get_context().get_time(), state_of(simulator, plant)
    assert 0.3 < time < 0.51
    with pytest.raises(ArithmeticError, match="no more"):
        simulator.AdvanceTo(1.0)
    assert simulator.get_context().get_time() == time
    np.testing.assert_array_equal(state_of(simulator, plant), before)
    spring.last = math.inf
    simulator.AdvanceTo(1.0)
    np.testing.assert_array_equal(state_of(simulator, plant), state_of(undisturbed, its_plant))


def test_two_plants_deep_in_a_diagram_both_move() -> None:
    builder, plants = DiagramBuilder(), []
    for k in range(2):
        inner = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(inner, 0.0)
        add_ground(plant)
        add_body(plant, "ball", Sphere(0.1), RigidTransform([0.0, 0.0, 0.1 + 0.05 * (k + 1)]))
        plant.Finalize()
        builder.AddNamedSystem(f"room{k}", inner.Build())
        plants.append(plant)
    simulator = with_accuracy(Simulator(builder.Build()), 1e-5)
    simulator.AdvanceTo(0.08)
    heights = [state_of(simulator, plant)[6] for plant in plants]
    np.testing.assert_allclose(heights, [0.15 - 0.5 * G * 0.08**2, 0.2 - 0.5 * G * 0.08**2], atol=1e-5)


@pytest.mark.usefixtures("compile_at_once")
def test_there_may_be_any_number_of_plants() -> None:
    builder, plants = DiagramBuilder(), []
    for _ in range(45):
        plant = builder.AddSystem(MultibodyPlant(0.0))
        plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.Finalize()
        plants.append(plant)
    simulator = with_accuracy(Simulator(builder.Build()), 1e-3)
    simulator.AdvanceTo(0.1)
    heights = [state_of(simulator, plant)[6] for plant in plants]
    np.testing.assert_allclose(heights, -0.5 * G * 0.1**2, atol=1e-3)


def test_a_plant_alone_needs_no_diagram() -> None:
    plant = MultibodyPlant(0.0)
    arm(plant)
    plant.Finalize()
    simulator = with_accuracy(Simulator(plant), 1e-4)
    simulator.AdvanceTo(0.5)
    assert np.isfinite(plant.GetPositions(simulator.get_context())).all()


# ---------------------------------------------------------------------- very short steps


def test_a_very_short_step_before_an_event_does_not_blow_up_errors_of_constraints() -> None:
    def fill(plant: MultibodyPlant) -> None:
        joints = []
        for k in range(2):
            body = plant.AddRigidBody(f"body{k}", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
            joint = PrismaticJoint(f"z{k}", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0])
            joints.append(plant.AddJoint(joint))
        plant.AddCouplerConstraint(joints[0], joints[1], -1.0)

    simulator, plant = simulator_of(fill)
    simulator.AdvanceTo(1.0)
    for k in range(3):
        simulator.AdvanceTo(1.0 + 1e-9 * (k + 1))
        assert np.abs(state_of(simulator, plant)).max() < 1e-2


def test_very_short_steps_show_the_contact_forces_of_long_ones() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, "ball", Sphere(0.1), RigidTransform([0.0, 0.0, 0.12]))

    simulator, plant = simulator_of(fill, 1e-4)
    simulator.AdvanceTo(0.075)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    port = plant.get_generalized_contact_forces_output_port(_instance(plant))
    before = port.Eval(context)[5]
    assert before > 20.0  # it is thrown up
    for k in range(3):
        simulator.AdvanceTo(0.075 + 1e-9 * (k + 1))
        assert abs(port.Eval(context)[5] - before) < 0.1 * before


# ---------------------------------------------------------------------- settings, reports, refusals


def test_the_scheme_has_a_name_in_configurations() -> None:
    simulator, _ = simulator_of(arm)
    config = SimulatorConfig(integration_scheme="cenic", accuracy=1e-2, max_step_size=0.05)
    ApplySimulatorConfig(config, simulator)
    assert type(simulator.get_integrator()) is CenicIntegrator
    assert ExtractSimulatorConfig(simulator) == config


def test_what_made_steps_short_is_named() -> None:
    simulator, _ = simulator_of(tumbling, 1e-4)
    integrator = simulator.get_integrator()
    with pytest.raises(RuntimeError, match=r"DescribeStepSizes\(\) is called before Initialize"):
        integrator.DescribeStepSizes()
    simulator.AdvanceTo(0.3)
    text = integrator.DescribeStepSizes()
    assert "attempts were refused" in text and "plant '::Diagram::plant'" in text and "box_" in text
    assert "by the contact of 'DefaultModelInstance::b" in text
    assert integrator.DescribeStepSizes() == text  # the attempt is made once more in a Context of its own
    summary = dict(integrator.GetStatisticsSummary())
    assert summary["cenic_total_solver_iterations"] > 0
    integrator.ResetStatistics()
    assert integrator.DescribeStepSizes() == "0 steps were taken, and none was refused."
    simulator.AdvanceTo(0.32)
    integrator.Reset()
    integrator.set_maximum_step_size(0.1)
    integrator.Initialize()
    assert integrator.DescribeStepSizes() == "0 steps were taken, and none was refused."


def test_solver_parameters_are_checked() -> None:
    simulator, _ = simulator_of(arm)
    integrator = simulator.get_integrator()
    with pytest.raises(TypeError, match="takes IcfSolverParameters, got dict"):
        integrator.SetSolverParameters({})
    with pytest.raises(ValueError, match="max_iterations must be at least 1, got 0"):
        integrator.SetSolverParameters(IcfSolverParameters(max_iterations=0))
    integrator.SetSolverParameters(IcfSolverParameters(max_iterations=7))
    assert integrator.get_solver_parameters().max_iterations == 7
    assert CenicIntegrator_[float] is CenicIntegrator


def test_systems_without_a_continuous_plant_are_refused() -> None:
    system = Integrator(1)
    with pytest.raises(ValueError, match=r"system '::.*' has no continuous MultibodyPlant to move"):
        CenicIntegrator(system, system.CreateDefaultContext())
    plant = MultibodyPlant(1e-3)
    plant.Finalize()
    with pytest.raises(ValueError, match=r"is discrete\. Give a plant the time step 0"):
        CenicIntegrator(plant, plant.CreateDefaultContext())


def test_systems_of_other_scalars_are_refused() -> None:
    plant = MultibodyPlant(0.0)
    arm(plant)
    plant.Finalize()
    with pytest.raises(TypeError, match="is one of Expression; only systems of floats and of AutoDiffXd"):
        CenicIntegrator(plant.ToSymbolic())


def test_an_input_that_is_no_number_is_named() -> None:
    simulator, plant, _ = _cart(Spring(math.nan, 0.0))
    with_accuracy(simulator, 1e-3)
    with pytest.raises(RuntimeError, match="actuation"):
        simulator.AdvanceTo(0.1)
    assert simulator.get_context().get_time() == 0.0
    np.testing.assert_array_equal(state_of(simulator, plant), [0.3, 0.0])


def test_a_copied_simulation_goes_on_as_the_original_does() -> None:
    simulator, plant = simulator_of(tumbling)
    simulator.AdvanceTo(0.15)
    copied = copy.deepcopy(simulator)
    twin = copied.get_system().GetSubsystemByName("plant")
    for each in (copied, simulator):
        each.AdvanceTo(0.3)
    np.testing.assert_array_equal(state_of(copied, twin), state_of(simulator, plant))
    assert copied.get_num_steps_taken() == simulator.get_num_steps_taken()
