"""Contact, joint limits, constraints and drives in discrete steps, against pydrake.

Spheres, corners and rims touch at one point in both packages; pydrake has one of faces and edges, too, where we have
several, so that these are left to tests/physics.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Fill, Scene, add_free_body, add_ground, contact_library, material
from proximity_shapes import write_obj

pytest.importorskip("pydrake", reason="pydrake is the reference (extra `reference`)")

pytestmark = pytest.mark.reference

H = 5e-3
OURS, THEIRS = contact_library("ours"), contact_library("theirs")
# TAMSI in pydrake ends its iterations at 1e-6 m/s; it knows neither constraints nor drives, and has soft limits.
CONVEX = ("kSap", "kSimilar", "kLagged")


def run_both(
    fill: Fill, start: Any, approximation: str, steps: int = 100, prepare: Any = None, tolerance: float = 1e-8
) -> tuple[Scene, Scene]:
    ours, theirs = (Scene(lib, H, fill, approximation) for lib in (OURS, THEIRS))
    for scene in (ours, theirs):
        if prepare is not None:
            prepare(scene)
    start = np.asarray(start, float)
    np.testing.assert_allclose(ours.run(steps, start), theirs.run(steps, start), rtol=0.0, atol=tolerance)
    return ours, theirs


def compare_forces(ours: Scene, theirs: Scene, tolerance: float = 1e-6) -> None:
    """Compares all ports with forces."""
    for scene_port in ("get_net_actuation_output_port", "get_generalized_acceleration_output_port"):
        values = [getattr(scene.plant, scene_port)().Eval(scene.context) for scene in (ours, theirs)]
        np.testing.assert_allclose(*values, atol=tolerance)
    values = []
    for scene in (ours, theirs):
        forces = scene.plant.get_reaction_forces_output_port().Eval(scene.context)
        instance = scene.lib.default_model_instance()
        tau = scene.plant.get_generalized_contact_forces_output_port(instance).Eval(scene.context)
        values.append(np.concatenate([*(F.get_coeffs() for F in forces), tau]))
    np.testing.assert_allclose(*values, atol=tolerance)
    assert len(ours.contacts()) == len(theirs.contacts())
    for mine, other in zip(ours.contacts(), theirs.contacts()):
        assert int(mine.bodyA_index()) == int(other.bodyA_index())
        assert int(mine.bodyB_index()) == int(other.bodyB_index())
        np.testing.assert_allclose(mine.contact_force(), other.contact_force(), atol=tolerance)
        np.testing.assert_allclose(mine.contact_point(), other.contact_point(), atol=1e-8)
        pair, other_pair = mine.point_pair(), other.point_pair()
        np.testing.assert_allclose([pair.p_WCa, pair.p_WCb], [other_pair.p_WCa, other_pair.p_WCb], atol=1e-8)
        speeds = [[info.separation_speed(), info.slip_speed()] for info in (mine, other)]
        np.testing.assert_allclose(*speeds, atol=1e-7)


# ---------------------------------------------------------------------- spheres


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("is_default", [True, False])
def test_sphere_bounces_slides_and_rolls(approximation: str, is_default: bool) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        own = {} if is_default else {"point_stiffness": 1e4, "dissipation": 3.0, "friction": 0.3}
        grounds = {} if is_default else {"point_stiffness": 3e4, "dissipation": 1.0, "relaxation_time": 0.02}
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib, **own), mass=2.0)
        add_ground(lib, plant, material(lib, **grounds), -0.5, lib.Box(10.0, 10.0, 1.0))

    start = [1, 0, 0, 0, 0, 0, 0.12, 0, 3, 0, 1, 0.5, -0.2]
    is_tamsi = approximation == "kTamsi"
    ours, theirs = run_both(fill, start, approximation, tolerance=3e-6 if is_tamsi else 1e-7)
    assert len(ours.contacts()) == 1
    compare_forces(ours, theirs, 1e-2 if is_tamsi else 1e-6)


def two_spheres(lib: SimpleNamespace, plant: Any) -> None:
    for i in range(2):
        properties = material(lib, 0.3 + 0.2 * i, point_stiffness=1e4 * (1 + i), dissipation=0.5 * i)
        add_free_body(lib, plant, f"ball{i}", lib.Sphere(0.1), properties, mass=1.0 + i)
    add_ground(lib, plant, material(lib))
    balls = (plant.GetBodyByName(f"ball{i}") for i in range(2))
    plant.AddDistanceConstraint(*(x for ball in balls for x in (ball, [0.0, 0.0, 0.1])), 0.35)


@pytest.mark.parametrize("approximation", CONVEX)
def test_two_spheres_on_a_rod_tumble(approximation: str) -> None:
    start = [1, 0, 0, 0, 0, 0, 0.12, 1, 0, 0, 0, 0.25, 0, 0.13, 0, 0, 1, 0.5] + [0] * 8
    ours, theirs = run_both(two_spheres, start, approximation, tolerance=2e-6)
    compare_forces(ours, theirs)


# Where both packages know the deepest point in closed form, and there is one. pydrake iterates for ellipsoids, for
# hulls but on a half space, and for curved shapes on a box: its normals are then wrong by up to a hundredth.
ONE_POINT = [
    *((shape, "half space") for shape in ("box", "capsule", "cylinder", "hull")),
    *((shape, "sphere") for shape in ("box", "capsule", "cylinder")),
    ("box", "box"),
]


def shape_of(lib: SimpleNamespace, name: str, folder: Path) -> Any:
    if name == "hull":
        path = folder / "hull.obj"
        return lib.Convex(str(path if path.exists() else write_obj(rotated_cube(), path)))
    shapes = {
        "box": lambda: lib.Box(0.1, 0.2, 0.3),
        "capsule": lambda: lib.Capsule(0.07, 0.2),
        "cylinder": lambda: lib.Cylinder(0.08, 0.2),
    }
    return shapes[name]()


def rotated_cube() -> Any:
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.07, 0.07) for z in (-0.05, 0.05)])
    return corners @ OURS.RotationMatrix(OURS.RollPitchYaw(0.1, 0.2, 0.3)).matrix().T


def lowest(name: str, R_WB: Any) -> float:
    """Height of the middle of a body that touches the ground at z = 0 with this orientation."""
    down = np.abs(R_WB[2])
    if name == "box":
        return float(down @ [0.05, 0.1, 0.15])
    if name == "hull":
        return float(-(rotated_cube() @ R_WB[2]).min())
    return float(0.07 + 0.1 * down[2] if name == "capsule" else 0.08 * math.hypot(*down[:2]) + 0.1 * down[2])


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize(("name", "ground"), ONE_POINT)
@pytest.mark.parametrize("is_single", [True, False])
def test_a_body_that_lands_on_one_point_carries_all_of_its_stiffness_there(
    is_single: bool, name: str, ground: str, approximation: str, tmp_path: Path
) -> None:
    grounds = {"half space": lambda lib: lib.HalfSpace(), "sphere": lambda lib: lib.Sphere(500.0)}

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib, 0.4, point_stiffness=1e5, dissipation=2.0)
        if is_single:
            properties.AddProperty("material", "single_contact_point", True)
        inertia = lib.SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3)
        add_free_body(lib, plant, name, shape_of(lib, name, tmp_path), properties, inertia=inertia)
        shape = grounds.get(ground, lambda lib: lib.Box(1.0, 1.0, 1.0))(lib)
        height = {"half space": 0.0, "sphere": -500.0}.get(ground, -0.5)
        add_ground(lib, plant, material(lib, 0.4, point_stiffness=3e5, dissipation=2.0), height, shape)

    R_WB = OURS.RotationMatrix(OURS.RollPitchYaw(0.5, 0.4, 0.3))
    height = lowest(name, R_WB.matrix()) - 0.001
    start = [*R_WB.ToQuaternion().wxyz(), 0.0, 0.0, height, 0.3, 0.2, 0.1, 0.5, 0.2, -0.3]
    tolerance = 1e-5 if approximation == "kTamsi" else 1e-7
    ours, theirs = run_both(fill, start, approximation, steps=2, tolerance=tolerance)
    if approximation != "kTamsi":
        assert len(ours.contacts()) == 1
        compare_forces(ours, theirs, 1e-4)


# ---------------------------------------------------------------------- joints


def add_link(lib: SimpleNamespace, plant: Any, name: str, length: float) -> Any:
    inertia = lib.SpatialInertia.SolidBoxWithMass(2.0 * length, 0.1, 0.12, length)
    return plant.AddRigidBody(name, inertia)


def offset(lib: SimpleNamespace, plant: Any, body: Any, p: list[float]) -> Any:
    name = f"frame{plant.num_frames()}"
    return plant.AddFrame(lib.FixedOffsetFrame(name, body.body_frame(), lib.RigidTransform(p)))


def hinge(lib: SimpleNamespace, plant: Any, name: str, P: Any, p_P: Any, B: Any, p_B: Any, *limits: float) -> Any:
    frames = offset(lib, plant, P, p_P), offset(lib, plant, B, p_B)
    return plant.AddJoint(lib.RevoluteJoint(name, *frames, [0, 1, 0], *limits))


def double_pendulum(lib: SimpleNamespace, plant: Any, effort_limit: float | None = None) -> None:
    """With limits at both joints, which gravity drives it to, and a drive if an effort limit is given."""
    upper, lower = add_link(lib, plant, "upper", 0.4), add_link(lib, plant, "lower", 0.3)
    shoulder = hinge(lib, plant, "shoulder", plant.world_body(), [0, 0, 0], upper, [0, 0, 0], -0.5, 0.5, 0.1)
    hinge(lib, plant, "elbow", upper, [0, 0, -0.2], lower, [0, 0, 0.15], -0.3, 0.4)
    if effort_limit is not None:
        motor = plant.AddJointActuator("motor", shoulder, effort_limit)
        motor.set_controller_gains(lib.PdControllerGains(p=50.0, d=2.0))
    plant.mutable_gravity_field().set_gravity_vector([6.0, 0.0, -7.0])


@pytest.mark.parametrize("approximation", CONVEX)
def test_joint_limits_stop(approximation: str) -> None:
    compare_forces(*run_both(double_pendulum, [0.0, 0.1, 1.0, -2.0], approximation))


@pytest.mark.parametrize("effort_limit", [math.inf, 3.0])
def test_drives_push_against_limits(effort_limit: float) -> None:
    def fix(scene: Scene) -> None:
        instance = scene.lib.default_model_instance()
        scene.plant.get_desired_state_input_port(instance).FixValue(scene.context, [1.5, 0.0])
        scene.plant.get_actuation_input_port(instance).FixValue(scene.context, [0.2])

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        double_pendulum(lib, plant, effort_limit)

    compare_forces(*run_both(fill, [0.0, 0.1, 1.0, -2.0], "kLagged", prepare=fix))


@pytest.mark.parametrize("effort_limit", [math.inf, 40.0])
def test_drive_presses_a_sphere_on_the_ground(effort_limit: float) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        body = plant.AddRigidBody("pusher", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        slide = lib.PrismaticJoint("slide", plant.world_frame(), body.body_frame(), [0, 0, 1], -1.0, 1.0)
        motor = plant.AddJointActuator("motor", plant.AddJoint(slide), effort_limit)
        motor.set_controller_gains(lib.PdControllerGains(p=2000.0, d=50.0))
        properties = material(lib, point_stiffness=1e5, dissipation=1.0)
        plant.RegisterCollisionGeometry(body, lib.RigidTransform(), lib.Sphere(0.1), "ball", properties)
        add_ground(lib, plant, material(lib))

    def fix(scene: Scene) -> None:
        port = scene.plant.get_desired_state_input_port(scene.lib.default_model_instance())
        port.FixValue(scene.context, [0.0, 0.0])

    ours, theirs = run_both(fill, [0.15, 0.0], "kLagged", prepare=fix, tolerance=1e-6)
    assert ours.contacts()[0].contact_force()[2] < -30.0  # on the ground
    compare_forces(ours, theirs)


@pytest.mark.parametrize("approximation", CONVEX)
@pytest.mark.parametrize("in_the_way", ["limit", "ground", "both"])
@pytest.mark.parametrize(
    ("p", "d", "time_step"), [(1e8, 1e4, 0.02), (1e8, 1e4, 0.05), (1e10, 0.0, 1e-3), (0.0, 1e6, 0.02)]
)
def test_stiff_drives_are_as_soft(p: float, d: float, time_step: float, in_the_way: str, approximation: str) -> None:
    """Drives that the step does not resolve, so that both packages soften them, with all that they may be given."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        body = plant.AddRigidBody("pusher", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        lower = -math.inf if in_the_way == "ground" else -0.02
        slide = lib.PrismaticJoint("slide", plant.world_frame(), body.body_frame(), [0, 0, 1], lower, math.inf)
        motor = plant.AddJointActuator("motor", plant.AddJoint(slide))
        motor.set_controller_gains(lib.PdControllerGains(p=p, d=d))
        if in_the_way != "limit":
            properties = material(lib, point_stiffness=1e6, dissipation=1.0)
            plant.RegisterCollisionGeometry(body, lib.RigidTransform(), lib.Sphere(0.1), "ball", properties)
            add_ground(lib, plant, properties, -1.1, lib.Box(2.0, 2.0, 2.0))

    states = []
    for lib in (OURS, THEIRS):
        scene, instance = Scene(lib, time_step, fill, approximation), lib.default_model_instance()
        scene.plant.get_desired_state_input_port(instance).FixValue(scene.context, [-0.1, -0.3])
        scene.plant.get_actuation_input_port(instance).FixValue(scene.context, [5.0])
        # Already in the way, as a drive that touches nothing is softened by pydrake only.
        states.append(scene.run(30, [-0.03, 0.0]))
    np.testing.assert_allclose(*states, rtol=1e-6, atol=1e-7)
    assert np.abs(states[0][:, 0]).max() < 0.5


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize("approximation", ["kSap", "kLagged"])
def test_arm_touches_the_ground_also_with_a_locked_joint(approximation: str, is_locked: bool) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        double_pendulum(lib, plant)
        X_BG = lib.RigidTransform([0.0, 0.0, -0.15])
        lower = plant.GetBodyByName("lower")
        plant.RegisterCollisionGeometry(lower, X_BG, lib.Sphere(0.1), "foot", material(lib))
        add_ground(lib, plant, material(lib), -0.55)

    def lock(scene: Scene) -> None:
        if is_locked:
            scene.plant.GetJointByName("shoulder").Lock(scene.context)

    ours, theirs = run_both(fill, [0.3, 0.1, 0.0, 0.0], approximation, prepare=lock)
    compare_forces(ours, theirs)


