"""Arrays of any scalar, smooth bounds, forms and gradients, random rotations, splines and meshes."""

import math

import numpy as np
import pytest

import merganser.framework.math as mm
from merganser.framework import RandomGenerator
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff, jacobian
from merganser.framework.symbolic import Formula, Variable

RANDOM = np.random.default_rng(6)


# ---------------------------------------------------------------------- arrays


def test_comparisons_are_elementwise():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert mm.lt(a, 2.5).tolist() == [[True, True], [False, False]]
    assert mm.ge([1, 2, 3], [3, 2, 1]).tolist() == [False, True, True]
    assert mm.eq([], []).shape == (0,) and bool(mm.ne(1.0, 2.0))
    for name, expected in (("eq", [0, 1, 0]), ("ne", [1, 0, 1]), ("lt", [1, 0, 0]), ("le", [1, 1, 0]),
                           ("gt", [0, 0, 1]), ("ge", [0, 1, 1])):  # fmt: skip
        result = getattr(mm, name)([AutoDiffXd(v) for v in (1.0, 2.0, 3.0)], 2.0)
        assert result.dtype == bool and result.tolist() == [bool(e) for e in expected]
    with pytest.raises(ValueError, match="broadcast"):
        mm.eq([1, 2], [1, 2, 3])


def test_comparisons_of_expressions_are_formulas():
    x, y = Variable("x"), Variable("y")
    formulas = mm.le([x, y], [1.0, x])
    assert all(isinstance(f, Formula) for f in formulas)
    assert [f.Evaluate({x: 2.0, y: 0.0}) for f in formulas] == [False, True]


def test_inverses_of_every_scalar():
    A = RANDOM.normal(size=(4, 4))
    np.testing.assert_allclose(mm.inv(A) @ A, np.eye(4), rtol=0, atol=1e-13)
    derivatives = InitializeAutoDiff(A)
    product = mm.matmul(mm.inv(derivatives), derivatives)
    np.testing.assert_allclose(ExtractGradient(product), np.zeros((16, 16)), rtol=0, atol=1e-12)
    # d(inv A) = -inv(A) dA inv(A), entries taken column by column
    X = np.linalg.inv(A)
    np.testing.assert_allclose(ExtractGradient(mm.inv(derivatives)), -np.kron(X.T, X), rtol=0, atol=1e-12)
    x, y = Variable("x"), Variable("y")
    inverse = mm.inv(np.array([[x, 1.0, 0.0], [0.0, y, 2.0], [1.0, 0.0, x]]))
    values = [[entry.Evaluate({x: 2.0, y: 3.0}) for entry in row] for row in inverse]
    expected = np.linalg.inv([[2.0, 1.0, 0.0], [0.0, 3.0, 2.0], [1.0, 0.0, 2.0]])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-14)


