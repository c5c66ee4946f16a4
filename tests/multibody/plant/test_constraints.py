"""Constraints: adding, removing, switching off, changing in a context, and steps that keep them."""

import math

import numpy as np
import pytest
from plants import box_inertia

from merganser.analysis import Simulator
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.plant import DiscreteContactApproximation, DistanceConstraintParams, MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    BodyIndex,
    MultibodyConstraintId,
    PrismaticJoint,
    RevoluteJoint,
)


class Model:
    """Body A turns on the world, B slides on A, C hangs on the world by a ball joint."""

    def __init__(self, time_step: float = 0.01) -> None:
        self.plant = plant = MultibodyPlant(time_step)
        self.A, self.B, self.C = (plant.AddRigidBody(name, box_inertia()) for name in "ABC")
        frames = [body.body_frame() for body in (self.A, self.B, self.C)]
        self.turn = plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), frames[0], [0, 1, 0]))
        self.slide = plant.AddJoint(PrismaticJoint("slide", frames[0], frames[1], [1, 0, 0]))
        self.ball = plant.AddJoint(BallRpyJoint("ball", plant.world_frame(), frames[2]))

    def add_one_of_each(self) -> list[MultibodyConstraintId]:
        """In the order weld, ball, distance, coupler."""
        plant, A, B, C = self.plant, self.A, self.B, self.C
        X = RigidTransform()
        return [
            plant.AddWeldConstraint(A, X, C, X),
            plant.AddBallConstraint(A, [0.1, 0.2, 0.3], C),
            plant.AddDistanceConstraint(A, [0, 0, 0], B, [0, 0, 1], 2.0, 3.0, 4.0),
            plant.AddCouplerConstraint(self.turn, self.slide, 2.0, 0.5),
        ]


def test_constraints_are_listed_by_kind_and_can_be_removed():
    model = Model()
    weld, ball, distance, coupler = model.add_one_of_each()
    assert model.plant.GetConstraintIds() == [coupler, distance, ball, weld]
    model.plant.RemoveConstraint(distance)
    assert model.plant.GetConstraintIds() == [coupler, ball, weld]
    counts = [getattr(model.plant, f"num_{kind}_constraints")() for kind in ("coupler", "distance", "ball", "weld")]
    assert (model.plant.num_constraints(), counts) == (3, [1, 0, 1, 1])
    with pytest.raises(RuntimeError, match="does not match any of the 3 constraints"):
        model.plant.RemoveConstraint(distance)


def test_active_constraints_follow_status_and_parameters_of_the_context():
    model = Model()
    weld, ball, distance, coupler = model.add_one_of_each()
    plant = model.plant
    plant.Finalize()
    context, other = plant.CreateDefaultContext(), plant.CreateDefaultContext()
    plant.SetConstraintActiveStatus(context, ball, False)
    changed = DistanceConstraintParams(model.B.index(), [1, 0, 0], model.C.index(), [0, 1, 0], 5.0, math.inf, 0.0)
    plant.SetDistanceConstraintParams(context, distance, changed)
    assert [spec.id for spec in plant._constraints.active(context)] == [coupler, distance, weld]
    assert plant._constraints.active(context)[1].params is changed
    assert plant.GetDistanceConstraintParams(context) == {distance: changed}
    assert [plant.GetConstraintActiveStatus(c, ball) for c in (context, context.Clone(), other)] == [False, False, True]
    assert plant.GetDistanceConstraintParams(other, distance).distance() == 2.0
    assert plant.GetDefaultDistanceConstraintParams()[distance].damping() == 4.0


def test_default_point_of_a_ball_constraint_is_where_it_holds_by_default():
    model = Model()
    plant, p_AP = model.plant, np.array([0.1, 0.2, 0.3])
    model.turn.set_default_positions([0.7])
    model.slide.set_default_positions([-0.4])
    model.ball.set_default_positions([0.3, -0.2, 0.9])
    plant.AddBallConstraint(model.B, p_AP, model.C)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    (spec,) = plant._constraints.active(context)
    X_WB, X_WC = (plant.EvalBodyPoseInWorld(context, body) for body in (model.B, model.C))
    np.testing.assert_allclose(X_WC @ spec.p_BQ, X_WB @ p_AP, atol=1e-15)


def test_steps_keep_active_constraints_and_leave_inactive_ones_alone():
    model = Model()
    *others, coupler = model.add_one_of_each()
    model.plant.Finalize()
    simulator = Simulator(model.plant)
    context = simulator.get_mutable_context()
    for id in others:
        model.plant.SetConstraintActiveStatus(context, id, False)
    spec = model.plant._constraints.active(context)[0]
    model.slide.set_translation_rate(context, 1.0)

    def error():
        return model.turn.get_angle(context) - spec.gear_ratio * model.slide.get_translation(context) - spec.offset

    simulator.AdvanceTo(0.5)
    assert abs(error()) < 1e-3
    model.plant.SetConstraintActiveStatus(context, coupler, False)
    model.slide.set_translation_rate(context, 1.0)
    simulator.AdvanceTo(1.0)
    assert abs(error()) > 0.1


