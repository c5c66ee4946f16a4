"""Spatial vectors: algebra, shifts, and power that no choice of point or frame changes."""

import copy
import pickle

import numpy as np
import pytest

from merganser.framework.math import RollPitchYaw, RotationMatrix
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialMomentum, SpatialVelocity

KINDS = [SpatialVelocity, SpatialAcceleration, SpatialForce, SpatialMomentum]
KEYWORDS = {
    SpatialVelocity: ("w", "v", "V"),
    SpatialAcceleration: ("alpha", "a", "A"),
    SpatialForce: ("tau", "f", "F"),
    SpatialMomentum: ("h", "l", "L"),
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("kind", KINDS)
def test_all_forms_of_construction_agree(kind):
    rotational, translational, both = KEYWORDS[kind]
    expected = np.arange(1.0, 7.0)
    for vector in (
        kind([1, 2, 3], [4, 5, 6]),
        kind(expected),
        kind(**{both: expected}),
        kind(**{rotational: [1, 2, 3], translational: [4, 5, 6]}),
        kind([1, 2, 3], **{translational: [4, 5, 6]}),
    ):
        np.testing.assert_array_equal(vector.get_coeffs(), expected)
    assert np.isnan(kind().get_coeffs()).all()
    assert not kind.Zero().get_coeffs().any()


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arguments_are_refused(kind):
    with pytest.raises(ValueError, match="6 entries"):
        kind([1, 2, 3])
    with pytest.raises(ValueError, match="3 entries"):
        kind([1, 2, 3], [4, 5])
    with pytest.raises(TypeError, match="takes no argument"):
        kind(nonsense=[1, 2, 3])
    for entries in (["a"] * 6, [None] * 6):
        with pytest.raises(TypeError, match="numbers"):
            kind(entries)
    with pytest.raises(ValueError, match=r"6 entries, but has shape \(2, 3\)"):
        kind([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic_is_that_of_the_coefficients(kind, rng):
    a, b = rng.normal(size=6), rng.normal(size=6)
    A, B = kind(a), kind(b)
    np.testing.assert_array_equal((A + B).get_coeffs(), a + b)
    np.testing.assert_array_equal((A - B).get_coeffs(), a - b)
    np.testing.assert_array_equal((-A).get_coeffs(), -a)
    np.testing.assert_array_equal((2.5 * A).get_coeffs(), 2.5 * a)
    np.testing.assert_array_equal((np.float64(2.5) * A).get_coeffs(), 2.5 * a)
    C = copy.deepcopy(A)
    C += B
    C -= A
    C *= 3.0
    np.testing.assert_allclose(C.get_coeffs(), 3 * b, rtol=1e-14)
    np.testing.assert_array_equal(A.get_coeffs(), a)  # the copy was changed, not the original


def test_vectors_of_different_kind_do_not_add():
    with pytest.raises(TypeError):
        SpatialVelocity.Zero() + SpatialForce.Zero()
    for factor in (SpatialVelocity.Zero(), np.ones(6), [2.0], "a", None):
        with pytest.raises(TypeError):
            SpatialVelocity.Zero() * factor
    with pytest.raises(TypeError):
        np.ones(6) * SpatialVelocity.Zero()


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_does_not_follow_the_original(kind):
    vector = kind(np.arange(6.0))
    copies = [copy.copy(vector), copy.deepcopy(vector), pickle.loads(pickle.dumps(vector))]
    vector.SetZero()
    for other in copies:
        assert type(other) is kind
        np.testing.assert_array_equal(other.get_coeffs(), np.arange(6.0))


def test_parts_are_copies():
    V = SpatialVelocity([1, 2, 3], [4, 5, 6])
    V.rotational()[0] = V.translational()[0] = V.get_coeffs()[0] = 99.0
    np.testing.assert_array_equal(V.get_coeffs(), np.arange(1.0, 7.0))


@pytest.mark.parametrize("kind", [SpatialForce, SpatialMomentum])
def test_scalar_product_does_not_depend_on_point_nor_frame(kind, rng):
    F, V, p = kind(rng.normal(size=6)), SpatialVelocity(rng.normal(size=6)), rng.normal(size=3)
    R = RotationMatrix(RollPitchYaw(0.3, -0.2, 1.1))
    power = F.get_coeffs() @ V.get_coeffs()
    assert F.dot(V) == V.dot(F) == F @ V == V @ F == pytest.approx(power)
    assert F.Shift(p).dot(V.Shift(p)) == pytest.approx(power)
    assert F.Rotate(R).dot(V.Rotate(R)) == pytest.approx(power)
    assert V.dot(**{"force" if kind is SpatialForce else "momentum": F}) == pytest.approx(power)
    with pytest.raises(TypeError, match="takes a SpatialVelocity"):
        F.dot(F)
    for other in (V, None, np.zeros(6)):
        with pytest.raises(TypeError, match="one SpatialForce or one SpatialMomentum"):
            V @ other


def test_arguments_of_the_wrong_kind_are_named():
    V, A, p = SpatialVelocity.Zero(), SpatialAcceleration.Zero(), np.zeros(3)
    with pytest.raises(TypeError, match=r"Rotate: R_FE: expected a RotationMatrix, got ndarray"):
        V.Rotate(np.eye(3))
    with pytest.raises(TypeError, match=r"velocity_of_moving_frame: expected a SpatialVelocity"):
        V.ComposeWithMovingFrameVelocity(p, A)
    with pytest.raises(TypeError, match=r"velocity_of_moving_frame: expected a SpatialVelocity"):
        A.ComposeWithMovingFrameAcceleration(p, p, A, A)
    with pytest.raises(TypeError, match=r"acceleration_of_moving_frame: expected a SpatialAcceleration"):
        A.ComposeWithMovingFrameAcceleration(p, p, V, V)


@pytest.mark.parametrize("kind", KINDS)
def test_shift_there_and_back_is_no_shift(kind, rng):
    vector, p, w = kind(rng.normal(size=6)), rng.normal(size=3), rng.normal(size=3)
    arguments = (w,) if kind is SpatialAcceleration else ()
    again = vector.Shift(p, *arguments).Shift(-p, *arguments)
    np.testing.assert_allclose(again.get_coeffs(), vector.get_coeffs(), atol=1e-14)


def test_shift_of_a_velocity_adds_the_cross_product(rng):
    w, v, p = rng.normal(size=(3, 3))
    shifted = SpatialVelocity(w, v).Shift(p)
    np.testing.assert_array_equal(shifted.rotational(), w)
    np.testing.assert_allclose(shifted.translational(), v + np.cross(w, p), rtol=1e-14)


def test_acceleration_of_a_moving_frame_is_the_derivative_of_its_velocity():
    """B spins about z of M at the rate t^2; C slides along x of B by t^3 and turns about it by t."""

    def velocity(t):
        angle = t**3 / 3
        R_MB = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        V_MB = SpatialVelocity([0, 0, t**2], [0, 0, 0])
        V_BC = SpatialVelocity(R_MB @ [1, 0, 0], R_MB @ [3 * t**2, 0, 0])
        return R_MB, V_MB, V_BC, V_MB.ComposeWithMovingFrameVelocity(R_MB @ [t**3, 0, 0], V_BC)

    t, h = 0.8, 1e-5
    R_MB, V_MB, V_BC, _ = velocity(t)
    A_MB = SpatialAcceleration([0, 0, 2 * t], [0, 0, 0])
    A_BC = SpatialAcceleration([0, 0, 0], R_MB @ [6 * t, 0, 0])
    A_MC = A_MB.ComposeWithMovingFrameAcceleration(R_MB @ [t**3, 0, 0], V_MB.rotational(), V_BC, A_BC)
    difference = (velocity(t + h)[-1].get_coeffs() - velocity(t - h)[-1].get_coeffs()) / (2 * h)
    np.testing.assert_allclose(A_MC.get_coeffs(), difference, atol=1e-8)  # central difference: h^2 = 1e-10


def test_shift_with_zero_angular_velocity_leaves_out_the_centripetal_term(rng):
    A, p, w = SpatialAcceleration(rng.normal(size=6)), rng.normal(size=3), rng.normal(size=3)
    np.testing.assert_array_equal(A.ShiftWithZeroAngularVelocity(p).get_coeffs(), A.Shift(p, np.zeros(3)).get_coeffs())
    centripetal = A.Shift(p, w).translational() - A.ShiftWithZeroAngularVelocity(p).translational()
    np.testing.assert_allclose(centripetal, np.cross(w, np.cross(w, p)), rtol=1e-12)


@pytest.mark.parametrize("scalar", [np.complex128, object])
def test_other_scalars_give_the_same_results(scalar, rng):
    coeffs, p = rng.normal(size=6), rng.normal(size=3)
    V, F = SpatialVelocity(coeffs.astype(scalar)), SpatialForce(coeffs.astype(scalar))
    assert V.Shift(p).get_coeffs().dtype == scalar
    np.testing.assert_allclose(V.Shift(p).get_coeffs().astype(complex), SpatialVelocity(coeffs).Shift(p).get_coeffs())
    assert complex(V.dot(F)) == pytest.approx(coeffs @ coeffs)
