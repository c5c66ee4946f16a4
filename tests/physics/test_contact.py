"""Contact against closed forms of mechanics: sliding, sticking, rolling, bouncing, stacking, grasping."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import (
    APPROXIMATIONS,
    Fill,
    Scene,
    add_free_body,
    add_ground,
    contact_library,
    free_state,
    material,
)
from scipy.optimize import brentq

LIB = contact_library("ours")
G = 9.81
H = 1e-3
FRICTION = 0.4


def on_plane(shape: Any, angle: float = 0.0, friction: float = FRICTION, **properties: float) -> Fill:
    """One body on a half space that is inclined towards x."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "body", shape, material(lib, friction, **properties))
        add_ground(lib, plant, material(lib, friction, **properties))
        plant.mutable_gravity_field().set_gravity_vector([G * math.sin(angle), 0.0, -G * math.cos(angle)])

    return fill


def cube() -> Any:
    return LIB.Box(0.1, 0.1, 0.1)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_sliding_box_stops_after_v2_over_2_mu_g(approximation: str) -> None:
    scene = Scene(LIB, H, on_plane(cube()), approximation)
    start = scene.run(300, free_state([0.0, 0.0, 0.04999]))[-1]
    start[10] = 1.0
    end = scene.run(500, start)[-1]
    assert end[4] - start[4] == pytest.approx(1.0 / (2.0 * FRICTION * G), rel=0.006)
    assert abs(end[10]) < 1e-5


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_box_sticks_one_degree_below_the_friction_angle(approximation: str) -> None:
    angle = math.atan(FRICTION) - math.radians(1.0)
    scene = Scene(LIB, H, on_plane(cube(), angle), approximation)
    start = scene.run(300, free_state([0.0, 0.0, 0.04999]))[-1]
    start[7:] = 0.0
    drift = scene.run(2000, start)[-1][4] - start[4]
    assert abs(drift) < (0.02e-3 if approximation == "kSap" else 0.7e-3)


def slide_down(approximation: str, num_steps: int, **properties: float) -> tuple[Any, Any, float]:
    """Velocities of a box along and away from an incline one degree above the friction angle, and g's net share."""
    angle = math.atan(FRICTION) + math.radians(1.0)
    scene = Scene(LIB, H, on_plane(cube(), angle, **properties), approximation)
    states = scene.run(num_steps, free_state([0.0, 0.0, 0.04999]))
    return states[:, 10], states[:, 12], G * (math.sin(angle) - FRICTION * math.cos(angle))


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_box_slips_one_degree_above_the_friction_angle(approximation: str) -> None:
    # As soft as it takes to stay in touch: see the next test.
    v_x, _, acceleration = slide_down(approximation, 1000, point_stiffness=4e4, relaxation_time=0.0)
    assert (v_x[-1] - v_x[500]) / 0.5 == pytest.approx(acceleration, rel=0.02)


@pytest.mark.parametrize("approximation", ["kSap", "kSimilar"])
def test_box_that_hops_while_it_slips_loses_what_it_takes_to_hop_only(approximation: str) -> None:
    """Convex approximations push sliding bodies apart, which then hop, as in pydrake.

    All impulses are on the friction cone, gamma_t = mu gamma_n, so that with the velocity v_n away from the incline
    d(v_x + mu v_n)/dt is what dv_x/dt is without hops: what is missing from v_x is mu v_n at most.
    """
    v_x, v_n, acceleration = slide_down(approximation, 1000)
    assert np.abs(v_n[500:]).max() > 0.01
    gained = (v_x + FRICTION * v_n)[-1] - (v_x + FRICTION * v_n)[500]
    assert gained / 0.5 == pytest.approx(acceleration, rel=1e-4)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_sphere_rolls_down_at_five_sevenths(approximation: str) -> None:
    scene = Scene(LIB, H, on_plane(LIB.Sphere(0.1), 0.2), approximation)
    states = scene.run(300, free_state([0.0, 0.0, 0.1]))
    acceleration = (states[-1][10] - states[100][10]) / 0.2
    assert acceleration == pytest.approx(5.0 / 7.0 * G * math.sin(0.2), rel=1e-3)


def restitution(dissipation: float, speed: float) -> float:
    """Speed after a bounce on m xddot = -k x (1 + d xdot), from the first integral of Hunt and Crossley."""

    def integral(v: float) -> float:
        return v / dissipation - math.log(1.0 + dissipation * v) / dissipation**2

    return float(brentq(lambda e: integral(speed) - integral(-e), 1e-6, speed))


