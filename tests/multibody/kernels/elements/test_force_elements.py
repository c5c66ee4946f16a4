"""Force elements on random trees: forces are slopes of potentials, and powers balance."""

from __future__ import annotations

import numpy as np
import pytest
from random_elements import ALL_KINDS_OF_ELEMENT, Elements
from random_trees import Tree, random_tree

from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody import kernels
from merganser.multibody.kernels.layout import BUSHING, DOOR_HINGE, JOINT_SPRING, SPRING_DAMPER

TREES = [(31, 5), (32, 9), (33, 14)]
NAMES = {JOINT_SPRING: "joint spring", SPRING_DAMPER: "spring damper", DOOR_HINGE: "door hinge", BUSHING: "bushing"}


@pytest.fixture(params=TREES, ids=lambda size: f"seed{size[0]}")
def tree(request: pytest.FixtureRequest) -> Tree:
    return random_tree(*request.param)


@pytest.fixture(params=ALL_KINDS_OF_ELEMENT, ids=NAMES.get)
def elements(request: pytest.FixtureRequest, tree: Tree) -> Elements:
    return Elements.random(tree, 3, (request.param,))


def moved(elements: Elements, qdot: np.ndarray, vdot: np.ndarray) -> Elements:
    """The elements a complex step along a motion."""
    tree = elements.tree
    return elements.on(tree.astype(complex).update(tree.q + 1e-100j * qdot, tree.v + 1e-100j * vdot))


def test_potential_energy_decreases_by_the_conservative_power(elements: Elements) -> None:
    tree = elements.tree
    ahead = moved(elements, tree.qdot(), np.zeros(tree.num_v))
    _, conservative, _ = elements.energies()
    assert conservative == pytest.approx(-ahead.energies()[0].imag / 1e-100, rel=1e-12, abs=1e-12)


def test_generalized_force_without_damping_is_minus_the_slope_of_the_potential(elements: Elements) -> None:
    """tau_k = -dV along the motion qdot = N e_k."""
    tree = elements.tree
    elements.constants["damping"] = elements.constants["dynamic_friction"] = elements.constants["static_friction"] = 0.0
    tau = elements.generalized_forces()
    for k, e_k in enumerate(np.eye(tree.num_v)):
        tree.v[:], v = e_k, tree.v.copy()
        qdot = tree.qdot()
        tree.v[:] = v
        slope = moved(elements, qdot, np.zeros(tree.num_v)).energies()[0].imag / 1e-100
        assert tau[k] == pytest.approx(-slope, rel=1e-11, abs=1e-11)


def test_power_of_the_forces_is_conservative_and_other_power(elements: Elements) -> None:
    tree = elements.tree
    _, conservative, other = elements.energies()
    power = elements.generalized_forces() @ tree.v
    assert power == pytest.approx(conservative + other, rel=1e-11, abs=1e-11)
    assert other < 0.0 or (other == 0.0 and elements.elements["kind"][0] == JOINT_SPRING)


