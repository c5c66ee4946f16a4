"""Laws of discrete steps for each kind of tree with each kind of holder, by 0.2 rad a step (velocity_products.py).

Energies are those where v belongs, half a step before q: that of (q, v) swings by the power times h / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    HalfSpace,
    ProximityProperties,
)
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from merganser.multibody.tree import (
    BallQuaternionJoint,
    FixedOffsetFrame,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
)

NUM_STEPS = 100_000
ANGLE = 0.2  # of the body that turns fastest, in a step [rad]
ANGLE_OF_FREE_TOP = 0.05  # the rule is not symplectic: by 0.1 rad a step it would gain 2 % in so many steps
SIDE = 0.2  # of the box that is held [m]
SOLVED_TO = {"nothing": 0.0, "weld": 0.0, "ball": 5e-7, "distance": 5e-7, "loop": 1e-5}  # by the solver [m]


def inertia(mass: float, p_BoBcm_B: Any, moments: Any) -> SpatialInertia:
    return SpatialInertia.MakeFromCentralInertia(mass, np.array(p_BoBcm_B, float), RotationalInertia(*moments))


def rotor(plant: Any, base: Any) -> None:
    """An unbalanced wheel on the base, skew to its axes."""
    body = plant.AddRigidBody("rotor", inertia(0.3, [0.05, 0.0, 0.01], (1e-3, 1.1e-3, 1.6e-3)))
    X_PF = RigidTransform(RollPitchYaw(0.3, 0.2, 0.0), [0.0, 0.0, 0.5 * SIDE])
    frame = plant.AddFrame(FixedOffsetFrame("axle", base.body_frame(), X_PF))
    plant.AddJoint(RevoluteJoint("spin", frame, body.body_frame(), [0, 0, 1]))


def arms(plant: Any, base: Any) -> None:
    """Two arms on hinges."""
    for k, axis in enumerate(([0, 1, 0], [1, 0, 0])):
        body = plant.AddRigidBody(f"arm{k}", inertia(0.2, [0.2, 0.0, 0.0], (1e-4, 2e-3, 2e-3)))
        X_PF = RigidTransform([0.1 - 0.2 * k, 0.0, 0.5 * SIDE])
        frame = plant.AddFrame(FixedOffsetFrame(f"shoulder{k}", base.body_frame(), X_PF))
        plant.AddJoint(RevoluteJoint(f"hinge{k}", frame, body.body_frame(), axis))


def top(plant: Any, base: Any) -> None:
    """An uneven body on a ball joint."""
    body = plant.AddRigidBody("top", inertia(0.3, [0.0, 0.01, 0.1], (2e-3, 2.2e-3, 8e-4)))
    frame = plant.AddFrame(FixedOffsetFrame("socket", base.body_frame(), RigidTransform([0.05, 0.0, 0.5 * SIDE])))
    plant.AddJoint(BallQuaternionJoint("ball", frame, body.body_frame()))


TREES: dict[str, Callable[[Any, Any], None]] = {"rotor": rotor, "arms": arms, "top": top}


def slides(plant: Any, base: Any, limit: float = np.inf) -> list[PrismaticJoint]:
    """Lets the base move along three axes only."""
    last, joints = plant.world_body(), []
    for k, axis in enumerate(np.eye(3)):
        body = base if k == 2 else plant.AddRigidBody(f"slide{k}", inertia(0.5, np.zeros(3), (0.1, 0.1, 0.1)))
        joint = PrismaticJoint(f"s{k}", last.body_frame(), body.body_frame(), axis, -limit, limit)
        joints.append(plant.AddJoint(joint))
        last = body
    return joints


def nothing(plant: Any, base: Any) -> None:
    pass


def contact(plant: Any, base: Any) -> None:
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.81])
    friction = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(base, RigidTransform(), Box(1.0, 1.0, SIDE), "box", friction)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction)


def patch(plant: Any, base: Any) -> None:
    """Contact on a surface."""
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.81])
    for body, z, shape in ((base, 0.0, Box(1.0, 1.0, SIDE)), (plant.world_body(), -1.0, Box(4.0, 4.0, 2.0))):
        material = ProximityProperties()
        AddContactMaterial(2.0, None, CoulombFriction(0.5, 0.5), material)
        AddCompliantHydroelasticProperties(0.5, 1e6, material)
        plant.RegisterCollisionGeometry(body, RigidTransform([0.0, 0.0, z]), shape, body.name(), material)


def weld(plant: Any, base: Any) -> None:
    plant.AddWeldConstraint(plant.world_body(), RigidTransform(), base, RigidTransform())


def ball(plant: Any, base: Any) -> None:
    plant.AddBallConstraint(plant.world_body(), [0.1, 0.0, 0.0], base, [0.1, 0.0, 0.0])


def distance(plant: Any, base: Any) -> None:
    plant.AddDistanceConstraint(plant.world_body(), [0.0, 0.0, 0.5], base, [0.0, 0.0, 0.1], 0.4)


def loop(plant: Any, base: Any) -> None:
    """A linkage of four bars in a plane, of which the base is the coupler."""
    for k in range(2):
        crank = plant.AddRigidBody(f"crank{k}", inertia(0.5, [0.0, 0.0, -0.15], (4e-3, 4e-3, 1e-4)))
        X_WF, X_BF = (RigidTransform([0.4 * k, 0.0, z]) for z in (0.3, 0.0))
        pin = plant.AddFrame(FixedOffsetFrame(f"pin{k}", plant.world_frame(), X_WF))
        plant.AddJoint(RevoluteJoint(f"turn{k}", pin, crank.body_frame(), [0, 1, 0]))
        tip = plant.AddFrame(FixedOffsetFrame(f"tip{k}", crank.body_frame(), RigidTransform([0.0, 0.0, -0.3])))
        if k == 0:
            plant.AddJoint(RevoluteJoint("coupler", tip, base.body_frame(), [0, 1, 0]))
        else:
            plant.AddBallConstraint(crank, [0.0, 0.0, -0.3], base, X_BF.translation())


def limits(plant: Any, base: Any) -> None:
    slides(plant, base, 1e-6)


def dry_friction(plant: Any, base: Any) -> None:
    for joint in slides(plant, base):
        joint.set_default_friction_vector([200.0])


def drives(plant: Any, base: Any, effort: float = np.inf) -> None:
    for k, joint in enumerate(slides(plant, base)):
        plant.AddJointActuator(f"motor{k}", joint, effort).set_controller_gains(PdControllerGains(p=1e4, d=1e2))


def weak_drives(plant: Any, base: Any) -> None:
    drives(plant, base, 2.0)


HOLDERS: dict[str, Callable[[Any, Any], None]] = {
    holder.__name__: holder
    for holder in (nothing, contact, patch, weld, ball, distance, loop, limits, dry_friction, drives, weak_drives)
}


def build(tree: str, holder: str, time_step: float, approximation: str = "kSap", is_explicit: bool = False) -> Any:
    """Simulator, plant and its Context: a box with a tree on it, which a holder holds, that turns by ANGLE a step."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    if time_step > 0.0:
        plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    plant.SetUseExplicitVelocityProducts(is_explicit)
    base = plant.AddRigidBody("base", inertia(10.0, np.zeros(3), (0.2, 0.25, 0.3)))
    HOLDERS[holder](plant, base)
    TREES[tree](plant, base)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    if plant.num_actuators():
        instance = plant.GetBodyByName("base").model_instance()
        plant.get_desired_state_input_port(instance).FixValue(context, np.zeros(6))
    if holder in ("contact", "patch"):
        plant.SetFreeBodyPose(context, base, RigidTransform([0.0, 0.0, 0.5 * SIDE]))
    v = np.zeros(plant.num_velocities())
    hinges = [joint for joint in map(plant.get_joint, plant.GetJointIndices()) if joint.type_name() not in SLOW]
    rng = np.random.default_rng(2)
    for joint in hinges:
        first = joint.velocity_start()
        v[first : first + joint.num_velocities()] = rng.uniform(0.5, 1.0, joint.num_velocities())
    plant.SetVelocities(context, v)
    bodies = [plant.get_body(index) for index in plant.GetBodyIndices(base.model_instance())]
    rates = [np.linalg.norm(body.EvalSpatialVelocityInWorld(context).rotational()) for body in bodies]
    angle = ANGLE_OF_FREE_TOP if (tree, holder) == ("top", "nothing") else ANGLE
    plant.SetVelocities(context, v * angle / ((time_step or 2e-3) * max(rates)))
    return simulator, plant, context