@pytest.mark.parametrize("dissipation", [0.1, 0.5])
@pytest.mark.parametrize("approximation", ["kTamsi", "kSimilar", "kLagged", "continuous"])
def test_ball_bounces_as_hunt_and_crossley_say(approximation: str, dissipation: float) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib, point_stiffness=2e5, dissipation=dissipation)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), properties)
        add_ground(lib, plant, properties)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])

    is_continuous = approximation == "continuous"
    scene = Scene(LIB, 0.0 if is_continuous else 1e-4, fill, "kLagged" if is_continuous else approximation)
    start = free_state([0.0, 0.0, 0.1001])
    start[12] = -1.0
    scene.plant.SetPositionsAndVelocities(scene.context, start)
    scene.simulator.AdvanceTo(0.03)
    assert scene.state[12] == pytest.approx(restitution(dissipation, 1.0), rel=1e-3 if is_continuous else 0.05)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_collisions_keep_momentum_and_move_bodies_by_the_reported_forces(approximation: str) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        for name, stiffness, mass in (("a", 1e5, 1.0), ("b", 3e4, 0.2), ("c", 1e6, 5.0)):
            add_free_body(lib, plant, name, cube(), material(lib, point_stiffness=stiffness), mass)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])

    scene = Scene(LIB, H, fill, approximation)
    start = free_state([0.0, 0.0, 0.0], [0.11, 0.02, 0.03], [0.03, 0.01, 0.12])
    start[21:] = np.random.default_rng(4).normal(size=18)

    def momentum() -> Any:
        return scene.plant.CalcSpatialMomentumInWorldAboutPoint(scene.context, [0.0, 0.0, 0.0]).get_coeffs()

    scene.run(0, start)
    before, num_contacts = momentum(), 0
    for _ in range(100):
        state = scene.state
        scene.run(1)
        contacts = scene.contacts()
        num_contacts += len(contacts)
        after = momentum()
        np.testing.assert_allclose(after[3:], before[3:], atol=1e-12)
        # The sum of what contacts exert on a body is m dv.
        total = {name: np.zeros(3) for name in "abc"}
        for info in contacts:
            for index, sign in ((info.bodyA_index(), -1.0), (info.bodyB_index(), 1.0)):
                total[scene.plant.get_body(index).name()] += sign * H * info.contact_force()
        for i, (name, mass) in enumerate((("a", 1.0), ("b", 0.2), ("c", 5.0))):
            dv = (scene.state - state)[21 + 6 * i + 3 :][:3]
            # The solver stops at a residual of 1e-6 of the momentum.
            np.testing.assert_allclose(mass * dv, total[name], atol=1e-5)
    assert num_contacts > 10


def ten_boxes(lib: SimpleNamespace, plant: Any) -> None:
    properties = material(lib)
    for i in range(10):
        add_free_body(lib, plant, f"box{i}", cube(), properties)
    add_ground(lib, plant, properties)


def stand(fill: Fill, approximation: str) -> Any:
    """Poses of ten boxes after two seconds at 2 ms, shape [10, 7]."""
    scene = Scene(LIB, 2e-3, fill, approximation)
    states = scene.run(1000, free_state(*([0.0, 0.0, 0.05 + 0.1 * i] for i in range(10))))
    assert np.abs(states[-1, 70:]).max() < 1e-5
    q = states[-1, :70].reshape(10, 7)
    assert np.abs(q[:, 4:6]).max() < 1e-6
    return q


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_ten_boxes_sink_as_ten_springs_in_a_row(approximation: str) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        ten_boxes(lib, plant)
        plant.set_sap_near_rigid_threshold(0.1)

    stiffness = 0.5 * LIB.SceneGraphConfig().default_proximity_properties.point_stiffness
    weights = G * np.arange(10, 0, -1)
    heights = 0.05 + 0.1 * np.arange(10) - np.cumsum(weights) / stiffness
    np.testing.assert_allclose(stand(fill, approximation)[:, 6], heights, atol=1e-6)


