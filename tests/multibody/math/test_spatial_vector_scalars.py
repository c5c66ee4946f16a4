"""Spatial vectors of derivatives and symbols: the same formulas, and frames that move along known poses."""

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RotationMatrix
from merganser.framework.symbolic import Evaluate, Expression, MakeVectorVariable
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialMomentum, SpatialVelocity

h = 1e-100  # complex step


def everything(x):
    """Every method that computes, on 25 numbers of any scalar type; a flat array."""
    R = RotationMatrix.MakeZRotation(x[24])
    V, A = SpatialVelocity(x[:3], x[3:6]), SpatialAcceleration(x[:6][::-1])
    V2, A2 = SpatialVelocity(x[6:12]), SpatialAcceleration(x[12:18])
    F, L, p, w = SpatialForce(x[12:18]), SpatialMomentum(x[18:24]), x[2:5], x[10:13]
    vectors = [
        V.Shift(p),
        V.ComposeWithMovingFrameVelocity(p, V2),
        A.Shift(p, w),
        A.ShiftWithZeroAngularVelocity(p),
        A.ComposeWithMovingFrameAcceleration(p, w, V2, A2),
        F.Shift(p),
        L.Shift(p).Rotate(R),
        x[1] * (V + V2) - V * 0.5,
        -A2 - A,
    ]
    return np.array([c for v in vectors for c in v.get_coeffs()] + [V @ F, V.dot(L), F.dot(V2), L @ V2])


@pytest.fixture
def x():
    return np.random.default_rng(5).normal(size=25)


def test_derivatives_are_those_of_the_complex_step(x):
    steps = [everything(x + 1j * h * direction).imag / h for direction in np.eye(25)]
    results = everything(InitializeAutoDiff(x).reshape(25))
    np.testing.assert_allclose(ExtractValue(results).ravel(), everything(x), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(ExtractGradient(results), np.transpose(steps), rtol=1e-12, atol=1e-13)


def test_expressions_evaluate_to_the_float_result(x):
    variables = MakeVectorVariable(25, "x")
    expressions = everything(np.array([Expression(v) for v in variables]))
    values = Evaluate(expressions, dict(zip(variables, x))).ravel()
    np.testing.assert_allclose(values, everything(x), rtol=1e-13, atol=1e-13)


def test_scalar_objects_scale_from_both_sides():
    V, a = SpatialVelocity(np.arange(6.0)), AutoDiffXd(2.0, [1.0])
    for product in (a * V, V * a, np.float64(2.0) * V, np.array(2.0) * V, Expression(2.0) * V):
        assert isinstance(product, SpatialVelocity)
    np.testing.assert_array_equal(ExtractGradient((a * V).get_coeffs()).ravel(), np.arange(6.0))


def poses(t):
    """Poses X_MB and X_BC at time t, analytic in t: rotation matrices and origins."""
    R_MB = RotationMatrix.MakeZRotation(t**2) @ RotationMatrix.MakeXRotation(0.3 + 0.5 * t)
    R_BC = RotationMatrix.MakeYRotation(0.7 * t**3) @ RotationMatrix.MakeZRotation(t)
    p_MB = np.array([np.sin(t), t**2, 1.0 + t])
    p_BC = np.array([t**3, np.cos(2.0 * t), 0.2 * t])
    return R_MB.matrix(), p_MB, R_BC.matrix(), p_BC


def velocities(t):
    """V_MB, V_BC and V_MC by the complex step of the poses, each expressed in its first frame."""

    def rate(function):
        return function(t + 1j * h).imag / h

    R_MB, _, R_BC, _ = poses(t)

    def spatial(R, R_dot, p_dot):
        W = R_dot @ R.T
        return SpatialVelocity([W[2, 1], W[0, 2], W[1, 0]], p_dot)

    R_MC_dot = rate(lambda s: poses(s)[0] @ poses(s)[2])
    p_MC_dot = rate(lambda s: poses(s)[1] + poses(s)[0] @ poses(s)[3])
    return (
        spatial(R_MB, rate(lambda s: poses(s)[0]), rate(lambda s: poses(s)[1])),
        spatial(R_BC, rate(lambda s: poses(s)[2]), rate(lambda s: poses(s)[3])),
        spatial(R_MB @ R_BC, R_MC_dot, p_MC_dot),
    )


def test_composed_velocity_and_acceleration_are_the_rates_of_the_composed_pose():
    t, dt = 0.8, 1e-4
    R_MB, _, _, p_BC = poses(t)
    R, p_BoCo_M = RotationMatrix(R_MB), R_MB @ p_BC
    V_MB_M, V_BC_B, V_MC_M = velocities(t)
    composed = V_MB_M.ComposeWithMovingFrameVelocity(p_BoCo_M, V_BC_B.Rotate(R))
    np.testing.assert_allclose(composed.get_coeffs(), V_MC_M.get_coeffs(), rtol=1e-13, atol=1e-13)

    def rate(index):  # fourth-order central difference: dt^4 = 1e-16, over rounding of 1e-16 / dt = 1e-12
        c = [velocities(t + k * dt)[index].get_coeffs() for k in (-2, -1, 1, 2)]
        return SpatialAcceleration((c[0] - 8.0 * c[1] + 8.0 * c[2] - c[3]) / (12.0 * dt))

    A_MC_M = rate(0).ComposeWithMovingFrameAcceleration(
        p_BoCo_M, V_MB_M.rotational(), V_BC_B.Rotate(R), rate(1).Rotate(R)
    )
    np.testing.assert_allclose(A_MC_M.get_coeffs(), rate(2).get_coeffs(), atol=1e-10)