SLOW = {"prismatic", "quaternion_floating"}


def energy(plant: Any, context: Any) -> float:
    """Kinetic and potential energy where v belongs."""
    there = plant.CreateDefaultContext()
    v = plant.GetVelocities(context)
    q = plant.GetPositions(context) - 0.5 * plant.time_step() * plant.MapVelocityToQDot(context, v)
    plant.SetPositionsAndVelocities(there, np.concatenate([q, v]))
    return float(plant.CalcKineticEnergy(there) + plant.CalcPotentialEnergy(there))


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("tree", TREES)
def test_without_a_motor_energy_does_not_grow(tree: str, holder: str) -> None:
    h = 2e-3
    simulator, plant, context = build(tree, holder, h)
    simulator.AdvanceTo(10 * h)  # what is held has met its holder
    energies, scale = [energy(plant, context)], plant.CalcKineticEnergy(context)
    for k in range(1, 21):
        simulator.AdvanceTo((NUM_STEPS if holder != "patch" else 20_000) * h * k / 20)
        energies.append(energy(plant, context))
    assert max(energies) < energies[0] + 0.01 * scale


@pytest.mark.parametrize("approximation", ["kTamsi", "kSap", "kSimilar", "kLagged"])
@pytest.mark.parametrize("tree", TREES)
def test_a_body_on_the_ground_gives_no_energy_to_what_turns_on_it(tree: str, approximation: str) -> None:
    h = 5e-3
    simulator, plant, context = build(tree, "contact", h, approximation)
    before, scale = energy(plant, context), plant.CalcKineticEnergy(context)
    simulator.AdvanceTo(10.0)
    assert energy(plant, context) < before + 0.01 * scale


