"""Constraints hold in continuous plants, by the multipliers of loop joints; and as in discrete ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import DistanceConstraintParams, MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    LinearSpringDamper,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
    WeldJoint,
)

Y = np.array([0.0, 1.0, 0.0])
EXACT = 1e-10
LENGTH = 0.8


def vdot_of(plant: MultibodyPlant, context: Any) -> np.ndarray:
    return plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :]


# -- a four-bar: two cranks, a metre apart, and a rod between their ends -----------------------------------------


def four_bar(time_step: float, closed_by: str) -> tuple[MultibodyPlant, Any]:
    """A parallelogram that has fallen over by 0.4 rad, moving; q = (crank, rod on it, other crank)."""
    plant = MultibodyPlant(time_step)
    link = SpatialInertia.SolidBoxWithMass(1.0, 0.05, 0.04, LENGTH).Shift(np.array([0.0, 0.0, 0.5 * LENGTH]))
    rod = SpatialInertia.SolidBoxWithMass(2.0, 1.0, 0.05, 0.04).Shift(np.array([-0.5, 0.0, 0.0]))
    first, other, bar = (plant.AddRigidBody(n, M) for n, M in (("first", link), ("other", link), ("bar", rod)))
    world = plant.world_frame()
    beside = plant.AddFrame(FixedOffsetFrame("beside", world, RigidTransform(np.array([1.0, 0.0, 0.0]))))
    tip = plant.AddFrame(FixedOffsetFrame("tip", first.body_frame(), RigidTransform(np.array([0.0, 0.0, -LENGTH]))))
    plant.AddJoint(RevoluteJoint("a", world, first.body_frame(), Y))
    plant.AddJoint(RevoluteJoint("b", beside, other.body_frame(), Y))
    plant.AddJoint(RevoluteJoint("c", tip, bar.body_frame(), Y))
    p_end, p_other = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -LENGTH])
    if closed_by == "ball":
        plant.AddBallConstraint(bar, p_end, other, p_other)
    else:
        far = plant.AddFrame(FixedOffsetFrame("far", bar.body_frame(), RigidTransform(p_end)))
        end = plant.AddFrame(FixedOffsetFrame("end", other.body_frame(), RigidTransform(p_other)))
        plant.AddLoopJoint(RevoluteJoint("loop", far, end, Y))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.4, -0.4, 0.4])
    plant.SetVelocities(context, [1.5, -1.5, 1.5])
    return plant, context


def gap(plant: MultibodyPlant, context: Any) -> float:
    bar, other = plant.GetBodyByName("bar"), plant.GetBodyByName("other")
    ends = plant.EvalBodyPoseInWorld(context, bar) @ np.array([1.0, 0.0, 0.0])
    return float(np.abs(ends - plant.EvalBodyPoseInWorld(context, other) @ np.array([0.0, 0.0, -LENGTH])).max())


def test_a_ball_constraint_closes_a_planar_loop_as_a_loop_joint_does() -> None:
    accelerations = [vdot_of(*four_bar(0.0, by)) for by in ("ball", "joint")]
    np.testing.assert_allclose(*accelerations, atol=EXACT)
    assert np.abs(accelerations[0]).max() > 1.0


@pytest.mark.parametrize("closed_by", ["ball", "joint"])
def test_a_four_bar_changes_its_time_step_to_zero_and_back(closed_by: str) -> None:
    """The positions of discrete plants go to those of the continuous one in proportion to the time step."""
    ends = {}
    for h in (0.0, 1e-3, 5e-4):
        plant, context = four_bar(h, closed_by)
        simulator = Simulator(plant, context)
        simulator.AdvanceTo(0.3)
        ends[h] = plant.GetPositions(context)
        assert gap(plant, context) < 1e-4
    errors = [np.abs(ends[h] - ends[0.0]).max() for h in (1e-3, 5e-4)]
    assert 1e-5 < errors[0] < 1e-2
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.2)


def test_constraints_in_continuous_time_do_no_work() -> None:
    plant, context = four_bar(0.0, "ball")

    def energy() -> float:
        return float(plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context))

    before = energy()
    simulator = Simulator(plant, context)
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    simulator.AdvanceTo(1.0)
    assert energy() == pytest.approx(before, abs=1e-5)
    assert gap(plant, context) < 1e-6
    assert plant.GetVelocities(context)[0] != pytest.approx(1.5, abs=0.1)


def test_derivatives_of_constrained_accelerations_are_those_of_differences() -> None:
    plant, context = four_bar(0.0, "ball")
    x = plant.GetPositionsAndVelocities(context)
    of_derivatives = plant.ToAutoDiffXd()
    point = of_derivatives.CreateDefaultContext()
    of_derivatives.SetPositionsAndVelocities(point, InitializeAutoDiff(x).ravel())
    gradient = ExtractGradient(of_derivatives.EvalTimeDerivatives(point).CopyToVector())
    assert isinstance(of_derivatives.GetPositions(point)[0], AutoDiffXd)
    step, columns = 1e-6, []
    for e in np.eye(len(x)):
        ends = []
        for sign in (1.0, -1.0):
            plant.SetPositionsAndVelocities(context, x + sign * step * e)
            ends.append(plant.EvalTimeDerivatives(context).CopyToVector())
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    np.testing.assert_allclose(gradient, np.array(columns).T, atol=1e-5)


# -- single constraints against closed forms -------------------------------------------------------------------


def slider(mass: float = 2.0) -> tuple[MultibodyPlant, Any]:
    """A body that moves along x and z without turning."""
    plant = MultibodyPlant(0.0)
    carriage = plant.AddRigidBody("carriage", SpatialInertia.PointMass(1e-9, np.zeros(3)))
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(mass, 0.1))
    plant.AddJoint(PrismaticJoint("x", plant.world_frame(), carriage.body_frame(), np.array([1.0, 0.0, 0.0])))
    plant.AddJoint(PrismaticJoint("z", carriage.body_frame(), body.body_frame(), np.array([0.0, 0.0, 1.0])))
    return plant, body


def test_a_rod_makes_a_pendulum() -> None:
    """a = g sin(theta) across the rod, and v^2 / L along it."""
    plant, body = slider()
    plant.AddDistanceConstraint(plant.world_body(), np.zeros(3), body, np.zeros(3), LENGTH)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    theta, rate = 0.6, 1.1
    inward, across = np.array([-math.sin(theta), math.cos(theta)]), np.array([math.cos(theta), math.sin(theta)])
    plant.SetPositions(context, -LENGTH * inward)
    plant.SetVelocities(context, LENGTH * rate * across)
    expected = -9.81 * math.sin(theta) * across + LENGTH * rate**2 * inward
    np.testing.assert_allclose(vdot_of(plant, context), expected, atol=1e-7)


def test_a_soft_rod_is_a_spring_and_damper() -> None:
    accelerations = []
    for is_constraint in (True, False):
        plant, body = slider()
        world = plant.world_body()
        if is_constraint:
            plant.AddDistanceConstraint(world, np.zeros(3), body, np.array([0.0, 0.0, 0.2]), LENGTH, 300.0, 7.0)
        else:
            ends = world, np.zeros(3), body, np.array([0.0, 0.0, 0.2])
            plant.AddForceElement(LinearSpringDamper(*ends, LENGTH, 300.0, 7.0))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.SetPositions(context, [0.5, -0.9])
        plant.SetVelocities(context, [-0.3, 0.7])
        accelerations.append(vdot_of(plant, context))
    np.testing.assert_allclose(*accelerations, rtol=1e-9)


def test_a_coupler_makes_two_joints_one_with_the_inertia_of_both() -> None:
    """q0 = ratio q1: (I1 + ratio^2 I0) q1'' = tau1 + ratio tau0."""
    plant = MultibodyPlant(0.0)
    inertias, ratio = (0.3, 0.7), -2.5
    joints = []
    for name, inertia in zip(("wheel", "pinion"), inertias):
        body = plant.AddRigidBody(name, SpatialInertia.SolidCubeWithMass(1.0, math.sqrt(6.0 * inertia)))
        joints.append(plant.AddJoint(RevoluteJoint(name, plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0])))
    plant.AddCouplerConstraint(*joints, ratio, 0.4)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [ratio * 0.3 + 0.4, 0.3])
    tau = np.array([1.2, -0.8])
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)
    rate = (tau[1] + ratio * tau[0]) / (inertias[1] + ratio**2 * inertias[0])
    np.testing.assert_allclose(vdot_of(plant, context), [ratio * rate, rate], rtol=1e-10)

    plant.SetPositions(context, [ratio * 0.3 + 0.4 + 0.01, 0.3])  # an error decays
    plant.get_applied_generalized_force_input_port().FixValue(context, np.zeros(2))
    Simulator(plant, context).AdvanceTo(1.5)
    q = plant.GetPositions(context)
    assert abs(q[0] - ratio * q[1] - 0.4) < 1e-6


def test_a_weld_constraint_makes_one_body_of_two() -> None:
    accelerations = []
    X_AP, X_BQ = RigidTransform(np.array([0.1, -0.3, 0.2])), RigidTransform(np.array([0.0, 0.2, 0.1]))
    for is_constraint in (True, False):
        plant = MultibodyPlant(0.0)
        arm = plant.AddRigidBody("arm", SpatialInertia.SolidBoxWithMass(1.0, 0.3, 0.2, 0.1))
        load = plant.AddRigidBody("load", SpatialInertia.SolidBoxWithMass(2.0, 0.2, 0.4, 0.3))
        plant.AddJoint(BallRpyJoint("ball", plant.world_frame(), arm.body_frame()))
        if is_constraint:
            plant.AddWeldConstraint(arm, X_AP, load, X_BQ)
        else:
            X_FM = X_AP @ X_BQ.inverse()
            plant.AddJoint(WeldJoint("weld", arm.body_frame(), load.body_frame(), X_FM))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        joint = plant.GetJointByName("ball")
        joint.set_angles(context, [0.3, 0.5, -0.2])
        joint.set_angular_velocity(context, [0.7, -0.4, 0.9])
        if is_constraint:
            X_WB = plant.EvalBodyPoseInWorld(context, arm) @ X_AP @ X_BQ.inverse()
            V_WA = plant.EvalBodySpatialVelocityInWorld(context, arm)
            plant.SetFreeBodyPose(context, load, X_WB)
            plant.SetFreeBodySpatialVelocity(load, V_WA.Shift(X_WB.translation()), context)
        accelerations.append(plant.EvalBodySpatialAccelerationInWorld(context, load).get_coeffs())
    np.testing.assert_allclose(*accelerations, atol=1e-9)
    assert np.abs(accelerations[0]).max() > 1.0


# -- in a Context -------------------------------------------------------------------------------------------------


def test_what_a_context_says_of_constraints_counts_at_once() -> None:
    plant, body = slider()
    world = plant.world_body()
    rod = plant.AddDistanceConstraint(world, np.zeros(3), body, np.zeros(3), LENGTH)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.0, -LENGTH])
    np.testing.assert_allclose(vdot_of(plant, context), 0.0, atol=1e-8)
    plant.SetConstraintActiveStatus(context, rod, False)
    np.testing.assert_allclose(vdot_of(plant, context), [0.0, -9.81], atol=1e-8)
    plant.SetConstraintActiveStatus(context, rod, True)
    np.testing.assert_allclose(vdot_of(plant, context), 0.0, atol=1e-8)
    soft = DistanceConstraintParams(world.index(), np.zeros(3), body.index(), np.zeros(3), LENGTH - 0.01, 100.0, 0.0)
    plant.SetDistanceConstraintParams(context, rod, soft)
    np.testing.assert_allclose(vdot_of(plant, context), [0.0, 0.01 * 100.0 / 2.0 - 9.81], atol=1e-6)


def test_the_force_of_a_rod_goes_into_the_reaction_of_the_joint_that_carries_it() -> None:
    """A body that hangs on a rod does not burden its joint."""
    plant, body = slider()
    plant.AddDistanceConstraint(plant.world_body(), np.zeros(3), body, np.zeros(3), LENGTH)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.0, -LENGTH])
    forces = plant.get_reaction_forces_output_port().Eval(context)
    for force in forces:
        np.testing.assert_allclose(force.get_coeffs(), 0.0, atol=1e-7)
