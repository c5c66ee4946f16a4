"""Poses as polynomials and rational functions against the kinematics of the plant."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sympy")

from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.symbolic import Polynomial, RationalFunction
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.rational import (
    RationalForwardKinematics,
    RationalForwardKinematicsPose,
    RationalForwardKinematicsPose_,
)
from merganser.multibody.rational.rational_forward_kinematics import numerator
from merganser.multibody.tree import BodyIndex, PlanarJoint, PrismaticJoint, RevoluteJoint, SpatialInertia
from tests.support.sliding_and_turning import ROBOT

Q_STAR = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.fixture(scope="module")
def plant() -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(ROBOT, "urdf")
    plant.Finalize()
    return plant


def pose_of_plant(plant: MultibodyPlant, q: Any, a: int, b: int) -> Any:
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    body_a, body_b = plant.get_body(BodyIndex(a)), plant.get_body(BodyIndex(b))
    X_WA = plant.EvalBodyPoseInWorld(context, body_a)
    return X_WA.inverse().multiply(plant.EvalBodyPoseInWorld(context, body_b)).GetAsMatrix4()


def test_poses_of_all_pairs_of_bodies_are_those_of_the_plant(plant: MultibodyPlant) -> None:
    kinematics = RationalForwardKinematics(plant)
    q = np.array([1.2, -0.7, -1.1, 0.9])
    env = dict(zip(kinematics.s(), kinematics.ComputeSValue(q, Q_STAR)))
    for a, b in itertools.product(range(plant.num_bodies()), repeat=2):
        wanted = pose_of_plant(plant, q, a, b)
        turning = kinematics.GetJointsOnPath(BodyIndex(a), BodyIndex(b))[1]
        numbers = numerator(kinematics.CalcMultilinearPose(Q_STAR, BodyIndex(b), BodyIndex(a)), turning)
        s = list(env.values())
        total = sum(np.prod([s[i] ** power for i, power in powers]) * M for powers, M in numbers.items())
        assert np.allclose(total / total[3, 3], wanted, atol=1e-12)
    X = kinematics.CalcBodyPoseAsMultilinearPolynomial(Q_STAR, BodyIndex(3), BodyIndex(4))
    convert = kinematics.ConvertMultilinearPolynomialToRationalFunction
    wanted = pose_of_plant(plant, q, 4, 3)
    entries = [*X.rotation().ravel(), *X.position()]
    assert max(p.Degree(v) for p in entries for v in p.indeterminates()) == 1
    assert np.allclose([convert(p).Evaluate(env) for p in entries], [*wanted[:3, :3].ravel(), *wanted[:3, 3]])


def test_products_of_entries_become_rational_functions_too(plant: MultibodyPlant) -> None:
    kinematics = RationalForwardKinematics(plant)
    X = kinematics.CalcBodyPoseAsMultilinearPolynomial(Q_STAR, BodyIndex(1), BodyIndex(0))
    column = X.rotation()[:, 0]
    length = kinematics.ConvertMultilinearPolynomialToRationalFunction(sum(p * p for p in column))
    env = dict(zip(kinematics.s(), [0.3, 0.0, 0.0, 0.0]))
    assert np.isclose(length.Evaluate(env), 1.0)
    assert length.denominator().TotalDegree() == 4


def test_s_follows_the_bodies_and_q_comes_back() -> None:
    plant = MultibodyPlant(0.0)
    bodies = [plant.AddRigidBody(f"b{i}", SpatialInertia.SolidCubeWithMass(1.0, 1.0)) for i in range(4)]
    world, frames = plant.world_frame(), [body.body_frame() for body in bodies]
    plant.AddJoint(RevoluteJoint("a", world, frames[3], [0, 0, 1]))
    plant.AddJoint(RevoluteJoint("b", world, frames[0], [0, 1, 1]))
    plant.AddJoint(PrismaticJoint("c", frames[3], frames[1], [0, 0, 1]))
    plant.AddJoint(RevoluteJoint("d", frames[2], frames[0], [1, 0, 1]))  # its child is nearer to the world
    plant.Finalize()
    kinematics = RationalForwardKinematics(plant)
    q, q_star = np.array([1.0, 2.0, 3.0, -0.5]), np.array([0.0, 0.1, 0.2, 0.3])
    s = kinematics.ComputeSValue(q, q_star)
    assert np.allclose(s, [np.tan(1.4), 1.9, np.tan(-0.4), np.tan(0.5)])
    assert np.allclose(kinematics.ComputeQValue(s, q_star), q)
    pose = kinematics.CalcMultilinearPose(q, BodyIndex(3), BodyIndex(0))
    at_q_star = sum((M for factors, M in pose.items() if all(kind == "cos" for _, kind in factors)), np.zeros((4, 4)))
    assert np.allclose(at_q_star, pose_of_plant(plant, q, 0, 3))


def test_values_of_s_have_derivatives_and_may_be_infinite(plant: MultibodyPlant) -> None:
    kinematics = RationalForwardKinematics(plant)
    s = kinematics.ComputeSValue(InitializeAutoDiff(np.ones(4)).ravel(), Q_STAR)
    assert np.allclose(s[0].derivatives(), [0.5 / np.cos(0.45) ** 2, 0, 0, 0])
    assert np.isclose(kinematics.ComputeQValue(s, Q_STAR)[0].derivatives()[0], 1.0)
    far = np.array([0.1 + 3.2, 1.0, 0.3 - 3.2, 0.4])
    assert np.allclose(kinematics.ComputeSValue(far, Q_STAR, angles_wrap_to_inf=True), [np.inf, 0.8, -np.inf, 0.0])
    expressions = kinematics.ComputeQValue(kinematics.s(), Q_STAR)
    assert np.isclose(expressions[0].Evaluate({kinematics.s()[0]: 0.5}), 0.1 + 2.0 * np.arctan(0.5))


def test_what_is_refused(plant: MultibodyPlant) -> None:
    kinematics = RationalForwardKinematics(plant)
    with pytest.raises(ValueError, match="q_val has 2 entries; the plant has 4"):
        kinematics.ComputeSValue([1.0, 2.0], Q_STAR)
    with pytest.raises(IndexError, match="no body 9; the plant has bodies 0 to 5"):
        kinematics.CalcBodyPoseAsMultilinearPolynomial(Q_STAR, BodyIndex(9), BodyIndex(0))
    other = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match="not finalized"):
        RationalForwardKinematics(other)
    body = other.AddRigidBody("b", SpatialInertia.SolidCubeWithMass(1.0, 1.0))
    other.AddJoint(PlanarJoint("slide", other.world_frame(), body.body_frame()))
    other.Finalize()
    with pytest.raises(RuntimeError, match="joint 'slide' is of type planar"):
        RationalForwardKinematics(other)


def test_templates_of_poses(plant: MultibodyPlant) -> None:
    assert RationalForwardKinematicsPose_[Polynomial] is RationalForwardKinematicsPose
    assert RationalForwardKinematicsPose_[None] is RationalForwardKinematicsPose
    assert RationalForwardKinematicsPose_.is_instantiation(RationalForwardKinematicsPose_[RationalFunction])
    with pytest.raises(RuntimeError, match="no instantiation for"):
        RationalForwardKinematicsPose_[float]
    with pytest.raises(TypeError, match="no constructor"):
        RationalForwardKinematicsPose()
    X = RationalForwardKinematics(plant).CalcBodyPoseAsMultilinearPolynomial(Q_STAR, BodyIndex(1), BodyIndex(0))
    assert copy.deepcopy(X).position()[0].EqualTo(X.position()[0])