@pytest.mark.parametrize("holder", ["contact", "weld"])
@pytest.mark.parametrize("tree", TREES)
def test_under_error_control_energy_does_not_grow(tree: str, holder: str) -> None:
    simulator, plant, context = build(tree, holder, 0.0)
    root = simulator.get_mutable_context()
    simulator.reset_integrator(CenicIntegrator(simulator.get_system(), root)).set_target_accuracy(1e-4)
    simulator.AdvanceTo(0.1)
    before, scale = energy(plant, context), plant.CalcKineticEnergy(context)
    simulator.AdvanceTo(2.0)
    assert energy(plant, context) < before + 0.01 * scale


def test_energy_does_not_grow_in_a_million_steps() -> None:
    h = 2e-3
    simulator, plant, context = build("rotor", "ball", h)
    simulator.AdvanceTo(10 * h)
    before = energy(plant, context)
    simulator.AdvanceTo(1e6 * h)
    assert energy(plant, context) < 1.01 * before


@pytest.mark.parametrize("holder", HOLDERS)
def test_batches_take_the_same_steps(holder: str) -> None:
    simulator, plant, context = build("top", holder, 2e-3)
    diagram, x = simulator.get_system(), plant.GetPositionsAndVelocities(context)
    batch = BatchSimulator(diagram, simulator.get_context().Clone(), parallelize=False)
    simulator.AdvanceTo(0.1)
    found = batch.simulate(np.stack([x, x], axis=1), 0.1).states
    np.testing.assert_array_equal(found[:, 1], plant.GetPositionsAndVelocities(context))


@pytest.mark.parametrize("tree", TREES)
def test_momentum_swings_and_does_not_drift(tree: str) -> None:
    h = 2e-3
    simulator, plant, context = build(tree, "nothing", h)

    def momentum() -> Any:
        return plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).translational()

    start, speed = momentum(), np.sqrt(2.0 * 11.0 * energy(plant, context))
    changes = []
    for k in range(1, 401):
        simulator.AdvanceTo(0.05 * k)
        changes.append(np.linalg.norm(momentum() - start) / speed)
    assert max(changes) < 0.15
    assert np.mean(changes[-100:]) < 1.5 * np.mean(changes[:100]) + 0.01


@pytest.mark.parametrize("holder", SOLVED_TO)
@pytest.mark.parametrize("tree", TREES)
def test_errors_are_of_second_order_where_v_belongs(tree: str, holder: str) -> None:
    """Steps of 81 to 3 fine ones, from (q(h / 2), v(0)) to q(T + h / 2), of the motion that the fine ones make."""
    fine, span, steps = 1e-4, 0.0405, np.array([81, 45, 27, 15, 9, 5, 3])
    simulator, plant, context = build(tree, holder, 8e-3)
    rates, num_q = plant.GetVelocities(context), plant.num_positions()
    simulator, plant, context = build(tree, holder, fine)
    plant.SetVelocities(context, rates)
    simulator.AdvanceTo(10 * fine)  # it has met its holder
    x_0 = plant.GetPositionsAndVelocities(context)

    def moved(h: float, x: Any, time: float) -> Any:
        simulator, plant, context = build(tree, holder, h)
        plant.SetPositionsAndVelocities(context, x)
        simulator.AdvanceTo(time)
        return plant.GetPositions(context)

    def poses(q: Any) -> Any:  # quaternions have no particular length
        plant.SetPositions(context, q)
        bodies = map(plant.get_body, plant.GetBodyIndices(plant.GetBodyByName("base").model_instance()))
        return np.array([body.EvalPoseInWorld(context).GetAsMatrix4() for body in bodies])

    errors = []
    for h in steps * fine:
        q_start, q_end = (moved(fine, x_0, t + 0.5 * (h - fine)) for t in (0.0, span))
        found = moved(h, np.concatenate([q_start, x_0[num_q:]]), span)
        errors.append(np.abs(poses(found) - poses(q_end)).max())
    seen = np.array(errors) > SOLVED_TO[holder]
    size, error = np.sqrt(steps**2 - 1.0)[seen], np.array(errors)[seen]  # the fine steps have errors, too
    assert len(error) > 2 and np.all(np.diff(error) < 0.0)
    assert np.log(error[0] / error[-1]) > 1.8 * np.log(size[0] / size[-1])


