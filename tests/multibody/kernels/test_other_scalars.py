"""Kernels interpreted on AutoDiffXd and on Expression: one source for all scalars."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import (
    BALL_QUATERNION,
    BALL_RPY,
    PLANAR,
    PRISMATIC,
    QUATERNION_FLOATING,
    REVOLUTE,
    RPY_FLOATING,
    SCREW,
    UNIVERSAL,
    Tree,
    random_tree,
)

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff

STEP = 1e-100  # of the complex step: no truncation error is left, no digit is lost
TOLERANCE = 1e-12  # rounding in sums of some hundred terms of order 1 to 100


def import_symbolic():
    return pytest.importorskip(
        "merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError
    )


def object_tree(tree: Tree, q: np.ndarray) -> Tree:
    """The tree with its kinematics computed on objects."""
    objects = tree.astype(object)
    return objects.update(q=q)


def quantities(tree: Tree) -> np.ndarray:
    """Mass matrix and gravity forces in one vector, shape [nv nv + nv]."""
    return np.concatenate([tree.mass_matrix().ravel(), tree.gravity_forces()])


def complex_step_jacobian(tree: Tree) -> np.ndarray:
    columns = []
    for i in range(tree.num_q):
        q = tree.q.astype(complex)
        q[i] += STEP * 1j
        columns.append(quantities(tree.astype(complex).update(q=q)).imag / STEP)
    return np.array(columns).T


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_autodiff_gives_the_derivatives_of_the_complex_step(seed):
    tree = random_tree(seed, num_bodies=4)
    objects = object_tree(tree, InitializeAutoDiff(tree.q).ravel())
    result = quantities(objects)

    np.testing.assert_allclose(ExtractValue(result).ravel(), quantities(tree), rtol=0, atol=TOLERANCE)
    expected = complex_step_jacobian(tree)
    assert np.abs(expected).max() > 0.1  # there is something to compare
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(ExtractGradient(result) / scale, expected / scale, rtol=0, atol=TOLERANCE)


def test_autodiff_differentiates_forward_dynamics():
    tree = random_tree(5, num_bodies=3, kinds=(REVOLUTE, PRISMATIC))
    tau = np.random.default_rng(5).normal(size=tree.num_v)
    objects = object_tree(tree, InitializeAutoDiff(tree.q).ravel())
    _, vdot = objects.forward_dynamics(tau)

    columns = []
    for i in range(tree.num_q):
        q = tree.q.astype(complex)
        q[i] += STEP * 1j
        columns.append(tree.astype(complex).update(q=q).forward_dynamics(tau)[1].imag / STEP)
    expected = np.array(columns).T
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(ExtractGradient(vdot) / scale, expected / scale, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "kinds",
    [
        (REVOLUTE, PRISMATIC), (QUATERNION_FLOATING,), (SCREW,), (UNIVERSAL,), (PLANAR,), (BALL_RPY,), (RPY_FLOATING,),
        (BALL_QUATERNION,),
    ],
)
def test_expressions_evaluate_to_the_result_of_floats(kinds):
    symbolic = import_symbolic()
    tree = random_tree(7, num_bodies=2 if kinds[0] == REVOLUTE else 1, kinds=kinds)
    variables = symbolic.MakeVectorContinuousVariable(tree.num_q, "q")
    objects = object_tree(tree, variables)
    result = quantities(objects)
    assert all(isinstance(entry, (symbolic.Expression, float, int)) for entry in result)
    assert any(isinstance(entry, symbolic.Expression) for entry in result)

    for seed in (8, 9):
        q = np.random.default_rng(seed).normal(size=tree.num_q)
        tree.update(q=q)
        values = symbolic.Evaluate(result, dict(zip(variables, q))).ravel()
        np.testing.assert_allclose(values, quantities(tree), rtol=0, atol=TOLERANCE)


def test_derivatives_of_expressions_agree_with_autodiff():
    symbolic = import_symbolic()
    tree = random_tree(11, num_bodies=2, kinds=(REVOLUTE,))
    variables = symbolic.MakeVectorContinuousVariable(tree.num_q, "q")
    gravity = object_tree(tree, variables).gravity_forces()
    by_symbols = symbolic.Evaluate(symbolic.Jacobian(gravity, variables), dict(zip(variables, tree.q)))
    by_numbers = ExtractGradient(object_tree(tree, InitializeAutoDiff(tree.q).ravel()).gravity_forces())
    np.testing.assert_allclose(by_symbols, by_numbers, rtol=0, atol=TOLERANCE)


def test_constants_pass_through_kernels_without_derivatives():
    tree = random_tree(2, num_bodies=3)
    constants = np.array([AutoDiffXd(value) for value in tree.q], dtype=object)
    assert ExtractGradient(quantities(object_tree(tree, constants))).shape[1] == 0