def test_constraints_that_are_switched_off_change_nothing_in_a_continuous_plant():
    derivatives = []
    for status in (True, False, None):  # None for a plant without constraints
        model = Model(0.0)
        if status is not None:
            model.add_one_of_each()
        model.plant.Finalize()
        context = model.plant.CreateDefaultContext()
        for id in model.plant.GetConstraintIds():
            model.plant.SetConstraintActiveStatus(context, id, status)
        model.slide.set_translation_rate(context, 0.3)
        derivatives.append(model.plant.EvalTimeDerivatives(context).CopyToVector())
    np.testing.assert_allclose(derivatives[1], derivatives[2], atol=1e-12)
    assert np.abs(derivatives[0] - derivatives[2]).max() > 0.1


def test_constraints_stay_the_same_in_a_plant_of_another_scalar_type():
    model = Model()
    model.add_one_of_each()
    model.plant.Finalize()
    converted = model.plant.ToAutoDiffXd()
    assert converted.GetConstraintIds() == model.plant.GetConstraintIds()
    assert converted._constraints.active(converted.CreateDefaultContext())[0].gear_ratio == 2.0


BAD = {
    "ball joint": (lambda m: m.plant.AddCouplerConstraint(m.turn, m.ball, 1.0), "joint 'ball' .* has 3 degrees"),
    "gear ratio": (lambda m: m.plant.AddCouplerConstraint(m.turn, m.slide, math.nan), "gear_ratio must be finite"),
    "same body": (lambda m: m.plant.AddBallConstraint(m.A, [0, 0, 0], m.A), "two distinct bodies"),
    "same rod": (lambda m: m.plant.AddDistanceConstraint(m.A, [0, 0, 0], m.A, [0, 0, 1], 1.0), "are the same"),
    "distance": (lambda m: m.plant.AddDistanceConstraint(m.A, [0, 0, 0], m.B, [0, 0, 1], 0.0), "distance must be pos"),
    "stiffness": (lambda m: m.plant.AddDistanceConstraint(m.A, [0, 0, 0], m.B, [0] * 3, 1.0, 0.0), "stiffness must"),
    "damping": (lambda m: m.plant.AddDistanceConstraint(m.A, [0, 0, 0], m.B, [0] * 3, 1, 1, -1), "damping must be"),
    "point": (lambda m: m.plant.AddDistanceConstraint(m.A, [0, 0, math.inf], m.B, [0] * 3, 1), "p_AP must be finite"),
    "foreign": (lambda m: m.plant.AddBallConstraint(Model().A, [0, 0, 0], m.B), "belongs to another plant"),
    "no joint": (lambda m: m.plant.AddCouplerConstraint(m.A, m.slide, 1.0), "joint0 must be a Joint"),
    "pose": (lambda m: m.plant.AddWeldConstraint(m.A, None, m.B, RigidTransform()), "X_AP must be a RigidTransform"),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_constraint_is_refused_and_nothing_is_added(case):
    model = Model()
    add, message = BAD[case]
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        add(model)
    assert model.plant.num_constraints() == 0


def test_constraints_exclude_the_tamsi_solver_and_the_other_way_round():
    model = Model()
    model.plant.AddCouplerConstraint(model.turn, model.slide, 1.0)
    with pytest.raises(RuntimeError, match=r"TAMSI .* does not support constraints, of which the plant has 1"):
        model.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    other = Model()
    other.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    with pytest.raises(RuntimeError, match="TAMSI solver, which does not support weld constraints"):
        other.plant.AddWeldConstraint(other.A, RigidTransform(), other.B, RigidTransform())


def test_a_joint_cannot_be_removed_once_there_are_constraints():
    model = Model()
    model.plant.AddCouplerConstraint(model.turn, model.slide, 1.0)
    with pytest.raises(RuntimeError, match="1 user-added constraints"):
        model.plant.RemoveJoint(model.ball)


def test_parameters_of_other_bodies_or_constraints_are_refused():
    model = Model()
    weld, _, distance, _ = model.add_one_of_each()
    plant, params = model.plant, model.plant.GetDefaultDistanceConstraintParams()[distance]
    with pytest.raises(RuntimeError, match="needs a finalized plant"):
        plant.GetConstraintActiveStatus(None, weld)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match="does not match any distance constraint"):
        plant.SetDistanceConstraintParams(context, weld, params)
    far = DistanceConstraintParams(BodyIndex(77), [0, 0, 0], BodyIndex(0), [0, 0, 0], 1.0, 1.0, 0.0)
    for wrong in (far, DistanceConstraintParams()):
        with pytest.raises(RuntimeError, match="of body A is none of the 4 bodies"):
            plant.SetDistanceConstraintParams(context, distance, wrong)
    other = Model().plant
    other.Finalize()
    with pytest.raises(ValueError, match="was given the context of system"):
        plant.GetConstraintActiveStatus(other.CreateDefaultContext(), weld)
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.RemoveConstraint(weld)
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.AddWeldConstraint(model.A, RigidTransform(RollPitchYaw(0, 0, 0)), model.B, RigidTransform())