def test_products_and_inverses_of_wrong_shapes_are_refused():
    assert mm.matmul(np.eye(2), [1.0, 2.0]).tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match=r"shapes \(2, 2\) and \(3, 1\)"):
        mm.matmul(np.eye(2), np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"square matrix, got an array of shape \(2, 3\)"):
        mm.inv(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        mm.inv(np.ones((2, 2)))


def test_triangles_make_symmetric_matrices():
    S = RANDOM.normal(size=(4, 4))
    S = S + S.T
    columns = mm.ToLowerTriangularColumnsFromMatrix(S)
    assert columns.tolist() == [*S[:, 0], *S[1:, 1], *S[2:, 2], S[3, 3]]
    assert (mm.ToSymmetricMatrixFromLowerTriangularColumns(columns) == S).all()
    assert (mm.ExtractPrincipalSubmatrix(S, {2, 0}) == S[[0, 2]][:, [0, 2]]).all()
    with pytest.raises(ValueError, match="5 elements fill no triangle; expected 3 or 6"):
        mm.ToSymmetricMatrixFromLowerTriangularColumns(np.ones(5))
    with pytest.raises(ValueError, match="square"):
        mm.ToLowerTriangularColumnsFromMatrix(np.ones((2, 3)))
    with pytest.raises(ValueError, match="must not be empty"):
        mm.ExtractPrincipalSubmatrix(S, set())
    with pytest.raises(IndexError, match="do not fit"):
        mm.ExtractPrincipalSubmatrix(np.ones((3, 5)), {3})


# ---------------------------------------------------------------------- smooth bounds, forms, gradients


def test_smooth_bounds_enclose_the_extremes():
    x = RANDOM.normal(size=7).tolist()
    for alpha in (0.5, 1.0, 20.0):
        assert mm.SoftUnderMax(x, alpha) <= max(x) <= mm.SoftOverMax(x, alpha) <= max(x) + math.log(7) / alpha
        assert mm.SoftUnderMin(x, alpha) <= min(x) <= mm.SoftOverMin(x, alpha)
    assert mm.SoftOverMax(x) == pytest.approx(math.log(sum(map(math.exp, x))), abs=1e-14)
    for bound in (mm.SoftOverMax, mm.SoftUnderMax, mm.SoftOverMin, mm.SoftUnderMin):
        assert 1e4 <= bound([1e4, 2e4]) <= 2e4  # without overflow
        mirrored = {mm.SoftOverMax: mm.SoftUnderMin, mm.SoftUnderMax: mm.SoftOverMin}.get(bound)
        assert mirrored is None or mirrored([-v for v in x]) == pytest.approx(-bound(x), abs=1e-14)
        numeric = mm.ComputeNumericalGradient(lambda v, bound=bound: [bound(v.tolist(), 2.0)], x, CENTRAL)
        exact = jacobian(lambda v, bound=bound: np.array([bound(v.tolist(), 2.0)]), np.array(x))
        np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-9)
        for wrong in (([], 1.0), (x, 0.0), (x, math.inf)):
            with pytest.raises(ValueError, match=bound.__name__):
                bound(*wrong)


CENTRAL = mm.NumericalGradientOption(mm.NumericalGradientMethod.kCentral)


@pytest.mark.parametrize("method", mm.NumericalGradientMethod)
def test_gradients_by_differences(method):
    def function(x):
        return [x[0] * x[1], x[0] ** 2, math.sin(x[1])]

    x = np.array([3.0, -0.4])
    expected = [[x[1], x[0]], [2 * x[0], 0.0], [0.0, math.cos(x[1])]]
    tolerance = 1e-9 if method is mm.NumericalGradientMethod.kCentral else 1e-6
    option = mm.NumericalGradientOption(method)
    np.testing.assert_allclose(mm.ComputeNumericalGradient(function, x, option), expected, rtol=0, atol=tolerance)
    assert option.NumericalGradientMethod() is method
    assert mm.ComputeNumericalGradient(lambda x: [1.0, 2.0], []).shape == (2, 0)
    with pytest.raises(ValueError, match="function_accuracy"):
        mm.NumericalGradientOption(method, -1.0)
    with pytest.raises(TypeError, match="expected a NumericalGradientMethod"):
        mm.NumericalGradientOption("forward")


def test_positive_form_is_a_sum_of_squares():
    factor = RANDOM.normal(size=(2, 4))
    form = factor.T @ factor
    Q, b, c = form[:3, :3], 2.0 * form[:3, 3], form[3, 3]
    R, d = mm.DecomposePositiveQuadraticForm(Q, b, c, 1e-12)
    assert R.shape == (2, 3) and d.shape == (2, 1)
    for x in RANDOM.normal(size=(5, 3)):
        square = np.sum((R @ x + d[:, 0]) ** 2)
        assert square == pytest.approx(x @ Q @ x + b @ x + c, abs=1e-12)
    with pytest.raises(RuntimeError, match="not positive semidefinite"):
        mm.DecomposePositiveQuadraticForm([[1.0]], [2.0], 0.0)
    with pytest.raises(ValueError, match=r"Q of shape \(2, 2\)"):
        mm.DecomposePositiveQuadraticForm([[1.0]], [2.0, 3.0], 0.0)