# ---------------------------------------------------------------------- constraints


def constrained(kind: str) -> Fill:
    """Two pendulums side by side, and one constraint."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        A, B, world = add_link(lib, plant, "A", 0.4), add_link(lib, plant, "B", 0.3), plant.world_body()
        limits = [-0.1, 0.1] if "limits" in kind else []
        first = hinge(lib, plant, "first", world, [0, 0, 0], A, [0, 0, 0.2], *limits)
        second = hinge(lib, plant, "second", world, [0.5, 0, 0], B, [0, 0, 0.15], *limits)
        if kind == "coupler":
            plant.AddCouplerConstraint(first, second, -1.5, 0.1)
        elif kind == "rod":
            plant.AddDistanceConstraint(A, [0, 0, -0.2], B, [0, 0, -0.15], 0.45)
        elif kind == "spring":
            plant.AddDistanceConstraint(A, [0, 0, -0.2], B, [0, 0, -0.15], 0.45, 500.0, 10.0)
        else:
            C = add_link(lib, plant, "C", 0.5)
            if "four-bar" in kind:
                hinge(lib, plant, "third", A, [0, 0, -0.2], C, [-0.25, 0, 0], *(limits and [-2.0, -0.7]))
                plant.AddBallConstraint(C, [0.25, 0, 0], B, [0, 0, -0.15])
            else:
                X_AP = lib.RigidTransform(lib.RollPitchYaw(0.1, 0.2, 0.3), [0.0, 0.1, -0.2])
                plant.AddWeldConstraint(A, X_AP, C, lib.RigidTransform([0.25, 0.0, 0.0]))

    return fill


def test_a_loop_that_limits_do_not_let_close_stays_open_as_far() -> None:
    """Both are held by springs as stiff as the time step lets them be: neither wins."""
    ours, _ = run_both(constrained("four-bar against limits"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "kSap")
    B, C = (ours.plant.GetBodyByName(name).EvalPoseInWorld(ours.context) for name in "BC")
    assert np.linalg.norm(B @ [0, 0, -0.15] - C @ [0.25, 0, 0]) > 0.02


@pytest.mark.parametrize("kind", ["coupler", "rod", "spring", "four-bar", "weld"])
def test_constraints_pull_together_from_afar(kind: str) -> None:
    start = {"four-bar": [0.3, -0.1, 0.2, 0.0, 1.0, 0.0], "weld": [0.3, -0.1, 1, 0, 0, 0, 0, 0.1, -0.2, 0, 1] + [0] * 6}
    compare_forces(*run_both(constrained(kind), start.get(kind, [0.3, -0.1, 0.0, 1.0]), "kSap"))


def test_constraints_that_are_switched_off_or_removed_do_nothing() -> None:
    def remove(lib: SimpleNamespace, plant: Any) -> None:
        constrained("rod")(lib, plant)
        plant.RemoveConstraint(plant.GetConstraintIds()[0])

    def switch_off(scene: Scene) -> None:
        scene.plant.SetConstraintActiveStatus(scene.context, scene.plant.GetConstraintIds()[0], False)

    start = [0.3, -0.1, 0.0, 1.0]
    off, _ = run_both(constrained("rod"), start, "kLagged", prepare=switch_off)
    removed, _ = run_both(remove, start, "kLagged")
    np.testing.assert_array_equal(off.state, removed.state)
