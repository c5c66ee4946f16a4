"""Settings that may be random: what is drawn, and what is not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from merganser.framework import RandomGenerator
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.framework.schema import (
    Deterministic,
    DeterministicVector,
    DeterministicVectorX,
    Distribution,
    DistributionVector,
    Gaussian,
    GaussianVector,
    GaussianVectorX,
    GetDeterministicValue,
    IsDeterministic,
    Mean,
    Rotation,
    Sample,
    ToDistribution,
    ToDistributionVector,
    ToSymbolic,
    Transform,
    Uniform,
    UniformDiscrete,
    UniformVector,
    UniformVectorX,
)

NUMBERS = [Deterministic(2.0), Gaussian(mean=1.0, stddev=0.5), Uniform(-1.0, 3.0), UniformDiscrete([1.0, 2.0, 6.0])]
VECTORS = [
    DeterministicVector[2]([1.0, 2.0]),
    GaussianVector[2]([1.0, 2.0], [0.5, 0.1]),
    GaussianVectorX([1.0, 2.0, 3.0], [0.25]),
    UniformVector[2]([0.0, 2.0], [1.0, 4.0]),
]


@pytest.mark.parametrize("distribution", NUMBERS + VECTORS, ids=lambda each: type(each).__name__)
def test_samples_have_the_mean_that_the_distribution_has(distribution: Distribution | DistributionVector) -> None:
    generator = RandomGenerator(3)
    samples = np.array([distribution.Sample(generator) for _ in range(4000)])
    spread = samples.std(axis=0)
    assert np.all(np.abs(samples.mean(axis=0) - distribution.Mean()) < 4.0 * spread / np.sqrt(4000) + 1e-12)
    again = copy.deepcopy(pickle.loads(pickle.dumps(distribution)))
    np.testing.assert_array_equal(again.Sample(RandomGenerator(5)), distribution.Sample(RandomGenerator(5)))


def test_one_of_several_numbers_is_as_likely_as_another() -> None:
    generator = RandomGenerator(1)
    drawn = [UniformDiscrete([1.0, 2.0, 6.0]).Sample(generator) for _ in range(3000)]
    assert all(abs(drawn.count(value) - 1000) < 100 for value in (1.0, 2.0, 6.0))
    with pytest.raises(RuntimeError, match=r"UniformDiscrete.Sample\(\): there are no values"):
        UniformDiscrete().Sample(generator)


def test_numbers_and_vectors_are_distributions_too() -> None:
    generator = RandomGenerator(1)
    assert (Sample(3.0, generator), Mean(3), Mean(Uniform(0, 4))) == (3.0, 3.0, 2.0)
    assert isinstance(ToDistribution(2), Deterministic) and ToDistribution(NUMBERS[1]) is NUMBERS[1]
    assert ToDistributionVector([1, 2]).Mean().tolist() == [1.0, 2.0]
    assert isinstance(ToDistributionVector(Gaussian(1, 2)), GaussianVectorX)
    assert isinstance(ToDistributionVector(Uniform(1, 2)), UniformVectorX)
    assert isinstance(ToDistributionVector(Deterministic(1)), DeterministicVectorX)
    for function, wrong in ((ToDistribution, "1"), (ToDistribution, [1.0]), (ToDistributionVector, "x")):
        with pytest.raises(TypeError, match="Expected"):
            function(wrong)  # type: ignore[operator]


def test_a_distribution_of_width_0_is_deterministic() -> None:
    for certain, value in (
        (4.0, 4.0),
        (Gaussian(1.0, 0.0), 1.0),
        (Uniform(2.0, 2.0), 2.0),
        (UniformDiscrete([5.0]), 5.0),
        ([1.0, 2.0], [1.0, 2.0]),
        (GaussianVectorX([1.0, 2.0], [0.0]), [1.0, 2.0]),
        (UniformVectorX([1.0, 2.0], [1.0, 2.0]), [1.0, 2.0]),
    ):
        assert IsDeterministic(certain) and np.all(GetDeterministicValue(certain) == np.array(value))
    for random in (*NUMBERS[1:], *VECTORS[1:], UniformDiscrete([1.0, 1.0])):
        assert not IsDeterministic(random)
        with pytest.raises(RuntimeError, match="is random"):
            GetDeterministicValue(random)


def test_sizes_and_names_are_checked() -> None:
    assert GaussianVector[3]().mean.tolist() == [0.0] * 3 and GaussianVector[None] is GaussianVectorX
    assert UniformVector[2] is UniformVector[2] and issubclass(UniformVector[2], UniformVectorX)
    assert (6,) in UniformVector.param_list and isinstance(UniformVector([1.0], [2.0]), UniformVectorX)
    with pytest.raises(ValueError, match=r"DeterministicVector\[3\].value has 3 numbers; given 2"):
        DeterministicVector[3]([1.0, 2.0])
    with pytest.raises(RuntimeError, match="no class for the size 7"):
        GaussianVector[7]
    with pytest.raises(RuntimeError, match="the mean has 3 numbers, and stddev"):
        GaussianVectorX([1, 2, 3], [1, 2]).Sample(RandomGenerator())
    with pytest.raises(RuntimeError, match="min has 1 numbers and max has 2"):
        UniformVectorX([1], [1, 2]).Mean()
    for record in (Gaussian(), UniformVectorX(), Transform(), Rotation(), Rotation.Rpy()):
        with pytest.raises(AttributeError, match="has no attribute 'maen'"):
            record.maen = 1.0


# -- poses ----------------------------------------------------------------------------------------------------


def test_rotations_are_made_of_what_turns() -> None:
    rpy = RollPitchYaw([0.1, 0.2, 0.3])
    for given in (rpy, RotationMatrix(rpy), Rotation(rpy), Rotation.Rpy(deg=np.rad2deg([0.1, 0.2, 0.3]))):
        assert Rotation(given).GetDeterministicValue().IsNearlyEqualTo(RotationMatrix(rpy), 1e-15)
    turn = Rotation(Rotation.AngleAxis(angle_deg=90, axis=[0, 0, 2]))
    assert turn.GetDeterministicValue().IsNearlyEqualTo(RotationMatrix.MakeZRotation(np.pi / 2), 1e-15)
    assert repr(turn) == "Rotation(value=AngleAxis(angle_deg=90.0, axis=array([0., 0., 2.])))"
    assert Rotation().GetDeterministicValue().IsExactlyIdentity()
    with pytest.raises(ValueError, match="has no direction"):
        Rotation(Rotation.AngleAxis(angle_deg=1.0, axis=[0, 0, 0])).GetDeterministicValue()
    with pytest.raises(TypeError, match="expected an Identity, Rpy"):
        Rotation(3.0)


RANDOM_POSES = [
    Transform(translation=UniformVector[3]([0, 0, 0], [1, 2, 3])),
    Transform(rotation=Rotation.Uniform()),
    Transform(rotation=Rotation.Rpy(deg=GaussianVector[3]([10, 20, 30], [1, 2, 3]))),
    Transform(rotation=Rotation.AngleAxis(angle_deg=Uniform(0, 90), axis=[1, 2, 3])),
    Transform(rotation=Rotation.AngleAxis(angle_deg=30, axis=UniformVector[3]([1, 1, 1], [2, 2, 2]))),
]


@pytest.mark.parametrize("pose", RANDOM_POSES)
def test_random_poses_are_drawn(pose: Transform) -> None:
    assert not pose.IsDeterministic()
    X = pose.Sample(RandomGenerator(1))
    assert X.IsExactlyEqualTo(pose.Sample(RandomGenerator(1))) and not X.IsNearlyEqualTo(pose.Mean(), 1e-3)
    assert X.rotation().IsValid() and pose.Mean().rotation().IsValid()
    with pytest.raises(RuntimeError, match=r"this transform is random|this rotation is random"):
        pose.GetDeterministicValue()


@pytest.mark.parametrize("pose", RANDOM_POSES)
def test_expressions_of_a_random_pose_give_its_mean_at_the_means_of_their_variables(pose: Transform) -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    X = pose.ToSymbolic()
    entries = np.hstack([X.rotation().matrix(), X.translation().reshape(3, 1)])
    kind = symbolic.Variable.Type
    mean = {kind.RANDOM_UNIFORM: 0.5, kind.RANDOM_GAUSSIAN: 0.0}
    env = {v: mean[v.get_type()] for entry in entries.ravel() for v in symbolic.Expression(entry).GetVariables()}
    np.testing.assert_allclose(symbolic.Evaluate(entries, env), pose.Mean().GetAsMatrix34(), atol=1e-14)


def test_poses_say_what_they_are_and_keep_their_base_frame() -> None:
    X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    pose = Transform(X)
    assert pose.IsDeterministic() and pose.GetDeterministicValue().IsNearlyEqualTo(X, 1e-15)
    pose.base_frame, pose.rotation = "arm", Rotation.Uniform()
    other = Transform(pose)
    assert other.base_frame == "arm" and not other.IsDeterministic() and pose.Mean() is not None
    with pytest.raises(RuntimeError, match="would lose the base frame 'arm'"):
        pose.Sample(RandomGenerator())
    assert repr(Transform()) == (
        "Transform(base_frame=None, translation=array([0., 0., 0.]), rotation=Rotation(value=Identity()))"
    )
    with pytest.raises(ValueError, match="a translation has three numbers"):
        pose.translation = [1.0, 2.0]


def test_numbers_become_expressions() -> None:
    pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    assert ToSymbolic(2.0).Evaluate() == 2.0
    choice = ToSymbolic(UniformDiscrete([1.0, 5.0, 7.0]))
    (variable,) = choice.GetVariables()
    assert [choice.Evaluate({variable: x}) for x in (0.1, 0.5, 0.9)] == [1.0, 5.0, 7.0]
    x, y = GaussianVectorX([1.0, 2.0], [3.0, 4.0]).ToSymbolic()
    assert not x.GetVariables().IsSubsetOf(y.GetVariables())