def test_balanced_forms_are_inverse_to_each_other():
    factor, P = RANDOM.normal(size=(2, 3, 3))
    S, P = factor @ factor.T + np.eye(3), P + P.T
    T = mm.BalanceQuadraticForms(S, P)
    D = T.T @ S @ T
    np.testing.assert_allclose(D, np.diag(np.diag(D)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.abs(T.T @ P @ T), np.linalg.inv(D), rtol=0, atol=1e-12)
    for wrong in ((-S, P), (S, np.zeros((3, 3))), (S, np.eye(2)), (S, factor)):
        with pytest.raises(ValueError, match="BalanceQuadraticForms"):
            mm.BalanceQuadraticForms(*wrong)


# ---------------------------------------------------------------------- rotations


def test_random_rotations_are_uniform_and_reproducible():
    generator = RandomGenerator(7)
    images = np.array([mm.UniformlyRandomRotationMatrix(generator).col(2) for _ in range(2000)])
    # The second moments of a uniform distribution on the sphere are those of the identity over three.
    np.testing.assert_allclose(images.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(images.T @ images / len(images), np.eye(3) / 3.0, atol=0.05)
    R = mm.UniformlyRandomRotationMatrix(RandomGenerator(3)).matrix()
    q = mm.UniformlyRandomQuaternion(RandomGenerator(3))
    np.testing.assert_allclose(mm.RotationMatrix(q).matrix(), R, rtol=0, atol=1e-15)
    np.testing.assert_allclose(mm.UniformlyRandomAngleAxis(RandomGenerator(3)).rotation(), R, rtol=0, atol=1e-15)
    rpy = mm.RollPitchYaw(mm.UniformlyRandomRPY(RandomGenerator(3)))
    np.testing.assert_allclose(mm.RotationMatrix(rpy).matrix(), R, rtol=0, atol=1e-15)


def test_canonical_quaternions_have_no_negative_w():
    for wxyz, is_canonical in (([0.6, -0.8, 0, 0], True), ([-0.6, 0.8, 0, 0], False), ([0, -1, 0, 0], True)):
        assert mm.is_quaternion_in_canonical_form(mm.Quaternion(wxyz)) is is_canonical


def test_wrapping_keeps_derivatives_and_symbols():
    wrapped = mm.wrap_to(AutoDiffXd(7.5, [2.0]), -1.0, 1.0)
    assert wrapped.value() == -0.5 and wrapped.derivatives().tolist() == [2.0]
    x = Variable("x")
    assert [mm.wrap_to(x, -1.0, 1.0).Evaluate({x: v}) for v in (0.5, 7.5, -1.0)] == [0.5, -0.5, -1.0]


# ---------------------------------------------------------------------- splines and meshes


@pytest.mark.parametrize("kind", mm.KnotVectorType)
def test_splines_add_up_to_one_and_match_polynomials(kind):
    basis = mm.BsplineBasis(4, 7, kind, 1.0, 3.0)
    assert (basis.order(), basis.degree(), basis.num_basis_functions()) == (4, 3, 7)
    assert (basis.initial_parameter_value(), basis.final_parameter_value()) == pytest.approx((1.0, 3.0))
    knots = np.array(basis.knots())
    # Marsden's identity: control points at the means of inner knots make the curve p(t) = t.
    means = [knots[i + 1 : i + 4].mean() for i in range(7)]
    for t in np.linspace(1.0 + 1e-12, 3.0 - 1e-12, 23):
        weights = basis.EvaluateLinearInControlPoints(t)
        assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert basis.EvaluateCurve([[m, 2.0] for m in means], t).tolist() == pytest.approx([t, 2.0], abs=1e-13)
        assert set(np.flatnonzero(weights)) <= set(basis.ComputeActiveBasisFunctionIndices(t))
        assert [basis.EvaluateBasisFunctionI(i, t) for i in range(7)] == weights.tolist()


def test_ends_and_copies_of_a_spline_basis():
    basis = mm.BsplineBasis(order=3, knots=[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    assert basis.FindContainingInterval(1.0) == 4 and basis.FindContainingInterval(2.0) == 4
    assert basis.EvaluateLinearInControlPoints(2.0).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert basis.ComputeActiveBasisFunctionIndices([0.5, 1.5]) == [0, 1, 2, 3, 4]
    copy = mm.BsplineBasis(basis)
    assert copy == basis and copy != mm.BsplineBasis() and len({copy, basis}) == 1
    assert mm.BsplineBasis().num_basis_functions() == 0


def test_knots_with_derivatives_move_the_functions_of_a_basis():
    basis_of = mm.BsplineBasis_[AutoDiffXd]
    knots = [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0]

    def values(moved):
        return mm.BsplineBasis(3, [*knots[:3], moved, *knots[4:]]).EvaluateLinearInControlPoints(0.7)

    basis = basis_of(3, [*knots[:3], AutoDiffXd(1.0, [1.0]), *knots[4:]])
    found = basis.EvaluateLinearInControlPoints(AutoDiffXd(0.7))
    slopes = (values(1.0 + 1e-6) - values(1.0 - 1e-6)) / 2e-6
    np.testing.assert_allclose([element.value() for element in found], values(1.0), atol=1e-15)
    np.testing.assert_allclose([element.derivatives()[0] for element in found], slopes, atol=1e-9)
    assert isinstance(basis, basis_of) and not isinstance(mm.BsplineBasis(3, knots), basis_of)
    assert all(type(knot) is AutoDiffXd for knot in basis_of(3, knots).knots())
    assert basis.FindContainingInterval(AutoDiffXd(0.7)) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: mm.BsplineBasis(4, 3),
        lambda: mm.BsplineBasis(2, [0.0, 1.0, 2.0]),
        lambda: mm.BsplineBasis(1, [1.0, 0.0]),
        lambda: mm.BsplineBasis(0, []),
        lambda: mm.BsplineBasis(2, 2, initial_parameter_value=1.0, final_parameter_value=0.0),
        lambda: mm.BsplineBasis(2, 4).FindContainingInterval(1.5),
        lambda: mm.BsplineBasis(2, 4).EvaluateCurve([[0.0]], 0.5),
        lambda: mm.BsplineBasis(2, 4).ComputeActiveBasisFunctionIndices([0.5, 0.1]),
        lambda: mm.BsplineBasis().FindContainingInterval(0.0),
    ],
)
def test_splines_without_sense_are_refused(call):
    with pytest.raises(ValueError, match=r"BsplineBasis|ComputeActive"):
        call()


def test_mesh_interpolates_linear_functions_exactly():
    mesh = mm.BarycentricMesh([{0.0, 1.0, 2.5}, {3.0}, {-1.0, 0.5}])
    assert (mesh.get_input_size(), mesh.get_num_mesh_points(), mesh.get_num_interpolants()) == (3, 6, 3)
    assert mesh.get_mesh_point(4).tolist() == [1.0, 3.0, 0.5] and mesh.get_all_mesh_points().shape == (3, 6)
    assert mesh.get_input_grid() == [{0.0, 1.0, 2.5}, {3.0}, {-1.0, 0.5}]
    values = mesh.MeshValuesFrom(lambda x: [2.0 * x[0] - 3.0 * x[2] + 1.0, x[1]])
    for x in np.random.default_rng(2).uniform([0.0, 3.0, -1.0], [2.5, 3.0, 0.5], size=(20, 3)):
        indices, weights = mesh.EvalBarycentricWeights(x)
        assert len(indices) == len(weights) == 3
        assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(mesh.Eval(values, x), [2 * x[0] - 3 * x[2] + 1, 3.0], rtol=0, atol=1e-13)
    assert mesh.Eval(values, [9.0, 0.0, -7.0]).tolist() == mesh.Eval(values, [2.5, 3.0, -1.0]).tolist()


def test_meshes_without_sense_are_refused():
    mesh = mm.BarycentricMesh([{0.0, 1.0}])
    for call in (
        lambda: mm.BarycentricMesh([]),
        lambda: mm.BarycentricMesh([set()]),
        lambda: mesh.EvalBarycentricWeights([1.0, 2.0]),
        lambda: mesh.Eval(np.ones((1, 3)), [0.5]),
    ):
        with pytest.raises(ValueError, match="BarycentricMesh"):
            call()
    with pytest.raises(IndexError, match="no point 2: there are 2"):
        mesh.get_mesh_point(2)
