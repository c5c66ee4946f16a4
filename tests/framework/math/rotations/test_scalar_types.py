"""Complex and object entries pass through every formula that is meant for them, without a branch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue
from merganser.framework.math import (
    AngleAxis,
    AngleAxis_,
    CalculateQuaternionDtFromAngularVelocityExpressedInB,
    Quaternion,
    Quaternion_,
    RigidTransform,
    RollPitchYaw,
    RotationMatrix,
    VectorToSkewSymmetric,
)


class Dual:
    """value + derivative e, e² = 0; any branch on it raises, as with a symbolic expression."""

    def __init__(self, value: float, derivative: float = 0.0) -> None:
        self.value, self.derivative = value, derivative

    @staticmethod
    def _of(other) -> Dual:
        return other if isinstance(other, Dual) else Dual(float(other))

    def __add__(self, other):
        other = Dual._of(other)
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        other = Dual._of(other)
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def __truediv__(self, other):
        other = Dual._of(other)
        return self * Dual(1 / other.value, -other.derivative / other.value**2)

    def __neg__(self):
        return Dual(-self.value, -self.derivative)

    def __sub__(self, other):
        return self + -Dual._of(other)

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return Dual._of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)

    def cos(self):
        return Dual(math.cos(self.value), -math.sin(self.value) * self.derivative)

    def sqrt(self):
        root = math.sqrt(self.value)
        return Dual(root, self.derivative / (2 * root))

    def _refuse(self, *_):
        raise AssertionError("a formula branched on the value of a scalar")

    __bool__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __abs__ = _refuse
    __hash__ = None


def _turn(make):
    """A chain through angles, quaternion, axis, composition and inverse of numbers that `make` makes."""
    a, b, c = make(0.3), make(-1.1), make(2.5)
    X_WA = RigidTransform(RollPitchYaw(a, b, c), [b, a, c])
    X_AB = RigidTransform(RollPitchYaw([c, a, b]).ToQuaternion(), [a, a, b])
    X_BC = RigidTransform(AngleAxis(a, np.array([0.6, 0.0, 0.8])), [c, b, a])
    X_CD = RigidTransform(RotationMatrix.MakeXRotation(b) @ RotationMatrix.MakeYRotation(a), [0.0, 1.0, 2.0])
    X_WD = X_WA @ X_AB @ X_BC.inverse() @ X_CD
    X_DW = X_WD.InvertAndCompose(X_WA) @ RigidTransform(RotationMatrix.MakeZRotation(c))
    rates = RollPitchYaw(a, b, c).CalcRpyDtFromAngularVelocityInParent([b, c, a])
    q_dt = CalculateQuaternionDtFromAngularVelocityExpressedInB(
        RollPitchYaw(c, b, a).ToQuaternion(), [a, b, c]
    )
    skew = VectorToSkewSymmetric([a, b, c]).dot(np.array([1.0, 2.0, 3.0]))
    q = RollPitchYaw(a, b, c).ToQuaternion()
    return np.concatenate(
        [
            X_DW.GetAsMatrix34().ravel(),
            X_DW @ [1.0, 2.0, 3.0],
            rates,
            q_dt,
            skew,
            (q @ q.inverse() @ q).wxyz(),
        ]
    )


def test_objects_pass_without_a_branch_and_give_the_float_values():
    duals = _turn(Dual)
    values = [Dual._of(entry).value for entry in duals]
    np.testing.assert_allclose(values, _turn(float), rtol=0, atol=1e-14)


def test_complex_step_and_dual_numbers_give_the_same_derivatives():
    by_complex_step = _turn(lambda x: complex(x, 1e-100)).imag / 1e-100
    by_duals = [Dual._of(entry).derivative for entry in _turn(lambda x: Dual(x, 1.0))]
    by_differences = (_turn(lambda x: x + 1e-6) - _turn(lambda x: x - 1e-6)) / 2e-6
    np.testing.assert_allclose(by_complex_step, by_duals, rtol=0, atol=1e-13)
    np.testing.assert_allclose(by_complex_step, by_differences, rtol=0, atol=1e-8)


def test_complex_entries_are_not_checked_for_orthonormality():
    M = np.eye(3) + 1e-3j
    np.testing.assert_array_equal(RotationMatrix(M).matrix(), M)


def test_complex_matrix_gives_the_derivative_of_its_quaternion():
    angle = 0.7
    R = RotationMatrix.MakeZRotation(complex(angle, 1e-100))
    derivative = R.ToQuaternion().wxyz().imag / 1e-100
    expected = [-math.sin(angle / 2) / 2, 0, 0, math.cos(angle / 2) / 2]
    np.testing.assert_allclose(derivative, expected, rtol=0, atol=1e-15)


def test_rotation_and_translation_take_the_wider_scalar_type():
    assert RigidTransform([1j, 0, 0]).rotation().matrix().dtype == np.complex128
    X_AB = RigidTransform(RotationMatrix.MakeXRotation(1j), [1.0, 2.0, 3.0])
    assert X_AB.translation().dtype == np.complex128
    X_AB.set_rotation(RotationMatrix(np.array([[Dual(float(i == j)) for j in range(3)] for i in range(3)])))
    assert X_AB.translation().dtype == object


@pytest.mark.parametrize("convert", [RotationMatrix.ToRollPitchYaw, RotationMatrix.ToAngleAxis])
def test_conversions_that_would_lose_the_derivative_refuse_complex_entries(convert):
    with pytest.raises(TypeError, match="float64 entries, got complex128"):
        convert(RotationMatrix.MakeXRotation(0.3 + 1e-100j))


def test_conversions_that_choose_by_value_refuse_objects():
    with pytest.raises(TypeError, match="ToQuaternion depends on numerical values"):
        RotationMatrix.MakeXRotation(Dual(0.3)).ToQuaternion()


def angles(kind):
    values = 0.1, -0.7, 2.5
    return [kind(x, np.eye(3)[i]) if kind is AutoDiffXd else kind(x) for i, x in enumerate(values)]


def test_conversions_of_rotations_there_and_back_keep_derivatives():
    rpy = RollPitchYaw(angles(AutoDiffXd))
    R = rpy.ToRotationMatrix()
    turn = R.ToAngleAxis()
    for again in (R.ToRollPitchYaw(), RollPitchYaw(R.ToQuaternion()), RotationMatrix(turn).ToRollPitchYaw()):
        np.testing.assert_allclose(ExtractValue(again.vector()).ravel(), [0.1, -0.7, 2.5], atol=1e-15)
        np.testing.assert_allclose(ExtractGradient(again.vector()), np.eye(3), atol=1e-14)
    assert isinstance(turn, AngleAxis_[AutoDiffXd]) and isinstance(R.ToQuaternion(), Quaternion_[AutoDiffXd])


def test_interpolations_and_triads_keep_derivatives():
    q0, q1 = Quaternion(), RollPitchYaw(angles(AutoDiffXd)).ToQuaternion()
    halfway = RotationMatrix(q0.slerp(0.5, q1))
    assert (halfway @ halfway).IsNearlyEqualTo(RotationMatrix(q1), 1e-15)
    np.testing.assert_allclose(ExtractGradient(q0.slerp(1.0, q1).wxyz()), ExtractGradient(q1.wxyz()), atol=1e-15)
    u = [AutoDiffXd(1.0, [1.0, 0.0]), AutoDiffXd(2.0, [0.0, 1.0]), AutoDiffXd(3.0)]
    R = RotationMatrix.MakeFromOneVector(u, 1).matrix()
    np.testing.assert_allclose(ExtractGradient(R.dot(R.T).reshape(9, 1)), 0.0, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_conversions_of_symbolic_rotations_evaluate_to_those_of_numbers(seed):
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    variables = symbolic.MakeVectorVariable(3, "x")
    R = RotationMatrix(RollPitchYaw(variables))
    values = np.random.default_rng(seed).uniform(-3.0, 3.0, 3)
    env = dict(zip(variables, values))
    expected = RotationMatrix(RollPitchYaw(values))
    for ours, theirs in (
        (R.ToQuaternion().wxyz(), expected.ToQuaternion().wxyz()),
        (R.ToRollPitchYaw().vector(), expected.ToRollPitchYaw().vector()),
    ):
        np.testing.assert_allclose(symbolic.Evaluate(ours, env).ravel(), theirs, atol=1e-14)
    assert R.IsValid().Evaluate(env) and not R.IsNearlyIdentity(1e-3).Evaluate(env)
    X = RigidTransform(R, [variables[0], 0.0, 0.0])
    difference = X.GetMaximumAbsoluteDifference(RigidTransform(p=[1.0, 0.0, 0.0])).Evaluate(env)
    number = RigidTransform(expected, [values[0], 0, 0]).GetMaximumAbsoluteDifference(RigidTransform(p=[1.0, 0.0, 0.0]))
    assert difference == pytest.approx(number)


def test_integers_and_single_precision_become_float64():
    assert RigidTransform([1, 2, 3]).translation().dtype == np.float64
    assert Quaternion(np.array([1, 0, 0, 0], dtype=np.float32)).wxyz().dtype == np.float64