@pytest.mark.parametrize("holder", ["nothing", "ball", "weld", "drives"])
@pytest.mark.parametrize("tree", TREES)
def test_errors_with_v_at_the_time_of_q_are_at_most_twice_those_of_explicit_products(
    tree: str, holder: str
) -> None:
    def end(h: float, is_explicit: bool) -> Any:
        simulator, plant, context = build(tree, holder, h, is_explicit=is_explicit)
        plant.SetPositionsAndVelocities(context, x_0)
        simulator.AdvanceTo(0.05)
        return plant.GetVelocities(context)

    _, plant, context = build(tree, holder, 5e-3)
    x_0 = plant.GetPositionsAndVelocities(context)
    truth = 2.0 * end(2e-5, False) - end(4e-5, False)
    for h in (5e-3, 2.5e-3, 1e-3, 5e-4):
        error, of_explicit = (np.abs(end(h, is_explicit) - truth).max() for is_explicit in (False, True))
        assert error < 2.0 * of_explicit + 1e-6


def test_trees_move_to_the_last_bit_as_they_do_alone() -> None:
    def rates(has_other: bool, rate: float) -> Any:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, 1e-3)
        last = plant.world_body()
        for k in range(2):
            body = plant.AddRigidBody(f"link{k}", inertia(1.0, [0.0, 0.0, -0.25], (0.02, 0.02, 3e-3)))
            F = plant.AddFrame(FixedOffsetFrame(f"F{k}", last.body_frame(), RigidTransform([0.0, 0.0, -0.5 * k])))
            plant.AddJoint(RevoluteJoint(f"pin{k}", F, body.body_frame(), [0, 1, 0]))
            last = body
        if has_other:
            arms(plant, plant.AddRigidBody("base", inertia(10.0, np.zeros(3), (0.2, 0.25, 0.3))))
        plant.Finalize()
        simulator = Simulator(builder.Build())
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.GetJointByName("pin0").set_angle(context, 0.3)
        if has_other:
            plant.GetJointByName("hinge0").set_angular_rate(context, rate)
        simulator.AdvanceTo(1.0)
        return [plant.GetJointByName(f"pin{k}").get_angular_rate(context) for k in range(2)]

    assert rates(False, 0.0) == rates(True, 0.0) == rates(True, 50.0)


@pytest.mark.parametrize("holder", ["nothing", "contact", "weld", "drives", "weak_drives"])
@pytest.mark.parametrize("tree", TREES)
def test_derivatives_go_through_all_passes(tree: str, holder: str) -> None:
    simulator, plant, context = build(tree, holder, 5e-3)
    simulator.AdvanceTo(0.02)
    diagram, x = simulator.get_system(), plant.GetPositionsAndVelocities(context)
    dx = np.random.default_rng(1).normal(size=len(x))

    def next_state(diagram: Any, x: Any) -> Any:
        there = diagram.GetSubsystemByName(plant.get_name())
        root = diagram.CreateDefaultContext()
        own = there.GetMyMutableContextFromRoot(root)
        there.SetPositionsAndVelocities(own, x)
        if there.num_actuators():
            instance = there.GetBodyByName("base").model_instance()
            there.get_desired_state_input_port(instance).FixValue(own, np.zeros(6))
        diagram.ExecuteForcedEvents(root)
        return there.GetPositionsAndVelocities(own)

    (t,) = InitializeAutoDiff([0.0]).ravel()
    derivatives = ExtractGradient(next_state(diagram.ToAutoDiffXd(), x + dx * t)).ravel()
    e = 1e-6
    differences = (next_state(diagram, x + e * dx) - next_state(diagram, x - e * dx)) / (2.0 * e)
    np.testing.assert_allclose(derivatives, differences, atol=1e-7 * (1.0 + np.abs(differences).max()))