def test_forces_between_bodies_cancel(tree: Tree) -> None:
    """Force and moment about the origin of the world."""
    tau, F = Elements.random(tree, 4, (SPRING_DAMPER, BUSHING)).forces()
    np.testing.assert_array_equal(tau, 0.0)
    moments = F[:, :3] + np.cross(tree.position["p_WoBo_W"], F[:, 3:])
    np.testing.assert_allclose(F[:, 3:].sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(moments.sum(axis=0), 0.0, atol=1e-12)


def test_forces_are_added_to_those_given(tree: Tree) -> None:
    elements = Elements.random(tree, 5)
    tau, F = elements.forces()
    tau_sum, F_sum = elements.forces(2.0, 3.0)
    np.testing.assert_allclose(tau_sum, tau + 2.0, rtol=1e-14)
    np.testing.assert_allclose(F_sum, F + 3.0, atol=1e-13)


def test_a_bushing_of_unequal_stiffness_has_the_power_of_its_forces() -> None:
    """It has no potential, but f at Bo does the work f . rdot, as do the forces at the origins of the bodies."""
    tree = random_tree(34, 6)
    elements = Elements.random(tree, 6, (BUSHING,), count=1)
    elements.constants["stiffness"][0, 3:] = [1.0, 2.0, 5.0]
    element, F = elements.elements[0], elements.bushing_forces()
    _, whole = elements.forces()
    np.testing.assert_array_equal(whole[[element["mobod_0"], element["mobod_1"]]], F)
    V = tree.velocity["V_WB_W"][[element["mobod_0"], element["mobod_1"]]]
    assert (F * V).sum() == pytest.approx(elements.generalized_forces() @ tree.v, rel=1e-11)


def test_bushing_is_smooth_through_all_branches_of_the_halfway_rotation() -> None:
    """Rotations by up to half a turn about any axis: four formulas for one quaternion."""
    tree = random_tree(35, 1)
    elements = Elements.random(tree, 7, (BUSHING,), count=1)
    elements.elements["mobod_0"], elements.elements["mobod_1"] = 0, 1
    tree.v[:] = 0.0
    elements.constants["stiffness"][0, :3] = 0.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        tree.q[:4] = rng.normal(size=4)
        tree.update()
        X_WA, X_BC = elements.constants["X_L0A"][0], elements.constants["X_L1C"][0]
        R_WC, R_WA = tree.position["R_WB"][1] @ X_BC[:, :3], X_WA[:, :3]
        angle, axis_A = angle_and_axis(R_WA.T @ R_WC)
        if abs((R_WA.T @ R_WC)[2, 0]) > 0.999:
            continue  # a quarter turn of pitch
        elements.constants["stiffness"][0, 3:] = [1.0, 2.0, 5.0]
        r_W = tree.position["p_WoBo_W"][1] + tree.position["R_WB"][1] @ X_BC[:, 3] - X_WA[:, 3]
        R_WB = R_WA @ rotation(0.5 * angle, axis_A)
        f_W = R_WB @ (-elements.constants["stiffness"][0, 3:] * (R_WB.T @ r_W))
        np.testing.assert_allclose(elements.bushing_forces()[1, 3:], f_W, atol=1e-9)


def angle_and_axis(R: np.ndarray) -> tuple[float, np.ndarray]:
    from scipy.spatial.transform import Rotation

    vector = Rotation.from_matrix(R).as_rotvec()
    return float(np.linalg.norm(vector)), vector / np.linalg.norm(vector)


def rotation(angle: float, axis: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(angle * axis).as_matrix()


@pytest.mark.parametrize("seed", [1, 2])
def test_autodiff_gives_the_derivatives_of_the_complex_step(seed: int) -> None:
    tree = random_tree(seed, 4)
    elements = Elements.random(tree, seed)
    objects = tree.astype(object)
    objects.update(InitializeAutoDiff(tree.q).ravel())
    result = np.concatenate([elements.on(objects).energies()[:1], elements.on(objects).forces()[1].ravel()])
    floats = np.concatenate([elements.energies()[:1], elements.forces()[1].ravel()])
    np.testing.assert_allclose(ExtractValue(result).ravel(), floats, rtol=0, atol=1e-12)
    columns = []
    for e_i in np.eye(tree.num_q):
        ahead = moved(elements, e_i, np.zeros(tree.num_v))
        columns.append(np.concatenate([ahead.energies()[:1], ahead.forces()[1].ravel()]).imag / 1e-100)
    expected = np.array(columns).T
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(ExtractGradient(result), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_an_element_without_force_is_reported_by_its_number() -> None:
    tree = random_tree(36, 5)
    elements = Elements.random(tree, 8, (JOINT_SPRING, SPRING_DAMPER), count=1)
    elements.elements["mobod_1"] = elements.elements["mobod_0"]
    elements.constants["X_L1C"] = elements.constants["X_L0A"]
    arguments = elements.elements, elements.constants, 0, 2, tree.q, tree.v, tree.position, tree.velocity
    tau, F = np.zeros(tree.num_v), tree.zero_force.copy()
    assert kernels.force_elements(*arguments, tau, F, tau, F) == 2
    assert kernels.element_energies(*arguments, np.zeros(3)) == 2


def test_hinge_friction_does_not_overflow_when_differentiated() -> None:
    """At a thousand times the threshold: tanh of complex numbers is made of exponentials."""
    tree = random_tree(37, 4).astype(complex).update()
    elements = Elements.random(random_tree(37, 4), 9, (DOOR_HINGE,)).on(tree)
    elements.constants["motion_threshold"] = 1e-6
    tree.v[:] += 1e-100j
    assert np.isfinite(elements.forces()[0]).all()
