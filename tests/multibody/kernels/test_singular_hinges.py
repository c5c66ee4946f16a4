"""Which hinges forward dynamics refuses, and which it must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_trees import Tree, make_topology, random_parameters, random_tree

from merganser.multibody.kernels.layout import PRISMATIC, QUATERNION_FLOATING, REVOLUTE, WELD


def chain(*mobilizers: int, coaxial: bool = True) -> Tree:
    """A chain of bodies; coaxial: all frames coincide and all axes are the same tilted one."""
    topology = make_topology(list(range(-1, len(mobilizers))), [WELD, *mobilizers])
    parameters = random_parameters(np.random.default_rng(3), topology)
    if coaxial:
        parameters["R_PF"] = parameters["R_MB"] = np.eye(3)
        parameters["p_PoFo_P"] = parameters["p_MoBo_M"] = 0.0
        parameters["axis_F"] = parameters["axis_F"][1]
    parameters["reflected_inertia"] = 0.0
    rng = np.random.default_rng(4)
    q, v = rng.normal(size=topology["num_q"].sum()), rng.normal(size=topology["num_v"].sum())
    return Tree(topology, parameters, q, v)


def status_of(tree: Tree, scalar: Any = float, **kwargs: Any) -> int:
    tree = tree.astype(scalar).update()
    return tree.forward_dynamics(np.ones(tree.num_v), **kwargs)[0]


@pytest.mark.parametrize("scalar", [float, complex, object])
@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC, QUATERNION_FLOATING])
def test_massless_last_body_is_refused(kind: int, scalar: Any) -> None:
    tree = chain(REVOLUTE, kind)
    tree.parameters["mass"][2] = 0.0
    assert status_of(tree, scalar) == 2


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
@pytest.mark.parametrize("angle", [0.0, 0.1, 0.7, 2.0])
def test_a_massless_body_between_coaxial_hinges_is_refused_despite_rounding(
    kind: int, angle: float
) -> None:
    tree = chain(kind, kind, kind)
    tree.parameters["mass"][1] = 0.0
    tree.parameters["p_MoBo_M"][1:] = [0.3, 0.5, -0.2]  # far from the axis: large terms that cancel
    tree.parameters["p_PoFo_P"][2:] = [-0.3, -0.5, 0.2]
    tree.q[:] = angle
    assert status_of(tree) == 1


def test_point_mass_floating_free_is_refused_and_rigid_body_accepted() -> None:
    tree = chain(QUATERNION_FLOATING)
    assert status_of(tree) == 0
    c = tree.parameters["p_BoBcm_B"][1]
    tree.parameters["G_BBo_B"][1] = c @ c * np.eye(3) - np.outer(c, c)
    assert status_of(tree) == 1


@pytest.mark.parametrize("field", ["mass", "p_BoBcm_B", "G_BBo_B"])
def test_nan_in_mass_properties_is_reported(field: str) -> None:
    tree = chain(REVOLUTE, REVOLUTE, coaxial=False)
    tree.parameters[field][2] = np.nan
    assert status_of(tree) == 2


def test_nan_in_q_is_reported() -> None:
    tree = chain(REVOLUTE, REVOLUTE, coaxial=False)
    tree.q[1] = np.nan
    assert status_of(tree) > 0


def test_reflected_inertia_and_extra_diagonal_make_a_massless_body_regular() -> None:
    tree = chain(REVOLUTE, REVOLUTE)
    tree.parameters["mass"][2] = 0.0
    assert status_of(tree, extra=[0.0, 1e-6]) == 0
    tree.parameters["reflected_inertia"][2] = 1e-6
    assert status_of(tree) == 0


def test_light_rotor_that_carries_a_heavy_coaxial_body_is_accepted_and_exact() -> None:
    """Masses 1e-6 apart: ten digits remain of sixteen."""
    tree = chain(REVOLUTE, REVOLUTE)
    tree.parameters["mass"][1:] = 1e-6, 10.0
    tree.update()
    tau = np.array([1e-6, 2e-6])
    status, vdot = tree.forward_dynamics(tau)
    assert status == 0
    rhs = tau - tree.inverse_dynamics(np.zeros(2))
    np.testing.assert_allclose(vdot, np.linalg.solve(tree.mass_matrix(), rhs), rtol=1e-7)


def test_massless_body_inside_a_chain_that_moves_other_bodies_is_accepted() -> None:
    tree = chain(REVOLUTE, REVOLUTE, REVOLUTE, coaxial=False)
    tree.parameters["mass"][1] = 0.0
    assert status_of(tree) == 0


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_decision_does_not_depend_on_units_of_length(size: float) -> None:
    tree = chain(REVOLUTE, PRISMATIC, REVOLUTE, coaxial=False)
    for name in ("p_PoFo_P", "p_MoBo_M", "p_BoBcm_B"):
        tree.parameters[name] *= size
    tree.parameters["G_BBo_B"] *= size * size
    assert status_of(tree) == 0


def test_scale_of_a_pivot_is_measured_on_the_composite_body() -> None:
    """The trace that forward dynamics carries is that of the composite inertia of the mass matrix."""
    tree = random_tree(5, 15)
    tree.forward_dynamics(np.zeros(tree.num_v))
    trace_C = tree.scratch["trace_C"].copy()
    tree.mass_matrix()
    expected = np.trace(tree.scratch["I_C_W"], axis1=1, axis2=2)
    np.testing.assert_allclose(trace_C[1:], expected[1:], rtol=1e-12)
