"""Lengths and moment arms of transmissions: closed forms, powers and differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.native import device
from merganser.multibody.algorithms import MechanismState
from merganser.multibody.batches import BatchCalcMassMatrix
from merganser.multibody.kernels.transmissions import TransmissionKind
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallTransmission,
    FixedOffsetFrame,
    FixedTendon,
    JointTerm,
    MultibodyForces,
    PrismaticJoint,
    RevoluteJoint,
    SiteTransmission,
    SliderCrankTransmission,
    SpatialInertia,
    SpatialTendon,
    TendonPulley,
    TendonSite,
    TendonWrap,
    Transmission,
)

RADIUS = 0.1


class Arm:
    """Two links on hinges about different axes, and a slide."""

    def __init__(self, time_step: float = 0.0) -> None:
        self.plant = plant = MultibodyPlant(time_step)
        self.world, outer = plant.world_body(), plant.world_body()
        self.bodies, self.joints = [], []
        for k, axis in enumerate(([0, 1, 0], [0.6, 0, 0.8], [1, 0, 0])):
            body = plant.AddRigidBody(f"b{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.1))
            frame = FixedOffsetFrame(f"f{k}", outer.body_frame(), RigidTransform([0.3 * (k > 0), 0, 0]))
            joint = PrismaticJoint if k == 2 else RevoluteJoint
            self.joints.append(plant.AddJoint(joint(f"j{k}", plant.AddFrame(frame), body.body_frame(), axis)))
            self.bodies.append(body)
            outer = body

    def finish(self, transmission, armature=0.0):
        transmission.set_armature(armature)
        self.plant.AddTransmission(transmission)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        return transmission


def wrapped(arm: Arm, is_cylinder: bool, side):
    on_side = None if side is None else TendonSite(arm.world, side)
    surface = TendonWrap(arm.world, RigidTransform(RollPitchYaw(1.2, 0.3, 0), [0, 0, 0]), RADIUS, is_cylinder, on_side)
    ends = TendonSite(arm.world, [-0.3, 0, 0.05]), TendonSite(arm.bodies[1], [0, 0.02, 0.05])
    return SpatialTendon("t", [ends[0], surface, ends[1]])


def fixed(arm: Arm):
    return FixedTendon("t", arm.joints, [0.5, -2.0, 3.0])


def pulleys(arm: Arm):
    sites = [TendonSite(arm.bodies[k], [0.1, 0.05 * k, 0.1]) for k in range(3)]
    on_world = TendonSite(arm.world, [0.2, 0, 0.5])
    branches = [on_world, sites[0], TendonPulley(2.0), sites[1], sites[2], TendonPulley(3.0), *sites[::2]]
    return SpatialTendon("t", branches)


def site(arm: Arm):
    return SiteTransmission("t", TendonSite(arm.bodies[2], [0.1, 0, 0]), [0, 0, 0, 1, -2, 0.5], TendonSite(arm.world))


def crank(arm: Arm):
    slider = TendonSite(arm.bodies[0], RigidTransform(RollPitchYaw(0, 0.4, 0), [0.1, 0, -0.2]))
    return SliderCrankTransmission("t", TendonSite(arm.bodies[1], [0.1, 0, 0.05]), slider, 0.9, scale=2.0)


CASES = {
    "fixed": fixed, "pulleys": pulleys, "site": site, "slider-crank": crank,
    **{
        f"{'cylinder' if is_cylinder else 'sphere'}, side {side}":
            lambda arm, is_cylinder=is_cylinder, side=side: wrapped(arm, is_cylinder, side)
        for is_cylinder in (False, True)
        for side in (None, (0, 0, 0.3), (0, 0, -0.3), (0.01, 0, 0.04))
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_moment_arms_are_derivatives_of_the_length(case):
    """Virtual work: l' = J q' along random motions, by differences of fourth order."""
    arm = Arm()
    tendon, rng, num_compared = arm.finish(CASES[case](arm)), np.random.default_rng(0), 0
    plant, context = arm.plant, arm.context
    for _ in range(60):
        q, v = rng.uniform(-2.0, 2.0, 3), rng.uniform(-1.0, 1.0, 3)
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
        arms = tendon.CalcMomentArms(context)
        assert tendon.CalcRate(context) == pytest.approx(arms @ v, abs=1e-14)
        rates = []
        for step in (2e-4, 1e-4):
            lengths = []
            for k in (-2, -1, 1, 2):
                plant.SetPositions(context, q + k * step * v)
                lengths.append(tendon.CalcLength(context))
            rates.append(np.dot([1.0, -8.0, 8.0, -1.0], lengths) / (12.0 * step))
        if abs(rates[1] - rates[0]) < 1e-9:  # or else it comes to a surface, or to its other side, just there
            assert rates[1] == pytest.approx(arms @ v, abs=1e-9)
            num_compared += 1
    assert num_compared >= 50


@pytest.mark.parametrize("case", ["fixed", "pulleys"])
def test_armature_is_a_mass_that_moves_as_its_tendon(case):
    found, a, step, rng = [], 0.7, 1e-6, np.random.default_rng(2)
    q, v, vdot = rng.uniform(-2.0, 2.0, 3), rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3)
    for armature in (0.0, a):
        arm = Arm()
        tendon = arm.finish(CASES[case](arm), armature)
        plant, context = arm.plant, arm.context
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
        M, energy = plant.CalcMassMatrix(context), plant.CalcKineticEnergy(context)
        forces = plant.CalcInverseDynamics(context, vdot, MultibodyForces(plant))
        np.testing.assert_allclose(plant.CalcMassMatrixViaInverseDynamics(context), M, atol=1e-12)
        np.testing.assert_allclose(forces - M @ vdot, plant.CalcBiasTerm(context), atol=1e-12)
        weights = plant.CalcGravityGeneralizedForces(context)
        free = plant.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()
        np.testing.assert_allclose(M @ free + plant.CalcBiasTerm(context), weights, atol=1e-10)
        found.append((M, plant.CalcBiasTerm(context), energy))
    (M_0, bias_0, energy_0), (M, bias, energy) = found
    J, rate, rates = tendon.CalcMomentArms(context), tendon.CalcRate(context), []
    for sign in (1.0, -1.0):
        plant.SetPositions(context, q + sign * step * v)
        rates.append(tendon.CalcRate(context))
    np.testing.assert_allclose(M - M_0, a * np.outer(J, J), atol=1e-12)
    np.testing.assert_allclose(bias - bias_0, a * J * (rates[0] - rates[1]) / (2.0 * step), atol=1e-8)
    assert energy - energy_0 == pytest.approx(0.5 * a * rate**2)


def test_what_knows_no_armature_says_so():
    arm = Arm()
    arm.finish(fixed(arm), 0.5)
    plant, context = arm.plant, arm.context
    for call in (
        lambda: MechanismState(plant),
        lambda: BatchCalcMassMatrix(plant, context, np.zeros((3, 2))),
        lambda: plant._tree.CalcMassMatrixViaInverseDynamics(context),
    ):
        with pytest.raises(RuntimeError, match=r"tendon 't' has the armature 0\.5, which this function leaves out"):
            call()


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_moment_arms_are_exact(case):
    arm = Arm()
    tendon, rng = arm.finish(CASES[case](arm)), np.random.default_rng(1)
    other = arm.plant.ToAutoDiffXd()
    there, twin = other.CreateDefaultContext(), other.GetTransmissionByName("t")
    q, step = rng.uniform(0.3, 0.6, 3), 1e-6
    other.SetPositions(there, InitializeAutoDiff(q).ravel())
    length, arms = twin.CalcLength(there), twin.CalcMomentArms(there)
    arm.plant.SetPositions(arm.context, q)
    np.testing.assert_allclose(ExtractValue(arms).ravel(), tendon.CalcMomentArms(arm.context), atol=1e-14)
    np.testing.assert_allclose(ExtractGradient(np.array([length])).ravel(), ExtractValue(arms).ravel(), atol=1e-12)
    differences = []
    for k in range(3):
        sides = []
        for sign in (1.0, -1.0):
            arm.plant.SetPositions(arm.context, q + sign * step * np.eye(3)[k])
            sides.append(tendon.CalcMomentArms(arm.context))
        differences.append((sides[0] - sides[1]) / (2.0 * step))
    np.testing.assert_allclose(ExtractGradient(arms), np.transpose(differences), atol=1e-7)


def belt(angle: float, side, is_cylinder: bool = True, height: float = 0.0):
    """A tendon from (-0.3, 0, 0) around a cylinder along y to a site at 0.4 from its axis, turned by an angle."""
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.1))
    joint = plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0, 1, 0]))
    on_side = None if side is None else TendonSite(plant.world_body(), side)
    X_WG = RigidTransform(RollPitchYaw(math.pi / 2, 0, 0), [0, 0, 0])
    surface = TendonWrap(plant.world_body(), X_WG, RADIUS, is_cylinder, on_side)
    path = [TendonSite(plant.world_body(), [-0.3, 0, 0]), surface, TendonSite(body, [0.4, height, 0])]
    tendon = plant.AddTransmission(SpatialTendon("t", path))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joint.set_angle(context, angle)
    return tendon, context


@pytest.mark.parametrize("is_cylinder", [True, False])
@pytest.mark.parametrize("angle", [-0.5, -0.3, 0.3, 0.9])
def test_a_belt_has_its_closed_form(angle, is_cylinder):
    tendon, context = belt(angle, (0, 0, 0.5), is_cylinder)
    straight = math.sqrt(0.3**2 - RADIUS**2) + math.sqrt(0.4**2 - RADIUS**2)
    # Over the top of the cylinder, from the angle pi to that of the site, which turns down.
    arc = math.pi + angle - math.acos(RADIUS / 0.3) - math.acos(RADIUS / 0.4)
    assert tendon.CalcLength(context) == pytest.approx(straight + RADIUS * arc, abs=1e-14)
    assert tendon.CalcMomentArms(context)[0] == pytest.approx(RADIUS, abs=1e-14)


def test_a_helix_is_straight_where_the_cylinder_is_unrolled():
    level, context = belt(0.3, (0, 0, 0.5))
    inclined, other = belt(0.3, (0, 0, 0.5), height=0.2)
    assert inclined.CalcLength(other) == pytest.approx(math.hypot(level.CalcLength(context), 0.2), abs=1e-14)


@pytest.mark.parametrize("is_cylinder", [True, False])
@pytest.mark.parametrize("side", [None, (0, 0, 0.5), (0, 0, -0.5), (0, 0, 0.05)])
def test_the_path_of_a_tendon_is_as_long_as_it_is_and_on_the_surface(side, is_cylinder):
    """Chords of 6 degrees are shorter than their arcs by 5e-4 at most."""
    for angle in (-0.5, 0.0, 0.9, 2.5):
        for height in (0.0, 0.1) if is_cylinder else (0.0,):
            tendon, context = belt(angle, side, is_cylinder, height)
            (points,) = tendon.CalcPath(context)
            length = tendon.CalcLength(context)
            chords = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
            assert length * (1.0 - 5e-4) <= chords <= length * (1.0 + 1e-12)
            np.testing.assert_allclose(points[0], [-0.3, 0, 0], atol=1e-15)
            from_axis = np.linalg.norm(points[1:-1] * [1.0, 0.0 if is_cylinder else 1.0, 1.0], axis=1)
            np.testing.assert_allclose(from_axis, RADIUS, atol=1e-12)


@pytest.mark.parametrize("is_cylinder", [True, False])
@pytest.mark.parametrize("side", [None, (0, 0, 0.5), (0, 0, 0.05)])
def test_length_and_moment_arms_are_continuous_where_a_tendon_touches(side, is_cylinder):
    tendon, context = belt(0.0, side, is_cylinder)
    plant, joint = tendon.GetParentPlant(), tendon.GetParentPlant().GetJointByName("j")
    # On the upper half, where the straight line leaves the surface.
    angles = np.linspace(-math.pi + 1.3, -0.1, 4001)
    found = []
    for angle in angles:
        joint.set_angle(context, angle)
        found.append((tendon.CalcLength(context), tendon.CalcMomentArms(context)[0]))
    lengths, arms = np.array(found).T
    assert np.abs(np.diff(lengths)).max() < 4.0 * (angles[1] - angles[0])
    assert np.abs(np.diff(arms)).max() < 0.02
    assert plant.num_transmissions() == 1


def test_forces_between_two_sites_do_not_turn_what_carries_both():
    arm = Arm()
    of_site = TendonSite(arm.bodies[2], [0.1, 0, 0]), [0.3, 0, -0.2, 1, -2, 0.5]
    tendon = arm.finish(SiteTransmission("t", *of_site, TendonSite(arm.bodies[0], [0, 0.1, 0])))
    arm.plant.SetPositions(arm.context, [0.3, -0.5, 0.2])
    arms = tendon.CalcMomentArms(arm.context)
    assert arms[0] == 0.0 and (abs(arms[1:]) > 0.1).all()


def test_a_ball_joint_turns_about_an_axis():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.1))
    joint = plant.AddJoint(BallQuaternionJoint("j", plant.world_frame(), body.body_frame()))
    on_child = plant.AddTransmission(BallTransmission("c", joint, [0, 0, 2.0]))
    on_parent = plant.AddTransmission(BallTransmission("p", joint, [0, 0, 2.0], is_on_parent=True))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    turned = RollPitchYaw(0.3, 0, 0).ToRotationMatrix()
    plant.SetPositions(context, turned.ToQuaternion().wxyz())
    np.testing.assert_allclose(on_child.CalcMomentArms(context), turned.matrix() @ [0, 0, 2.0], atol=1e-14)
    np.testing.assert_allclose(on_parent.CalcMomentArms(context), [0, 0, 2.0], atol=1e-14)
    plant.SetPositions(context, RollPitchYaw(0, 0, 0.3).ToQuaternion().wxyz())
    assert on_child.CalcLength(context) == pytest.approx(0.6)


@device
def _set_square(transmission, nodes, topology, q_in, position_in, length_out, arms_out):
    node = nodes[transmission["first"]]
    q = q_in[node["q"]]
    length_out[0] += transmission["constants"][0] * q * q
    arms_out[node["v"]] += 2.0 * transmission["constants"][0] * q


SQUARE = TransmissionKind("square", _set_square)


@pytest.mark.parametrize("time_step", [0.0, 0.001])
def test_a_kind_of_a_program_drives_a_joint(time_step):
    arm = Arm(time_step)
    tendon = arm.plant.AddTransmission(Transmission("t", SQUARE, [JointTerm(arm.joints[2])], [3.0]))
    actuator = arm.plant.AddActuator("a", tendon)
    arm.plant.Finalize()
    context = arm.plant.CreateDefaultContext()
    arm.joints[2].set_translation(context, 0.5)
    arm.plant.get_actuation_input_port().FixValue(context, [2.0])
    assert tendon.CalcLength(context) == 0.75 and actuator.transmission() is tendon
    np.testing.assert_array_equal(tendon.CalcMomentArms(context), [0, 0, 3.0])
    arms = tendon.CalcMomentArms(context)
    gravity = arm.plant.CalcGravityGeneralizedForces(context) - arm.plant.CalcBiasTerm(context)
    expected = np.linalg.solve(arm.plant.CalcMassMatrix(context), gravity + 2.0 * arms)
    if time_step == 0.0:
        found = arm.plant.get_generalized_acceleration_output_port().Eval(context)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_what_is_no_transmission_is_refused():
    arm = Arm()
    plant, world, body, joint = arm.plant, arm.world, arm.bodies[0], arm.joints[0]
    sites = [TendonSite(world), TendonSite(body)]
    sphere = TendonWrap(body, RigidTransform(), 0.1)
    two_surfaces, short_branch = [sites[0], sphere, sphere, sites[1]], [*sites, TendonPulley(2.0), sites[0]]
    for path in ([sites[0]], [sphere, *sites], two_surfaces, short_branch):
        with pytest.raises(ValueError, match="SpatialTendon 't': a path begins and ends with a TendonSite"):
            SpatialTendon("t", path)
    with pytest.raises(ValueError, match="divisor of a pulley must be positive and finite, but is -1"):
        SpatialTendon("t", [*sites, TendonPulley(-1.0), *sites])
    with pytest.raises(ValueError, match="radius must be positive"):
        SpatialTendon("t", [sites[0], TendonWrap(body, RigidTransform(), 0.0), sites[1]])
    with pytest.raises(ValueError, match="1 joints have 2 coefficients"):
        FixedTendon("t", [joint], [1.0, 2.0])
    with pytest.raises(TypeError, match="must be a TransmissionKind"):
        Transmission("t", "fixed", sites)
    tendon = FixedTendon("t", [joint], [1.0])
    for call, what in (
        (lambda: tendon.set_spring(-1.0), "must not be negative"),
        (lambda: tendon.set_spring(1.0, 2.0, 1.0), "in order"),
        (lambda: tendon.set_limits(1.0, 1.0), "must be less than"),
        (lambda: tendon.set_friction(-1.0), "dry friction must not be negative"),
        (lambda: tendon.set_armature(-1.0), "armature must not be negative, but is -1"),
        (lambda: SpatialTendon("t", [sites[0], sphere, sites[1]]).set_armature(1.0), "it wraps around surfaces"),
        (lambda: SiteTransmission("t", sites[1], [0, 0, 0, 1, 0, 0]).set_armature(1.0), "it is a site, for which"),
    ):
        with pytest.raises(ValueError, match=what):
            call()
    with pytest.raises(RuntimeError, match="belongs to no plant yet"):
        plant.AddActuator("a", tendon)
    with pytest.raises(TypeError, match="not a RevoluteJoint"):
        plant.AddActuator("a", joint)
    plant.AddTransmission(tendon)
    with pytest.raises(RuntimeError, match="already contains a transmission named 't'"):
        plant.AddTransmission(FixedTendon("t", [joint], [2.0]))
    with pytest.raises(RuntimeError, match="1 transmissions, which may depend on joint 'j0'"):
        plant.RemoveJoint(joint)
    actuator = plant.AddActuator("a", tendon)
    with pytest.raises(RuntimeError, match="drives transmission 't', and no joint"):
        actuator.joint()
    plant.Finalize()
    with pytest.raises(RuntimeError, match="Finalize"):
        tendon.set_friction(1.0)


def test_a_plant_refuses_a_tendon_along_three_bases():
    plant, joints = MultibodyPlant(0.001), []
    for k in range(3):
        body = plant.AddRigidBody(f"b{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.1))
        joints.append(plant.AddJoint(PrismaticJoint(f"j{k}", plant.world_frame(), body.body_frame(), [1, 0, 0])))
    plant.AddTransmission(FixedTendon("rope", joints, [1.0, 1.0, 1.0]))
    with pytest.raises(RuntimeError, match="transmission 'rope' is along 3 parts that move by themselves"):
        plant.Finalize()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_plant_refuses_limits_of_a_tendon_on_masses_that_are_too_large():
    plant = MultibodyPlant(0.001)
    outer = plant.world_frame()
    for k, y in enumerate((0.0, 1e200)):
        body = plant.AddRigidBody(f"b{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.1))
        frame = plant.AddFrame(FixedOffsetFrame(f"f{k}", outer, RigidTransform([0.0, y, 0.0])))
        joint = plant.AddJoint(RevoluteJoint(f"j{k}", frame, body.body_frame(), [1, 0, 0]))
        outer = body.body_frame()
    tendon = plant.AddTransmission(FixedTendon("t", [joint], [1.0]))
    tendon.set_limits(-1.0, 1.0)
    with pytest.raises(RuntimeError, match="Masses or lengths of the model are too large to compute with"):
        plant.Finalize()