def test_ten_boxes_give_way_as_far_as_the_near_rigid_threshold_of_sap_says() -> None:
    """By default R_n >= w / (4 pi^2), and a contact that carries f gives way by (h + tau) R_n h f, as in pydrake."""
    h, tau, mass, inertia = 2e-3, 0.2, 1.0, 0.1**2 / 6.0
    height, above, on_ground = 0.95, 10, True
    while above:
        W = np.zeros((3, 3))
        for z in (-0.05, 0.05)[: 1 if on_ground else 2]:  # corners of the box above, and of that below
            x = np.array([[0.0, -z, 0.05], [z, 0.0, -0.05], [-0.05, 0.05, 0.0]])
            W += x @ x.T / inertia + np.eye(3) / mass
        compliance = np.linalg.norm(W) / 3.0 / (4.0 * math.pi**2)
        height -= (h + tau) * compliance * h * above * mass * G / 4.0
        above, on_ground = above - 1, False
    assert stand(ten_boxes, "kSap")[-1, 6] == pytest.approx(height, abs=1e-4)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_grasped_box_does_not_creep(approximation: str) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "box", lib.Box(0.06, 0.06, 0.06), material(lib, 0.8), mass=0.2)
        for i, side in enumerate((-1.0, 1.0)):
            finger = plant.AddRigidBody(f"finger{i}", lib.SpatialInertia.SolidBoxWithMass(0.1, 0.02, 0.04, 0.04))
            shape = lib.Box(0.02, 0.04, 0.04)
            plant.RegisterCollisionGeometry(finger, lib.RigidTransform(), shape, f"finger{i}", material(lib, 0.8))
            slide = lib.PrismaticJoint(f"slide{i}", plant.world_frame(), finger.body_frame(), [-side, 0, 0])
            motor = plant.AddJointActuator(f"motor{i}", plant.AddJoint(slide), 20.0)
            motor.set_controller_gains(lib.PdControllerGains(p=4000.0, d=40.0))

    scene = Scene(LIB, H, fill, approximation)
    plant, context = scene.plant, scene.context
    port = plant.get_desired_state_input_port(LIB.default_model_instance())
    port.FixValue(context, [-0.0365, -0.0365, 0.0, 0.0])
    for i in range(2):
        plant.GetJointByName(f"slide{i}").set_translation(context, -0.04)
    box = plant.GetBodyByName("box")
    scene.simulator.AdvanceTo(0.2)
    height = plant.EvalBodyPoseInWorld(context, box).translation()[2]
    scene.simulator.AdvanceTo(1.7)
    assert abs(plant.EvalBodyPoseInWorld(context, box).translation()[2] - height) < 1e-4
    forces = [(info.contact_force()[2], info.bodyB_index() == box.index()) for info in scene.contacts()]
    vertical = sum(force if is_on_box else -force for force, is_on_box in forces)
    assert vertical == pytest.approx(0.2 * G, rel=1e-3)


# ---------------------------------------------------------------------- continuous time


def test_continuous_bounce_keeps_energy_without_dissipation() -> None:
    scene = Scene(LIB, 0.0, on_plane(LIB.Sphere(0.1), point_stiffness=2e4, dissipation=0.0))

    def energy() -> float:
        plant, context = scene.plant, scene.context
        return float(plant.EvalPotentialEnergy(context) + plant.EvalKineticEnergy(context))

    scene.plant.SetPositionsAndVelocities(scene.context, free_state([0.0, 0.0, 0.2]))
    before = energy()
    scene.simulator.AdvanceTo(0.25)
    assert scene.state[12] > 0.5 and scene.state[6] > 0.11  # on its way back
    assert energy() == pytest.approx(before, rel=1e-3)


def test_continuous_sphere_rests_where_its_weight_is_held() -> None:
    scene = Scene(LIB, 0.0, on_plane(LIB.Sphere(0.1), point_stiffness=2e4, dissipation=5.0))
    scene.plant.SetPositionsAndVelocities(scene.context, free_state([0.0, 0.0, 0.1]))
    scene.simulator.AdvanceTo(2.0)
    assert scene.state[6] == pytest.approx(0.1 - G / 1e4, abs=1e-6)
    (contact,) = scene.contacts()
    assert contact.contact_force()[2] * (-1) ** (contact.bodyB_index() != 1) == pytest.approx(G, rel=1e-3)


def test_continuous_joint_limits_hold() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        body = plant.AddRigidBody("arm", lib.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.4))
        pivot = lib.FixedOffsetFrame("pivot", body.body_frame(), lib.RigidTransform([0.0, 0.0, 0.2]))
        frames = plant.world_frame(), plant.AddFrame(pivot)
        plant.AddJoint(lib.RevoluteJoint("hinge", *frames, [0, 1, 0], -0.3, 0.5, 0.05))

    scene = Scene(LIB, 0.0, fill)
    scene.plant.SetPositionsAndVelocities(scene.context, [0.4, -3.0])
    angles = []
    for i in range(100):
        scene.simulator.AdvanceTo(0.01 * (i + 1))
        angles.append(scene.state[0])
    assert -0.32 < min(angles) < -0.3
    assert max(angles) < 0.52


# ---------------------------------------------------------------------- friction in continuous time


