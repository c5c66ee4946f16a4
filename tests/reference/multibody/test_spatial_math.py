"""Spatial vectors on random numbers of all three scalars, and what their operators refuse, agree with pydrake."""

from types import SimpleNamespace

import numpy as np
import pytest

import merganser.framework.autodiff as autodiff
import merganser.framework.math as math
import merganser.framework.symbolic as symbolic
import merganser.multibody.math as spatial

pytest.importorskip("pydrake", reason="pydrake (extra `reference`) is not installed")
import pydrake.autodiffutils
import pydrake.math
import pydrake.multibody.math
import pydrake.symbolic

pytestmark = pytest.mark.reference
NAMES = ["SpatialVelocity", "SpatialAcceleration", "SpatialForce", "SpatialMomentum"]


def classes(library, rotations, scalar=None):
    """The four classes and RotationMatrix, of one scalar type (ours fit all)."""
    if scalar is None:
        return SimpleNamespace(**{n: getattr(library, n) for n in NAMES}, RotationMatrix=rotations.RotationMatrix)
    templates = {name: getattr(library, f"{name}_")[scalar] for name in NAMES}
    return SimpleNamespace(**templates, RotationMatrix=rotations.RotationMatrix_[scalar])


OURS = classes(spatial, math)
THEIRS = classes(pydrake.multibody.math, pydrake.math)


def everything(lib, x, half):
    """Every method that computes, on 24 numbers and the number 1/2; a list of scalars."""
    R = lib.RotationMatrix.MakeZRotation(x[0]) @ lib.RotationMatrix.MakeXRotation(x[7])
    V, V2 = lib.SpatialVelocity(x[:3], x[3:6]), lib.SpatialVelocity(V=x[6:12])
    A, A2 = lib.SpatialAcceleration(alpha=x[5:8], a=x[8:11]), lib.SpatialAcceleration(x[12:18])
    F, L, p, w = lib.SpatialForce(tau=x[12:15], f=x[15:18]), lib.SpatialMomentum(x[18:24]), x[2:5], x[10:13]
    sums = lib.SpatialForce(x[18:24])
    sums += F
    sums *= half
    sums -= F * half
    vectors = [
        V.Shift(offset=p),
        V.ComposeWithMovingFrameVelocity(position_of_moving_frame=p, velocity_of_moving_frame=V2),
        A.Shift(offset=p, angular_velocity_of_this_frame=w),
        A.ShiftWithZeroAngularVelocity(offset=p),
        A.ComposeWithMovingFrameAcceleration(
            position_of_moving_frame=p,
            angular_velocity_of_this_frame=w,
            velocity_of_moving_frame=V2,
            acceleration_of_moving_frame=A2,
        ),
        F.Shift(p),
        L.Shift(p).Rotate(R_FE=R),
        half * (V + V2) - V * half,
        -A2 - A,
        sums,
        lib.SpatialMomentum.Zero(),
        lib.SpatialMomentum(x[:6]).SetZero(),
    ]
    powers = [V @ F, V.dot(force=F), V.dot(momentum=L), F.dot(velocity=V2), L @ V2]
    return [c for v in vectors for c in (*v.rotational(), *v.translational(), *v.get_coeffs())] + powers


@pytest.fixture(params=range(5))
def x(request):
    return np.random.default_rng(request.param).normal(size=24)


def test_results_are_those_of_pydrake(x):
    np.testing.assert_allclose(everything(OURS, x, 0.5), everything(THEIRS, x, 0.5), rtol=1e-13, atol=1e-14)


def test_derivatives_are_those_of_pydrake(x):
    def gradient(library, lib):
        scalars = library.InitializeAutoDiff(x).reshape(24)
        return library.ExtractGradient(np.array(everything(lib, scalars, library.AutoDiffXd(0.5))).reshape(-1, 1))

    theirs = classes(pydrake.multibody.math, pydrake.math, pydrake.autodiffutils.AutoDiffXd)
    np.testing.assert_allclose(
        gradient(autodiff, OURS), gradient(pydrake.autodiffutils, theirs), rtol=1e-12, atol=1e-13
    )


def test_expressions_have_the_values_of_those_of_pydrake(x):
    def values(library, lib):
        variables = library.MakeVectorVariable(24, "x")
        results = everything(lib, np.array([library.Expression(v) for v in variables]), library.Expression(0.5))
        environment = dict(zip(variables, x))
        return [r.Evaluate(environment) if isinstance(r, library.Expression) else r for r in results]

    theirs = classes(pydrake.multibody.math, pydrake.math, pydrake.symbolic.Expression)
    np.testing.assert_allclose(values(symbolic, OURS), values(pydrake.symbolic, theirs), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_method_of_pydrake_is_here(name):
    def public(lib):
        return {n for n in dir(getattr(lib, name)) if not n.startswith("_") and n.isascii()}

    assert public(THEIRS) <= public(OURS)


@pytest.mark.parametrize("name", NAMES)
def test_printed_forms_are_those_of_pydrake(name, x):
    assert repr(getattr(OURS, name)(x[:6])) == repr(getattr(THEIRS, name)(x[:6]))


REFUSED = [
    *(f"{a} + {b}" for a, b in ("VF", "VA", "FL", "AV", "Vp", "pV")),
    *(f"{a} - {b}" for a, b in ("VF", "Vp")),
    *(f"{a} * {b}" for a, b in ("VV", "VF", "FV")),
    *(f"{a} @ {b}" for a, b in ("VV", "VA", "AV", "FF", "FL", "Fp", "Vp")),
    *("V / 2", "2 / V", "V * 'a'", "V * None", "+V", "V[0]", "len(V)", "list(V)"),
    *("V.dot(A)", "V.dot(p)", "V.dot(other=F)", "F.dot(A)", "F.dot(force=V)"),
    *("V.Shift()", "A.Shift(p)", "V.Shift(p, p)", "V.Rotate(numpy.eye(3))", "R @ V", "V @ R"),
    *("V.ComposeWithMovingFrameVelocity(p, A)", "V.ComposeWithMovingFrameVelocity(p, p)"),
    *("A.ComposeWithMovingFrameAcceleration(p, p, A, A)", "A.ComposeWithMovingFrameAcceleration(p, p, V, V)"),
    *(
        "lib.SpatialVelocity(V)",
        "lib.SpatialVelocity(w=p)",
        "lib.SpatialVelocity(['a'] * 6)",
        "lib.SpatialVelocity(F=q)",
    ),
]


@pytest.mark.parametrize("operation", REFUSED)
def test_both_refuse_with_a_type_error(operation):
    for lib in (OURS, THEIRS):
        q, p = np.arange(1.0, 7.0), np.arange(1.0, 4.0)
        values = {"V": lib.SpatialVelocity(q), "A": lib.SpatialAcceleration(q), "F": lib.SpatialForce(q)}
        values |= {"L": lib.SpatialMomentum(q), "R": lib.RotationMatrix(), "p": p, "q": q, "lib": lib, "numpy": np}
        with pytest.raises(TypeError):
            eval(operation, values)


@pytest.mark.parametrize("shape", [(5,), (1, 6), (2, 3), (6, 2)])
def test_both_refuse_six_vectors_of_another_shape(shape):
    for lib in (OURS, THEIRS):
        with pytest.raises((TypeError, ValueError)):
            lib.SpatialVelocity(np.zeros(shape))
