"""Faces that rest on several points: what these carry together, whatever their number."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Scene, add_ground, contact_library, free_state, material
from numpy.typing import NDArray

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff

Array = NDArray[np.float64]
LIB = contact_library("ours")
G, MASS = 9.81, 2.0
K = 4e4  # of each geometry; of a pair half of it
DEPTH = MASS * G / (0.5 * K)
UPRIGHT, LYING = (1.0, 0.0, 0.0, 0.0), (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
# Shape, how it stands, height of its middle, number of points.
STANDING = {
    "box": (LIB.Box(0.1, 0.2, 0.3), UPRIGHT, 0.15, 4),
    "upright cylinder": (LIB.Cylinder(0.1, 0.2), UPRIGHT, 0.1, 8),
    "lying cylinder": (LIB.Cylinder(0.1, 0.2), LYING, 0.1, 2),
    "lying capsule": (LIB.Capsule(0.1, 0.2), LYING, 0.1, 2),
    "sphere": (LIB.Sphere(0.1), UPRIGHT, 0.1, 1),
}


def make_scene(
    shape: Any, time_step: float = 1e-3, approximation: str = "kLagged", *, is_single: bool = False
) -> Scene:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib, 0.5, 0.01, point_stiffness=K, dissipation=2.0)
        if is_single:
            properties.AddProperty("material", "single_contact_point", True)
        body = plant.AddRigidBody("body", lib.SpatialInertia.SolidSphereWithMass(MASS, 0.1))
        plant.RegisterCollisionGeometry(body, lib.RigidTransform(), shape, "body", properties)
        add_ground(lib, plant, material(lib, 0.5, 0.01, point_stiffness=K, dissipation=2.0))

    return Scene(LIB, time_step, fill, approximation)


def upward_force(scene: Scene) -> float:
    return sum(
        float(info.contact_force()[2]) * (1.0 if int(info.bodyB_index()) == 1 else -1.0) for info in scene.contacts()
    )


@pytest.mark.parametrize("approximation", [*APPROXIMATIONS, "continuous"])
@pytest.mark.parametrize("name", STANDING)
def test_a_body_at_rest_sinks_by_weight_over_stiffness_for_any_number_of_points(
    name: str, approximation: str
) -> None:
    """SAP is so soft here that the bound of its near-rigid contacts does not show."""
    shape, quaternion, height, num_points = STANDING[name]
    is_continuous = approximation == "continuous"
    scene = make_scene(shape, 0.0 if is_continuous else 1e-3, "kLagged" if is_continuous else approximation)
    start = free_state([0.0, 0.0, height - 0.9 * DEPTH])
    start[:4] = quaternion
    scene.plant.SetPositionsAndVelocities(scene.context, start)
    scene.simulator.AdvanceTo(2.0)
    assert len(scene.contacts()) == num_points
    tolerance = 2e-3 if is_continuous else 1e-4  # the integrator's accuracy is 1e-3
    assert height - scene.state[6] == pytest.approx(DEPTH, rel=tolerance)
    assert upward_force(scene) == pytest.approx(MASS * G, rel=tolerance)
    tau = scene.plant.get_generalized_contact_forces_output_port(LIB.default_model_instance()).Eval(scene.context)
    np.testing.assert_allclose(tau, [0.0, 0.0, 0.0, 0.0, 0.0, MASS * G], atol=tolerance * MASS * G)


def forces_of_a_sweep(
    name: str, approximation: str, angles: Array, skew: float = 0.0, *, is_single: bool = False
) -> Array:
    """Upward forces on a body that leans about [cos skew, sin skew, 0], its lowest point as deep as at rest."""
    is_continuous = approximation == "continuous"
    time_step = 0.0 if is_continuous else 1e-3
    scene = make_scene(STANDING[name][0], time_step, "kLagged" if is_continuous else approximation, is_single=is_single)
    forces = []
    for angle in angles:
        R_WB = LIB.RotationMatrix(LIB.AngleAxis(angle, np.array([math.cos(skew), math.sin(skew), 0.0])))
        down = np.abs(R_WB.matrix()[2])
        if name == "box":
            height = down @ [0.05, 0.1, 0.15]
        else:
            height = 0.1 * math.hypot(down[0], down[1]) + 0.1 * down[2]
        state = free_state([0.0, 0.0, height - DEPTH])
        state[:4] = R_WB.ToQuaternion().wxyz()
        scene.run(0 if is_continuous else 1, state)
        forces.append(upward_force(scene))
    return np.array(forces)


@pytest.mark.parametrize("is_single", [False, True])
def test_force_of_a_box_over_a_tilt_sweep_is_that_of_its_stiffness_on_face_and_edge(is_single: bool) -> None:
    forces = forces_of_a_sweep("box", "continuous", np.array([0.0, 0.1]), is_single=is_single)
    np.testing.assert_allclose(forces, MASS * G, rtol=1e-6)


STEP = 1e-5  # [rad]
# All angles at which points of a face share in the force; those at which the far points have just left.
SWEEPS = [("continuous", 0.0, 0.06), *((name, 0.044, 0.047) for name in APPROXIMATIONS)]


@pytest.mark.parametrize("skew", [0.0, 0.5])
@pytest.mark.parametrize("name", ["box", "upright cylinder"])
@pytest.mark.parametrize(("approximation", "first", "last"), SWEEPS)
def test_force_over_a_tilt_sweep_has_no_jumps(
    approximation: str, first: float, last: float, name: str, skew: float
) -> None:
    """In a step of an angle no point comes deeper by more than the width of the face times the step."""
    forces = forces_of_a_sweep(name, approximation, np.arange(first, last, STEP), skew)
    width = 0.2 if name == "upright cylinder" else math.hypot(0.1, 0.2)
    assert np.ptp(forces) > 0.0
    assert np.abs(np.diff(forces)).max() < 0.5 * K * width * STEP


@pytest.mark.parametrize("approximation", [*APPROXIMATIONS, "continuous"])
def test_a_single_contact_point_is_in_the_middle_of_the_face(approximation: str) -> None:
    is_continuous = approximation == "continuous"
    time_step = 0.0 if is_continuous else 1e-3
    scene = make_scene(STANDING["box"][0], time_step, "kLagged" if is_continuous else approximation, is_single=True)
    scene.run(0 if is_continuous else 1, free_state([0.03, 0.04, 0.15 - DEPTH]))
    (info,) = scene.contacts()
    assert abs(info.contact_force()[2]) == pytest.approx(MASS * G, rel=1e-3)
    np.testing.assert_allclose(info.contact_point(), [0.03, 0.04, -0.5 * DEPTH], atol=1e-12)
    assert info.point_pair().depth == pytest.approx(DEPTH)


@pytest.mark.parametrize("depth", [0.0, 1e-17, 1e-15, -1e-15, 1e-12])
@pytest.mark.parametrize("name", STANDING)
def test_a_body_with_a_single_contact_point_that_exactly_touches_does_not_tip(name: str, depth: float) -> None:
    """The limit of the centre of pressure: the middle of the face or line that touches."""
    shape, quaternion, height, _ = STANDING[name]
    for approximation in APPROXIMATIONS:
        scene = make_scene(shape, 1e-3, approximation, is_single=True)
        start = free_state([0.03, 0.04, height - depth])
        start[:4] = quaternion
        scene.run(1, start)
        (info,) = scene.contacts()
        np.testing.assert_allclose(info.contact_point()[:2], [0.03, 0.04], atol=1e-12)
        np.testing.assert_allclose(scene.state[7:10], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["box", "upright cylinder", "lying cylinder", "lying capsule"])
def test_derivatives_of_a_contact_point_that_exactly_touches_are_finite(
    name: str,
) -> None:
    """A body that is pushed along the ground takes its contact point along."""
    shape, quaternion, height, _ = STANDING[name]
    scene = make_scene(shape, 1e-3, "kLagged", is_single=True)
    start = free_state([0.03, 0.04, height])
    start[:4] = quaternion
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant = diagram.GetSubsystemByName(scene.plant.get_name())
    root = diagram.CreateDefaultContext()
    context = plant.GetMyContextFromRoot(root)
    along = np.zeros((len(start), 2))
    along[4:6] = np.eye(2)  # x and y of the body
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(start, along).ravel())
    diagram.ExecuteForcedEvents(root)
    x_next = ExtractGradient(plant.GetPositionsAndVelocities(context))
    np.testing.assert_allclose(x_next, along, atol=1e-9)


def test_a_property_that_is_no_truth_value_is_refused_with_the_name_of_the_geometry() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib)
        properties.AddProperty("material", "single_contact_point", "yes")
        add_ground(lib, plant, properties)
        body = plant.AddRigidBody("ball", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.RegisterCollisionGeometry(body, lib.RigidTransform(), lib.Sphere(0.1), "ball", material(lib))

    scene = Scene(LIB, 1e-3, fill)
    with pytest.raises(RuntimeError, match=r"single_contact_point.*ground.*True or False, but is 'yes'"):
        scene.run(1)
