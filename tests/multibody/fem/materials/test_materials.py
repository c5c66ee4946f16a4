"""Materials: energies of closed forms, and derivatives that are those of the energies."""

import numpy as np
import pytest
from soft_materials import FIBERS, SAINT_VENANT_KIRCHHOFF

from merganser.multibody.fem.layout import material_dtype, point_dtype
from merganser.multibody.fem.materials import table
from merganser.multibody.fem.small_matrices import decompose, determinant, keep_positive_part, set_cofactors

MU, LAMBDA = 3.0, 5.0
NAMES = [kind.name for kind in table.MATERIALS]
KINDS = {kind.name: kind for kind in (*table.MATERIALS, SAINT_VENANT_KIRCHHOFF, FIBERS)}
EACH = pytest.mark.parametrize("name", NAMES)
THOSE_OF_USERS_TOO = pytest.mark.parametrize("name", KINDS)
ISOTROPIC = ("corotated", "neohookean")


def rotation(seed):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def gradients():
    """Deformation gradients: at rest, turned, stretched and sheared, squeezed flat, inside out."""
    random = np.random.default_rng(7)
    some = [rotation(k) @ np.diag(s) @ rotation(k + 9) for k, s in enumerate([(1.3, 0.7, 1.1), (0.5, 0.6, 0.4)])]
    return [np.eye(3), rotation(1), *some, np.eye(3) + 0.3 * random.normal(size=(3, 3)),
            rotation(3) @ np.diag([1.2, 0.9, -0.3]) @ rotation(4), rotation(5) @ np.diag([1.4, 1.1, 0.01])]  # fmt: skip


class Point:
    """A material at a point."""

    def __init__(self, name, scalar=np.float64):
        self.material = np.zeros(1, material_dtype)[0]
        table.set_material_kind(self.material, KINDS[name])
        self.material["mu"], self.material["lambda"] = MU, LAMBDA
        self.material["constants"][:4] = 4.0, 0.6, 0.0, 0.8  # of fibers
        self.point = np.zeros(1, point_dtype(scalar))[0]
        self.point["rotation"] = np.eye(3)
        self.scalar = scalar

    def start(self, F):
        """The state before a step."""
        self.point["F"] = F
        table.start(self.material, self.point)
        return self

    def prepare(self, F):
        self.point["F"] = F
        if self.scalar is np.float64:
            table.prepare(self.material, self.point)
        self.point["slope"] = np.nan
        table.set_growth(self.material, self.point)

    def energy(self, F):
        self.prepare(F)
        energy = np.zeros(1, self.scalar)
        table.add_energy(self.material, self.point, energy)
        return energy[0]

    def stress(self, F):
        self.prepare(F)
        self.point["P"] = np.nan
        table.set_stress(self.material, self.point)
        return self.point["P"].copy()

    def derivative(self, F, is_convex=0):
        self.prepare(F)
        self.point["is_convex"] = is_convex
        C = np.full((9, 9), np.nan)
        table.set_derivative(self.material, self.point, C)
        return C


@EACH
def test_uniaxial_strain_has_the_energy_of_the_closed_form(name):
    for stretch in (0.6, 1.0, 1.7):
        strain = stretch - 1.0
        expected = (MU + 0.5 * LAMBDA) * strain**2
        if name == "neohookean":
            expected = 0.5 * MU * (stretch**2 - 1.0) - MU * strain + 0.5 * LAMBDA * strain**2
        point = Point(name).start(np.eye(3))
        assert point.energy(np.diag([1.0, stretch, 1.0])) == pytest.approx(expected, abs=1e-14)


@EACH
def test_growth_in_all_directions_has_the_energy_of_the_closed_form(name):
    s = 1.2
    expected = {
        "linear": 3 * MU * 0.2**2 + 4.5 * LAMBDA * 0.2**2,
        "linear_corotated": 3 * MU * 0.2**2 + 4.5 * LAMBDA * 0.2**2,
        "corotated": 3 * MU * 0.2**2 + 0.5 * LAMBDA * (s**3 - 1) ** 2,
        "neohookean": 1.5 * MU * (s**2 - 1) - MU * (s**3 - 1) + 0.5 * LAMBDA * (s**3 - 1) ** 2,
    }
    assert Point(name).start(np.eye(3)).energy(s * np.eye(3)) == pytest.approx(expected[name], rel=1e-14)


@EACH
def test_simple_shear_has_the_stress_of_the_closed_form(name):
    F = np.eye(3)
    F[0, 1] = 0.2
    P = Point(name).start(np.eye(3)).stress(F)
    if name == "corotated":  # F = R S with an angle of rotation a, tan a = 0.2 / 2
        a = np.arctan(0.1)
        expected = 2 * MU * (0.2 - np.sin(a))
    else:
        expected = MU * 0.2
    assert P[0, 1] == pytest.approx(expected, rel=1e-14)


@THOSE_OF_USERS_TOO
def test_stress_is_the_derivative_of_the_energy(name):
    for F in gradients():
        point = Point(name).start(np.eye(3) if name == "linear" else gradients()[3])
        P, slopes = point.stress(F), np.empty((3, 3))
        for i, j in np.ndindex(3, 3):
            step = np.zeros((3, 3))
            if name in ("corotated",):
                step[i, j] = 1e-5
                slopes[i, j] = (point.energy(F + step) - point.energy(F - step)) / 2e-5
            else:
                lanes = Point(name, np.complex128)
                lanes.point["rotation"] = point.point["rotation"]
                step[i, j] = 1e-100
                slopes[i, j] = lanes.energy(F + 1j * step).imag / 1e-100
        assert slopes == pytest.approx(P, abs=1e-8 if name == "corotated" else 1e-13)