@pytest.mark.parametrize("speed", [0.3, 1.0, 2.0, 5.0, 50.0])
@pytest.mark.parametrize("direction", [0.0, 2.1, -0.7])
def test_continuous_friction_opposes_slip_with_the_coefficient_of_its_speed(direction: float, speed: float) -> None:
    """mu f_n against the slip; mu rises to the static coefficient at v_s, and falls to the dynamic one at 3 v_s."""
    static, dynamic, stiction = 0.8, 0.5, 1e-2

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = lib.ProximityProperties()
        friction = lib.CoulombFriction(static, dynamic)
        lib.AddContactMaterial(dissipation=0.5, point_stiffness=1e4, friction=friction, properties=properties)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), properties)
        add_ground(lib, plant, properties)
        plant.set_stiction_tolerance(stiction)

    scene = Scene(LIB, 0.0, fill)
    depth, spin = 1e-3, 7.0
    slip = speed * stiction * np.array([math.cos(direction), math.sin(direction), 0.0])
    state = free_state([0.0, 0.0, 0.1 - depth])
    # The spin alone moves the point of contact, and the ball moves so that they slip as wanted, and sinks.
    state[7:10], rate = [spin, -spin, 3.0], -0.2
    point = np.array([0.0, 0.0, -(0.1 - 0.5 * depth)])
    state[10:13] = slip - np.cross(state[7:10], point) + [0.0, 0.0, rate]
    scene.run(0, state)
    (info,) = scene.contacts()
    on_ball = info.contact_force() * (1.0 if int(info.bodyB_index()) == 1 else -1.0)
    f_n = 5e3 * depth * (1.0 - 0.5 * rate)
    assert on_ball[2] == pytest.approx(f_n, rel=1e-9)
    if speed <= 1.0:
        mu = static * speed**3 * (10.0 - 15.0 * speed + 6.0 * speed**2)
    else:
        x = min(1.0, 0.5 * (speed - 1.0))
        mu = static - (static - dynamic) * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    np.testing.assert_allclose(on_ball[:2], -mu * f_n * slip[:2] / np.linalg.norm(slip), rtol=1e-6, atol=1e-9)
    # And it is what accelerates the ball: m a = f + m g, I alpha = p x f.
    vdot = scene.plant.EvalTimeDerivatives(scene.context).CopyToVector()[7:]
    np.testing.assert_allclose(vdot[3:], on_ball + [0.0, 0.0, -G], rtol=1e-9)
    np.testing.assert_allclose(vdot[:3], np.cross(point, on_ball) / (0.4 * 0.1**2), rtol=1e-6, atol=1e-6)


def test_a_continuous_block_that_slides_stops_after_v2_over_2_mu_g() -> None:
    scene = Scene(LIB, 0.0, on_plane(cube(), point_stiffness=1e5, dissipation=1.0))
    start = free_state([0.0, 0.0, 0.05 - G / 5e4])
    start[10:12] = [0.6, 0.8]
    scene.run(0, start)
    scene.simulator.AdvanceTo(0.4)
    way = scene.state[4:6]
    assert np.linalg.norm(way) == pytest.approx(1.0 / (2.0 * FRICTION * G), rel=0.02)
    np.testing.assert_allclose(way / np.linalg.norm(way), [0.6, 0.8], atol=1e-3)


# ---------------------------------------------------------------------- joint limits in continuous time


def falling_arm(limit: float) -> Scene:
    """Three heavy links in a row, held out sideways, whose joints have the same limits."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        parent = plant.world_frame()
        for i, mass in enumerate([6.0, 4.0, 2.0]):
            body = plant.AddRigidBody(f"link{i}", lib.SpatialInertia.SolidBoxWithMass(mass, 0.4, 0.1, 0.1))
            X_PF, X_BM = (lib.RigidTransform([x, 0.0, 0.0]) for x in (0.4 if i else 0.0, -0.2))
            F = plant.AddFrame(lib.FixedOffsetFrame(f"F{i}", parent, X_PF))
            parent = plant.AddFrame(lib.FixedOffsetFrame(f"M{i}", body.body_frame(), X_BM))
            plant.AddJoint(lib.RevoluteJoint(f"joint{i}", F, parent, [0, 1, 0], -limit, limit))

    scene = Scene(LIB, 0.0, fill)
    scene.run(0, [0.1, 0.1, 0.1, 0.0, 0.0, 0.0])
    return scene


def test_an_arm_stops_on_its_limits_in_at_most_twice_the_steps_of_a_free_one() -> None:
    num_steps = []
    for limit in (0.5, math.inf):
        scene = falling_arm(limit)
        scene.simulator.AdvanceTo(3.0)
        num_steps.append(scene.simulator.get_num_steps_taken())
        if limit < math.inf:
            q, v = np.split(scene.state, 2)
            np.testing.assert_allclose(q, limit, atol=6e-3)
            assert (q > limit).all()
            np.testing.assert_allclose(v, 0.0, atol=1e-3)
    assert num_steps[0] < 2 * num_steps[1]


def test_limits_in_continuous_time_take_energy_and_give_none() -> None:
    scene = falling_arm(0.3)
    plant, context, energies = scene.plant, scene.context, []
    for k in range(300):
        scene.simulator.AdvanceTo(0.01 * (k + 1))
        q = scene.state[:3]
        if (np.abs(q) < 0.3).all():  # no spring holds energy
            energies.append(plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context))
    assert len(energies) > 10
    assert (np.diff(energies) < 1e-2).all()
