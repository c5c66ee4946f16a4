"""Force elements of a plant: motion, energy, parameters of a Context, errors."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    DoorHinge,
    DoorHingeConfig,
    FixedOffsetFrame,
    ForceElementIndex,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    ModelInstanceIndex,
    MultibodyForces,
    PolynomialSpring,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
    UniformGravityFieldElement,
    UnitInertia,
)

BOX = SpatialInertia.SolidBoxWithMass(2.0, 0.3, 0.4, 0.5)
POSE = RigidTransform(RollPitchYaw(0.3, -0.2, 0.9), [0.2, -0.1, 0.3])
NUMBERS = {
    "stiffness": 7.0, "nominal": 0.4, "damping": 0.3, "constants": [1.0, 2.0, 3.0], "config": DoorHingeConfig(),
    "mass": 3.0, "com": [0.05, 0.1, -0.1], "joint_damping": 0.7, "rotor": 0.2, "ratio": 3.0,
    "gravity": [1.0, -2.0, -8.0], "pose": POSE,
}  # fmt: skip
OTHERS = {
    "stiffness": 11.0, "nominal": -0.6, "damping": 0.9, "constants": [4.0, 2.0, 1.0], "mass": 1.5,
    "config": DoorHingeConfig(catch_width=0.5, motion_threshold=0.1, spring_constant=4.0, viscous_friction=0.2),
    "com": [-0.1, 0.05, 0.1], "joint_damping": 0.1, "rotor": 0.5, "ratio": 2.0, "gravity": [0.0, 3.0, -5.0],
    "pose": RigidTransform(RollPitchYaw(-0.5, 0.4, 0.1), [0.1, 0.3, -0.2]),
}  # fmt: skip


def inertia_of(numbers: dict) -> SpatialInertia:
    """Its unit inertia about Bo is the same, whatever the numbers."""
    return SpatialInertia(numbers["mass"], numbers["com"], UnitInertia.SolidSphere(1.0))


def machine(numbers: dict, time_step: float = 0.0) -> MultibodyPlant:
    """An arm of a revolute and a prismatic joint, one of them reversed, and a floating body, with every element."""
    plant = MultibodyPlant(time_step)
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(False)
    plant.mutable_gravity_field().set_gravity_vector(numbers["gravity"])
    arm, slide = plant.AddRigidBody("arm", inertia_of(numbers)), plant.AddRigidBody("slide", BOX)
    free = plant.AddRigidBody("free", BOX)
    mount = plant.AddFrame(FixedOffsetFrame("mount", arm, numbers["pose"]))
    tip = plant.AddFrame(FixedOffsetFrame("tip", mount, POSE))
    hinge = RevoluteJoint("hinge", plant.world_frame(), arm.body_frame(), [0, 1, 1], damping=numbers["joint_damping"])
    rail = PrismaticJoint("rail", slide.body_frame(), tip, [1, 0, 0])  # its child is nearer the world
    plant.AddJoint(hinge), plant.AddJoint(rail)
    motor = plant.AddJointActuator("motor", hinge)
    motor.set_default_rotor_inertia(numbers["rotor"])
    motor.set_default_gear_ratio(numbers["ratio"])
    constants = numbers["constants"]
    for element in (
        RevoluteSpring(hinge, numbers["nominal"], numbers["stiffness"]),
        PrismaticSpring(rail, numbers["nominal"], numbers["stiffness"]),
        DoorHinge(hinge, numbers["config"]),
        LinearSpringDamper(
            slide, [0.1, 0, 0.2], free, [0, 0.1, 0], 1.0 + numbers["nominal"], numbers["stiffness"], numbers["damping"]
        ),
        LinearBushingRollPitchYaw(
            mount, free.body_frame(), constants, constants, [numbers["stiffness"]] * 3, constants
        ),
    ):
        plant.AddForceElement(element)
    plant.Finalize()
    return plant


def set_numbers(plant: MultibodyPlant, context, numbers: dict) -> None:
    """Gives a context the parameters that a plant built with these numbers has."""
    revolute, prismatic, door, spring, bushing = (plant.get_force_element(i) for i in range(1, 6))
    for element in (revolute, prismatic, spring):
        element.SetStiffness(context, numbers["stiffness"])
    revolute.SetNominalAngle(context, numbers["nominal"])
    prismatic.SetNominalPosition(context, numbers["nominal"])
    door.SetConfig(context, numbers["config"])
    spring.SetFreeLength(context, 1.0 + numbers["nominal"])
    spring.SetDamping(context, numbers["damping"])
    bushing.SetTorqueStiffnessConstants(context, numbers["constants"])
    bushing.SetTorqueDampingConstants(context, numbers["constants"])
    bushing.SetForceStiffnessConstants(context, [numbers["stiffness"]] * 3)
    bushing.SetForceDampingConstants(context, numbers["constants"])
    arm, motor = plant.GetBodyByName("arm"), plant.GetJointActuatorByName("motor")
    arm.SetMass(context, numbers["mass"])
    arm.SetCenterOfMassInBodyFrame(context, numbers["com"])
    plant.GetJointByName("hinge").SetDamping(context, numbers["joint_damping"])
    motor.SetRotorInertia(context, numbers["rotor"])
    motor.SetGearRatio(context, numbers["ratio"])
    plant.gravity_field().SetGravityVector(context, numbers["gravity"])
    plant.GetFrameByName("mount").SetPoseInParentFrame(context, numbers["pose"])


def set_state(plant: MultibodyPlant, context, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-0.5, 0.5, plant.num_positions())
    q[-3:] += [2.0, 1.0, 0.5]  # ends of springs stay apart
    plant.SetPositions(context, q)
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))
    plant.get_actuation_input_port().FixValue(context, [0.7])


def results(plant: MultibodyPlant, context) -> np.ndarray:
    """Everything that is computed of a context, in one vector."""
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    tip, world = plant.GetFrameByName("tip"), plant.world_frame()
    bushing = plant.get_force_element(5)
    if plant.time_step() > 0.0:
        change = plant.EvalUniquePeriodicDiscreteUpdate(context).value()
    else:
        change = plant.EvalTimeDerivatives(context).CopyToVector()
    parts = [
        plant.CalcMassMatrix(context),
        plant.CalcBiasTerm(context),
        plant.CalcGravityGeneralizedForces(context),
        plant.CalcInverseDynamics(context, np.ones(plant.num_velocities()), forces),
        change,
        plant.CalcKineticEnergy(context),
        plant.CalcPotentialEnergy(context),
        plant.CalcConservativePower(context),
        plant.CalcNonConservativePower(context),
        plant.CalcTotalMass(context),
        plant.CalcCenterOfMassPositionInWorld(context),
        plant.CalcRelativeTransform(context, world, tip).GetAsMatrix34(),
        tip.CalcPoseInWorld(context).GetAsMatrix34(),
        tip.CalcSpatialVelocityInWorld(context).get_coeffs(),
        plant.CalcPointsPositions(context, tip, [0.1, 0.2, 0.3], world),
        bushing.CalcBushingSpatialForceOnFrameA(context).get_coeffs(),
        bushing.CalcBushingSpatialForceOnFrameC(context).get_coeffs(),
    ]
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_parameters_of_a_context_are_as_good_as_those_of_the_model(time_step):
    plant, expected = machine(NUMBERS, time_step), machine(OTHERS, time_step)
    context, other = plant.CreateDefaultContext(), expected.CreateDefaultContext()
    set_state(plant, context), set_state(expected, other)
    before = results(plant, context)  # fills the cache
    set_numbers(plant, context, OTHERS)
    after = results(plant, context)
    assert np.abs(after - before).max() > 0.1
    np.testing.assert_allclose(after, results(expected, other), rtol=1e-11, atol=1e-11)
    set_numbers(plant, context, NUMBERS)
    np.testing.assert_allclose(results(plant, context), before, rtol=1e-11, atol=1e-11)
    fresh = plant.CreateDefaultContext()
    set_state(plant, fresh)
    np.testing.assert_array_equal(results(plant, fresh), before)


def test_parameters_are_read_back_and_copied_with_the_context():
    plant = machine(NUMBERS)
    context = plant.CreateDefaultContext()
    set_numbers(plant, context, OTHERS)
    revolute, prismatic, door, spring, bushing = (plant.get_force_element(i) for i in range(1, 6))
    for copy in (context, context.Clone()):
        assert revolute.GetNominalAngle(copy) == prismatic.GetNominalPosition(copy) == OTHERS["nominal"]
        assert revolute.GetStiffness(copy) == prismatic.GetStiffness(copy) == spring.GetStiffness(copy) == 11.0
        assert (spring.GetFreeLength(copy), spring.GetDamping(copy)) == (1.0 + OTHERS["nominal"], 0.9)
        assert door.GetConfig(copy) == OTHERS["config"]
        np.testing.assert_array_equal(bushing.GetTorqueStiffnessConstants(copy), [4, 2, 1])
        np.testing.assert_array_equal(bushing.GetForceDampingConstants(copy), [4, 2, 1])
        np.testing.assert_array_equal(bushing.GetForceStiffnessConstants(copy), [11, 11, 11])
        np.testing.assert_array_equal(bushing.GetTorqueDampingConstants(copy), [4, 2, 1])
        np.testing.assert_array_equal(plant.gravity_field().GetGravityVector(copy), OTHERS["gravity"])
        X_PF = plant.GetFrameByName("mount").GetPoseInParentFrame(copy)
        np.testing.assert_array_equal(X_PF.GetAsMatrix34(), OTHERS["pose"].GetAsMatrix34())


@pytest.mark.parametrize(
    "what", ["stiffness", "nominal", "mass", "pose", "gravity", "rotor", "joint_damping", "damping"]
)
def test_accelerations_are_differentiated_by_parameters(what):
    """By the complex step, against central differences."""
    plant = machine(NUMBERS)

    def acceleration(numbers: dict, dtype=np.float64) -> np.ndarray:
        context = plant._make_context(dtype)
        plant.SetDefaultContext(context)
        set_state(plant, context)
        set_numbers(plant, context, numbers)
        return plant.EvalTimeDerivatives(context).CopyToVector()

    def moved(step) -> dict:
        if what == "pose":
            return {**NUMBERS, "pose": RigidTransform(POSE.rotation(), POSE.translation() + step * np.ones(3))}
        return {**NUMBERS, what: np.add(NUMBERS[what], step)}

    exact = acceleration(moved(1e-100j), np.complex128).imag / 1e-100
    difference = (acceleration(moved(1e-4)) - acceleration(moved(-1e-4))) / 2e-4
    assert np.abs(exact).max() > 1e-3
    np.testing.assert_allclose(exact, difference, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------------------------------- motion and energy


def conservative(plant: MultibodyPlant) -> None:
    """A pendulum on a slide with springs on and between bodies, and a body that flies about on springs."""
    slide, bob, free = (plant.AddRigidBody(name, BOX) for name in ("slide", "bob", "free"))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), slide.body_frame(), [1, 0, 0]))
    X_FM = FixedOffsetFrame("pivot", bob, RigidTransform([0.0, 0.0, 0.8]))
    swing = plant.AddJoint(RevoluteJoint("swing", slide.body_frame(), plant.AddFrame(X_FM), [0, 1, 0]))
    plant.AddForceElement(PrismaticSpring(rail, 0.1, 40.0))
    plant.AddForceElement(RevoluteSpring(swing, 0.2, 8.0))
    plant.AddForceElement(DoorHinge(swing, DoorHingeConfig(
        catch_width=0.6, static_friction_torque=0.0, dynamic_friction_torque=0.0, viscous_friction=0.0,
    )))  # fmt: skip
    for point in ([0.2, 0, 0], [-0.2, 0.1, 0], [0, 0, 0.2]):
        plant.AddForceElement(LinearSpringDamper(bob, point, free, [0.1, -0.1, 0.1], 1.0, 30.0, 0.0))
    A = plant.AddFrame(FixedOffsetFrame("A", plant.world_body(), RigidTransform([1.0, 0.0, -1.0])))
    zero = np.zeros(3)
    plant.AddForceElement(LinearBushingRollPitchYaw(A, free.body_frame(), [3.0, 4.0, 5.0], zero, [50.0] * 3, zero))
    plant.Finalize()


def test_energy_stays_in_a_long_run_on_springs():
    plant = MultibodyPlant(0.0)
    conservative(plant)
    context = plant.CreateDefaultContext()
    plant.GetJointByName("swing").set_angle(context, 0.7)
    plant.SetFreeBodyPose(context, plant.GetBodyByName("free"), RigidTransform([1.2, 0.1, -0.8]))
    plant.SetFreeBodySpatialVelocity(context, plant.GetBodyByName("free"), SpatialVelocity([0.3, -0.2, 0.4, 0, 0, 0]))
    simulator = Simulator(plant, context)
    simulator.get_mutable_integrator().set_target_accuracy(1e-7)
    energies = []
    for time in np.arange(0.25, 5.25, 0.25):
        simulator.AdvanceTo(time)
        energies.append((plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)))
    kinetic, potential = np.array(energies).T
    assert np.ptp(kinetic) > 1.0
    np.testing.assert_allclose(kinetic + potential, kinetic[0] + potential[0], atol=1e-4)


@pytest.mark.parametrize("time_step", [0.0, 1e-3])
def test_forces_of_polynomial_springs_have_their_slopes_and_energy(time_step):
    """tau = -(x + 2 x^2 + 3 x^3) - (4 v + 5 v |v| + 6 v^3) with x = q - 0.2, on a mass of 1.5 kg."""
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("body", SpatialInertia(1.5, np.zeros(3), UnitInertia.SolidSphere(0.1)))
    slide = plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    spring = plant.AddForceElement(PolynomialSpring(slide, 0.2, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for q, v in ((0.9, -0.4), (-0.6, 0.7), (0.2, 0.0)):
        plant.SetPositionsAndVelocities(context, [q, v])
        x, brakes = q - 0.2, 4 * v + 5 * v * abs(v) + 6 * v**3
        pulls = x + 2 * x**2 + 3 * x**3
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        assert forces.generalized_forces()[0] == pytest.approx(-pulls - brakes, abs=1e-14)
        assert plant.CalcPotentialEnergy(context) == pytest.approx(x**2 / 2 + 2 / 3 * x**3 + 3 / 4 * x**4, abs=1e-14)
        assert spring.CalcConservativePower(context) == pytest.approx(-pulls * v, abs=1e-14)
        assert spring.CalcNonConservativePower(context) == pytest.approx(-brakes * v, abs=1e-14)
        if time_step == 0.0:
            exact = plant.ToAutoDiffXd()
            of_exact = exact.CreateDefaultContext()
            exact.SetPositionsAndVelocities(of_exact, [AutoDiffXd(q, [1, 0]), AutoDiffXd(v, [0, 1])])
            vdot = exact.EvalTimeDerivatives(of_exact).CopyToVector()[1]
            slopes = [-(1 + 4 * x + 9 * x**2), -(4 + 10 * abs(v) + 18 * v**2)]
            np.testing.assert_allclose(vdot.derivatives(), np.array(slopes) / 1.5, atol=1e-13)
    with pytest.raises(RuntimeError, match="the damping must be finite"):
        PolynomialSpring(slide, 0.2, [1.0, 2.0, 3.0], [4.0, np.nan, 6.0])


def test_change_of_energy_is_the_power_of_dampers_friction_joints_and_motor():
    plant = machine(NUMBERS)
    context = plant.CreateDefaultContext()
    set_state(plant, context)
    x, xdot = plant.GetPositionsAndVelocities(context), plant.EvalTimeDerivatives(context).CopyToVector()
    ahead = plant._make_context(np.complex128)
    plant.SetDefaultContext(ahead)
    plant.SetPositionsAndVelocities(ahead, x + 1e-100j * xdot)
    change = (plant.CalcKineticEnergy(ahead) + plant.CalcPotentialEnergy(ahead)).imag / 1e-100
    rate = plant.GetJointByName("hinge").get_angular_rate(context)
    others = 0.7 * rate - NUMBERS["joint_damping"] * rate**2
    assert change == pytest.approx(plant.CalcNonConservativePower(context) + others, rel=1e-11)
    single = sum(plant.get_force_element(i).CalcNonConservativePower(context) for i in range(6))
    assert single == pytest.approx(plant.CalcNonConservativePower(context), rel=1e-12)
    for function in ("CalcPotentialEnergy", "CalcConservativePower"):
        parts = [getattr(plant.get_force_element(i), function)(context) for i in range(6)]
        assert sum(parts) == pytest.approx(getattr(plant, function)(context), rel=1e-12)


@pytest.mark.parametrize("time_step", [0.0, 1e-3])
def test_mass_on_a_spring_oscillates_as_the_closed_form(time_step):
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("mass", BOX)
    joint = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1, 0, 0]))
    plant.AddForceElement(PrismaticSpring(joint, 0.5, 18.0))
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    simulator.AdvanceTo(1.0)
    assert joint.get_translation(context) == pytest.approx(0.5 - 0.5 * np.cos(3.0), abs=2e-3)


def test_forces_of_elements_add_up_to_those_of_the_plant():
    plant = machine(NUMBERS)
    context = plant.CreateDefaultContext()
    set_state(plant, context)
    whole, parts = MultibodyForces(plant), MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, whole)
    for i in range(plant.num_force_elements()):
        plant.get_force_element(ForceElementIndex(i)).CalcAndAddForceContribution(context, parts)
    for joint in map(plant.get_joint, plant.GetJointIndices()):
        joint.AddInDamping(context, parts)
    np.testing.assert_allclose(parts.generalized_forces(), whole.generalized_forces(), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(parts._F_Bo_W, whole._F_Bo_W, rtol=1e-14, atol=1e-14)


# ---------------------------------------------------------------------------------------------- gravity


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_gravity_acts_on_the_model_instances_where_it_is_enabled(time_step):
    plant = MultibodyPlant(time_step)
    names = ("heavy", "light")
    instances = [plant.AddModelInstance(name) for name in names]
    bodies = [plant.AddRigidBody(name, instance, BOX) for name, instance in zip(names, instances)]
    plant.set_gravity_enabled(instances[1], False)
    assert [plant.is_gravity_enabled(i) for i in instances] == [True, False]
    assert [plant.gravity_field().is_enabled(i) for i in instances] == [True, False]
    plant.Finalize()
    context = plant.CreateDefaultContext()
    accelerations = [body.EvalSpatialAccelerationInWorld(context).translational()[2] for body in bodies]
    np.testing.assert_allclose(accelerations, [-9.81, 0.0], atol=1e-12)
    assert plant.CalcGravityGeneralizedForces(context).sum() == pytest.approx(-2.0 * 9.81)
    for body in bodies:
        plant.SetFreeBodyPose(context, body, RigidTransform([0.0, 0.0, 3.0]))
    assert plant.CalcPotentialEnergy(context) == pytest.approx(2.0 * 9.81 * 3.0)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    weights = [body.GetForceInWorld(context, forces).translational()[2] for body in bodies]
    np.testing.assert_allclose(weights, [-2.0 * 9.81, 0.0])


def test_gravity_can_be_enabled_again():
    plant = MultibodyPlant(0.0)
    plant.set_gravity_enabled(ModelInstanceIndex(1), False)
    plant.set_gravity_enabled(ModelInstanceIndex(1), True)
    body = plant.AddRigidBody("body", BOX)
    plant.Finalize()
    acceleration = body.EvalSpatialAccelerationInWorld(plant.CreateDefaultContext())
    assert acceleration.translational()[2] == pytest.approx(-9.81)
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.set_gravity_enabled(ModelInstanceIndex(1), False)
    with pytest.raises(RuntimeError, match="no model instance with index 7"):
        plant.is_gravity_enabled(ModelInstanceIndex(7))
    with pytest.raises(RuntimeError, match="not added"):
        UniformGravityFieldElement().is_enabled(ModelInstanceIndex(0))


# ---------------------------------------------------------------------------------------------- errors


def two_bodies() -> tuple:
    plant = MultibodyPlant(0.0)
    bodies = [plant.AddRigidBody(name, BOX) for name in "ab"]
    joints = (
        plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), bodies[0].body_frame(), [0, 0, 1])),
        plant.AddJoint(PrismaticJoint("rail", bodies[0].body_frame(), bodies[1].body_frame(), [0, 0, 1])),
    )
    return plant, bodies, joints


def test_constants_out_of_range_are_refused():
    _, (a, b), (hinge, rail) = two_bodies()
    point, ones = np.zeros(3), np.ones(3)
    frames = a.body_frame(), b.body_frame()
    for make, words in (
        (lambda: RevoluteSpring(hinge, 0.0, -1.0), "stiffness.*at least 0.*-1"),
        (lambda: PrismaticSpring(rail, np.nan, 1.0), "nominal position.*finite.*nan"),
        (lambda: LinearSpringDamper(a, point, b, point, 0.0, 1.0, 1.0), "free length.*positive"),
        (lambda: LinearSpringDamper(a, point, b, point, 1.0, -1.0, 1.0), "stiffness"),
        (lambda: LinearSpringDamper(a, point, b, point, 1.0, 1.0, -1.0), "damping"),
        (lambda: LinearBushingRollPitchYaw(*frames, -ones, ones, ones, ones), "torque stiffness.*not negative"),
        (lambda: DoorHinge(hinge, DoorHingeConfig(catch_width=-1.0)), "catch_width.*at least 0"),
    ):
        with pytest.raises(RuntimeError, match=words):
            make()
    with pytest.raises(TypeError, match="takes a RevoluteJoint, not a PrismaticJoint"):
        RevoluteSpring(rail, 0.0, 1.0)
    with pytest.raises(TypeError, match="body_frame"):
        LinearBushingRollPitchYaw(a, frames[1], ones, ones, ones, ones)


def test_elements_of_another_plant_and_second_gravity_are_refused():
    plant, _, (hinge, _) = two_bodies()
    other, _, _ = two_bodies()
    spring = RevoluteSpring(hinge, 0.0, 1.0)
    with pytest.raises(RuntimeError, match=r"AddForceElement\(\).*RevoluteJoint name='hinge'.*another plant"):
        other.AddForceElement(spring)
    with pytest.raises(RuntimeError, match="already contains a gravity field"):
        plant.AddForceElement(UniformGravityFieldElement())
    assert plant.AddForceElement(spring) is spring and spring.index() == 1
    with pytest.raises(RuntimeError, match="already"):
        plant.AddForceElement(spring)
    with pytest.raises(RuntimeError, match=r"index 2.*has 2 of them"):
        plant.get_force_element(ForceElementIndex(2))
    plant.Finalize()
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.AddForceElement(RevoluteSpring(hinge, 0.0, 1.0))


def test_bad_values_for_a_context_leave_it_as_it_was():
    plant = machine(NUMBERS)
    context = plant.CreateDefaultContext()
    spring, mount = plant.get_force_element(1), plant.GetFrameByName("mount")
    with pytest.raises(RuntimeError, match="stiffness"):
        spring.SetStiffness(context, -1.0)
    assert spring.GetStiffness(context) == NUMBERS["stiffness"]
    with pytest.raises(ValueError, match=r"SetPoseInParentFrame\(\): element 3 .*nan; all must be finite"):
        mount.SetPoseInParentFrame(context, RigidTransform._from_parts(np.eye(3), np.array([np.nan, 0.0, 0.0])))
    with pytest.raises(TypeError, match="RigidTransform"):
        mount.SetPoseInParentFrame(context, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="g_W must be finite"):
        plant.gravity_field().SetGravityVector(context, [0.0, 0.0, np.inf])
    np.testing.assert_array_equal(mount.GetPoseInParentFrame(context).GetAsMatrix34(), POSE.GetAsMatrix34())


def test_frames_have_no_pose_in_a_context_before_finalize():
    plant, (a, _), _ = two_bodies()
    frame = plant.AddFrame(FixedOffsetFrame("frame", a, POSE))
    with pytest.raises(RuntimeError, match=r"'frame' has no pose.*Finalize"):
        frame.GetPoseInParentFrame(None)


def test_spring_without_length_is_reported_with_its_bodies():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("bob", BOX)
    plant.AddForceElement(LinearSpringDamper(plant.world_body(), np.zeros(3), body, np.zeros(3), 1.0, 5.0, 0.0))
    plant.set_name("toy")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    message = r"LinearSpringDamper index=1.*plant '::toy'.*at time 0.0 s: the length .*'world' and body 'bob' is zero"
    for function in (plant.EvalTimeDerivatives, plant.CalcPotentialEnergy, plant.CalcConservativePower):
        with pytest.raises(RuntimeError, match=message):
            function(context)
    plant.SetFreeBodyPose(context, body, RigidTransform([2.0, 0.0, 0.0]))
    assert plant.EvalTimeDerivatives(context).CopyToVector()[-3] == pytest.approx(-5.0 / 2.0)
    assert plant.CalcPotentialEnergy(context) == pytest.approx(2.5)


def test_bushing_at_a_quarter_turn_of_pitch_is_reported_with_its_frames():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("bob", BOX)
    ones = np.ones(3)
    bushing = LinearBushingRollPitchYaw(plant.world_frame(), body.body_frame(), ones, ones, ones, ones)
    plant.AddForceElement(bushing)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetFreeBodyPose(context, body, RigidTransform(RollPitchYaw(0.1, np.pi / 2, 0.2), [1.0, 0.0, 0.0]))
    for function in (plant.EvalTimeDerivatives, plant.CalcPotentialEnergy, bushing.CalcBushingSpatialForceOnFrameA):
        with pytest.raises(RuntimeError, match="pitch angle of the bushing between frame 'world' and frame 'bob'"):
            function(context)


def test_energy_of_a_bushing_of_unequal_stiffness_is_refused():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("bob", BOX)
    ones = np.ones(3)
    plant.AddForceElement(
        LinearBushingRollPitchYaw(plant.world_frame(), body.body_frame(), ones, ones, [1.0, 2.0, 1.0], ones)
    )
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for function in (plant.CalcPotentialEnergy, plant.CalcConservativePower, plant.CalcNonConservativePower):
        with pytest.raises(RuntimeError, match="does not exist: its force stiffnesses"):
            function(context)


def test_door_hinge_without_threshold_or_catch_keeps_spring_and_viscous_friction():
    _, _, (hinge, _) = two_bodies()
    config = DoorHingeConfig(motion_threshold=0.0, catch_width=0.0)
    door = DoorHinge(hinge, config)
    config.viscous_friction = 17.0  # the element has a copy
    assert door.CalcHingeTorque(0.2, 0.3) == pytest.approx(-1.5 * (0.2 + 1.5) - 1.0 * 0.3)
    assert door.config().viscous_friction == 1.0


def test_converted_plant_carries_derivatives_through_all_elements():
    """The derivatives of AutoDiffXd, along the motion, against the complex step."""
    plant = machine(NUMBERS)
    context = plant.CreateDefaultContext()
    set_state(plant, context)
    x, xdot = plant.GetPositionsAndVelocities(context), plant.EvalTimeDerivatives(context).CopyToVector()
    ahead = plant._make_context(np.complex128)
    plant.SetDefaultContext(ahead)
    set_state(plant, ahead)
    plant.SetPositionsAndVelocities(ahead, x + 1e-100j * xdot)
    expected = plant.EvalTimeDerivatives(ahead).CopyToVector().imag / 1e-100
    converted = plant.ToAutoDiffXd()
    other = converted.CreateDefaultContext()
    converted.get_actuation_input_port().FixValue(other, [0.7])
    converted.SetPositionsAndVelocities(other, [AutoDiffXd(a, [b]) for a, b in zip(x, xdot)])
    result = converted.EvalTimeDerivatives(other).CopyToVector()
    np.testing.assert_allclose(ExtractValue(result).ravel(), xdot, atol=1e-11)
    np.testing.assert_allclose(ExtractGradient(result).ravel(), expected, rtol=1e-9, atol=1e-9)