@THOSE_OF_USERS_TOO
def test_derivatives_of_stress_are_those_of_differences(name):
    for F in gradients():
        point = Point(name).start(gradients()[3])
        C, slopes = point.derivative(F), np.empty((9, 9))
        for k in range(9):
            step = np.zeros(9)
            if name == "corotated":
                step[k] = 1e-5
                change = (point.stress(F + step.reshape(3, 3)) - point.stress(F - step.reshape(3, 3))) / 2e-5
            else:
                lanes = Point(name, np.complex128)
                lanes.point["rotation"] = point.point["rotation"]
                step[k] = 1e-100
                change = lanes.stress(F + 1j * step.reshape(3, 3)).imag / 1e-100
            slopes[:, k] = change.ravel()
        assert slopes == pytest.approx(C, abs=2e-7 if name == "corotated" else 1e-12)
        assert pytest.approx(C.T, abs=1e-13) == C


@THOSE_OF_USERS_TOO
def test_the_energy_of_volume_is_half_lambda_times_the_square_of_its_growth(name):
    for F in gradients():
        point = Point(name).start(gradients()[3])
        energy, P, C = point.energy(F), point.stress(F), point.derivative(F)
        growth, slope = float(point.point["growth"]), point.point["slope"].ravel()
        point.material["is_averaged"] = 1
        assert point.derivative(F) == pytest.approx(C - LAMBDA * np.outer(slope, slope), abs=1e-12)
        point.material["lambda"] = 0.0
        assert energy - point.energy(F) == pytest.approx(0.5 * LAMBDA * growth**2, abs=1e-12)
        assert P - point.stress(F) == pytest.approx(LAMBDA * growth * slope.reshape(3, 3), abs=1e-12)


@pytest.mark.parametrize("name", ISOTROPIC)
def test_convex_derivatives_are_without_the_negative_part(name):
    for F in gradients():
        C = Point(name).derivative(F)
        values, vectors = np.linalg.eigh(C)
        expected = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
        assert Point(name).derivative(F, is_convex=1) == pytest.approx(expected, abs=1e-12 * abs(values).max())


@EACH
def test_turning_a_body_changes_its_energy_nowhere_but_in_the_linear_material(name):
    Q = rotation(11)
    for F in gradients():
        point, turned = Point(name).start(F), Point(name).start(Q @ F)
        is_same = turned.energy(Q @ F) == pytest.approx(point.energy(F), abs=1e-13)
        assert is_same or name == "linear"
        if name != "linear":
            assert turned.stress(Q @ F) == pytest.approx(Q @ point.stress(F), abs=1e-12)
    assert (Point(name).start(Q).stress(Q) == pytest.approx(np.zeros((3, 3)), abs=1e-14)) == (name != "linear")


@EACH
def test_small_strains_are_those_of_linear_elasticity(name):
    strain = np.random.default_rng(2).normal(size=(3, 3))
    strain = 1e-7 * (strain + strain.T)
    second = LAMBDA - MU if name == "neohookean" else LAMBDA
    expected = 2.0 * MU * strain + second * np.trace(strain) * np.eye(3)
    P = Point(name).start(np.eye(3)).stress(np.eye(3) + strain)
    assert pytest.approx(expected, abs=1e-12) == P


@pytest.mark.parametrize("F", [*gradients(), np.zeros((3, 3)), np.diag([2.0, 0.0, 0.0]), np.ones((3, 3)), -np.eye(3)])
def test_matrices_are_made_of_two_rotations_and_principal_stretches(F):
    U, sigma, V = np.full((3, 3), np.nan), np.full(3, np.nan), np.full((3, 3), np.nan)
    decompose(F, U, sigma, V)
    assert U @ np.diag(sigma) @ V.T == pytest.approx(F, abs=1e-14)
    for R in (U, V):
        assert pytest.approx(np.eye(3), abs=1e-14) == R.T @ R
        assert np.linalg.det(R) == pytest.approx(1.0)
    assert sorted(abs(sigma)) == pytest.approx(sorted(np.linalg.svd(F)[1]), abs=1e-14)
    assert sigma[np.abs(sigma).argmin()] == sigma.min()


def test_cofactors_are_the_derivative_of_the_determinant_where_it_is_zero_too():
    for F in (*gradients(), np.diag([1.0, 2.0, 0.0])):
        cofactors = np.full((3, 3), np.nan)
        set_cofactors(F, cofactors)
        assert determinant(F) == pytest.approx(np.linalg.det(F), abs=1e-14)
        for i, j in np.ndindex(3, 3):
            minor = np.delete(np.delete(F, i, 0), j, 1)
            assert cofactors[i, j] == pytest.approx((-1) ** (i + j) * np.linalg.det(minor), abs=1e-14)


def test_of_a_symmetric_matrix_the_positive_part_is_left():
    A = np.random.default_rng(3).normal(size=(3, 3))
    A = A + A.T
    values, vectors = np.linalg.eigh(A)
    keep_positive_part(A, np.empty((3, 3)), np.empty(3))
    assert vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T == pytest.approx(A, abs=1e-14)
