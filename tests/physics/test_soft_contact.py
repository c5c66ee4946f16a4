"""What deformable bodies touch: weight, momentum, reactions, friction, and stacks."""

from __future__ import annotations

import numpy as np
import pytest
from soft_scenes import SoftScene

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Sphere
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint

G = 9.81
EACH = pytest.mark.parametrize("approximation", ["kLagged", "kSap", "kSimilar"])


def masses(scene: SoftScene, k: int = 0) -> np.ndarray:
    """Masses of the vertices [kg], shape [n]."""
    return scene.model.GetBody(scene.ids[k]).fem_body().node_masses()


def momentum(scene: SoftScene, k: int = 0) -> np.ndarray:
    """m v of a deformable body [N s], shape [3]."""
    body = scene.model.GetBody(scene.ids[k])
    return masses(scene, k).sum() * body.CalcCenterOfMassTranslationalVelocityInWorld(scene.context)


@EACH
def test_a_block_at_rest_carries_its_weight(approximation: str) -> None:
    scene = SoftScene(approximation=approximation)
    scene.add_soft(Box(0.2, 0.1, 0.1), (0.1, 0.2, 0.049), hint=0.05, damping=0.05)
    scene.finish().advance(0.5)
    ((_, floor, f),) = scene.forces()
    assert floor.endswith("floor")
    assert f == pytest.approx([0.0, 0.0, 2.0 * G], abs=2e-3 * G)
    assert abs(scene.velocities()).max() < 1e-3
    assert scene.vertices()[2].min() > -1e-3


@EACH
@pytest.mark.parametrize("h", [0.002, 0.005, 0.01])
@pytest.mark.parametrize("slope", [0.0, 15.0])
def test_a_cube_that_falls_comes_to_rest_in_steps_of_any_length(approximation: str, h: float, slope: float) -> None:
    up = np.array([-np.sin(np.deg2rad(slope)), 0.0, np.cos(np.deg2rad(slope))])
    scene = SoftScene(approximation=approximation, h=h, gravity=-G * up, floor=False)
    table = scene.add_stiff_ground(1e7)
    scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.051), hint=0.05, damping=0.05)
    scene.finish()
    for k in range(5):
        ((_, name, f),) = scene.advance(0.8 + k * h).forces()
        assert name.endswith(table)
        assert f == pytest.approx(G * up, abs=5e-3 * G)
    assert abs(scene.velocities()).max() < 2e-3


@EACH
def test_a_cube_stays_on_a_table_that_is_much_stiffer(approximation: str) -> None:
    scene = SoftScene(approximation=approximation, h=0.005, floor=False)
    scene.add_stiff_ground(1e9)
    scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.05), hint=0.05, damping=0.05)
    scene.finish().advance(0.8)
    assert scene.forces()[0][2] == pytest.approx([0.0, 0.0, G], abs=5e-2 * G)
    assert abs(scene.vertices()[2].min()) < 2e-5


@EACH
def test_errors_of_a_cube_that_falls_and_lands_shrink_with_the_step(approximation: str) -> None:
    ends = []
    for h in (0.01, 0.005, 0.0025, 0.000625):
        scene = SoftScene(approximation=approximation, h=h)
        scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.06), hint=0.1, damping=0.02)
        ends.append(scene.finish().advance(0.1).vertices())
    errors = [abs(end - ends[-1]).max() for end in ends[:-1]]
    assert errors[2] < 0.7 * errors[1] < 0.7 * errors[0] < 7e-3
    assert errors[1] < (5e-3 if approximation == "kSap" else 5e-4)


def test_a_rigid_box_on_a_soft_block_on_the_floor_loads_both_faces() -> None:
    scene = SoftScene()
    scene.add_soft(Box(0.2, 0.2, 0.1), (0.0, 0.0, 0.05), hint=0.1, E=1e6, damping=0.05)
    box = scene.add_rigid(Box(0.15, 0.13, 0.1), mass=3.0)
    scene.finish()
    scene.plant.SetFreeBodyPose(scene.context, box, RigidTransform([0.0, 0.0, 0.1495]))
    scene.advance(1.5)
    (_, _, of_floor), (_, _, of_box) = scene.forces()
    assert of_box == pytest.approx([0.0, 0.0, -3.0 * G], abs=5e-3 * G)
    assert of_floor == pytest.approx([0.0, 0.0, 7.0 * G], abs=1e-2 * G)
    tau = scene.plant.get_generalized_contact_forces_output_port(box.model_instance()).Eval(scene.context)
    assert tau[3:] == pytest.approx(-of_box, abs=1e-9)


@EACH
def test_momentum_is_kept_where_soft_and_rigid_bodies_meet(approximation: str) -> None:
    scene = SoftScene(approximation=approximation, gravity=(0.0, 0.0, 0.0), floor=False)
    scene.add_soft(Sphere(0.1), (0.0, 0.0, 0.0), hint=0.12)
    scene.add_soft(Sphere(0.1), (0.01, 0.005, 0.185), hint=0.12)
    ball = scene.add_rigid(Sphere(0.08), mass=2.0)
    scene.finish()
    scene.plant.SetFreeBodyPose(scene.context, ball, RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.02, 0.0, -0.19]))
    scene.throw(1, [0.2, 0.1, -1.0])

    def total() -> np.ndarray:
        v = scene.plant.GetVelocities(scene.context)[3:]
        return momentum(scene, 0) + momentum(scene, 1) + 2.0 * v

    before, touched = total(), set()
    for k in range(1, 16):
        touched |= {(A, B) for A, B, _ in scene.advance(0.01 * k).forces()}
    assert len(touched) == 2
    assert abs(scene.plant.GetVelocities(scene.context)).max() > 0.1
    assert total() == pytest.approx(before, abs=2e-6)


@pytest.mark.parametrize(("slope", "slides"), [(20.0, False), (35.0, True)])
def test_a_block_slides_beyond_the_angle_of_friction(slope: float, slides: bool) -> None:
    """mu = 1/2: 26.6 degrees. It leans forward, so that its lower face ploughs a little."""
    a = np.deg2rad(slope)
    scene = SoftScene(gravity=(G * np.sin(a), 0.0, -G * np.cos(a)), h=0.002)
    scene.add_soft(Box(0.2, 0.2, 0.05), (0.0, 0.0, 0.025 - 2.4e-5), hint=0.1, E=1e6, damping=0.02)
    scene.finish().advance(0.05)
    start = momentum(scene)[0]
    scene.advance(0.15)
    a_x = (momentum(scene)[0] - start) / 0.1 / 2.0
    assert a_x == pytest.approx(G * (np.sin(a) - 0.5 * np.cos(a)) if slides else 0.0, abs=5e-3 * G)
    if not slides:
        assert abs(scene.velocities()).max() < 5e-3


def test_blocks_on_each_other_carry_what_is_above() -> None:
    scene = SoftScene()
    for k in range(2):
        scene.add_soft(Box(0.1, 0.1, 0.1), (0.01 * k, 0.0, 0.05 + 0.0995 * k), hint=0.034, E=2e5, damping=0.05)
    scene.finish().advance(0.3)
    (_, other, of_block), (_, _, of_floor) = scene.forces()
    assert other.endswith("soft 1")
    assert of_floor == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-2 * G)
    assert of_block == pytest.approx([0.0, 0.0, -G], abs=1e-2 * G)
    assert scene.vertices(1)[2].min() > 0.09


def test_a_ball_is_squeezed_with_the_force_of_the_jaws() -> None:
    scene = SoftScene(gravity=(0.0, 0.0, 0.0), floor=False)
    scene.add_soft(Sphere(0.05), (0.0, 0.0, 0.0), hint=0.05, damping=0.02)
    jaws = [scene.add_rigid(Box(0.02, 0.2, 0.2), mass=1.0, name=f"jaw {k}", modulus=1e7) for k in range(2)]
    plant, joints = scene.plant, []
    for k, jaw in enumerate(jaws):
        joint = PrismaticJoint(f"slide {k}", plant.world_frame(), jaw.body_frame(), [1.0, 0.0, 0.0], damping=20.0)
        joints.append(plant.AddJoint(joint))
        plant.AddJointActuator(f"drive {k}", joints[-1])
    scene.finish()
    for k, joint in enumerate(joints):
        joint.set_translation(scene.context, (2.0 * k - 1.0) * 0.061)
    plant.get_actuation_input_port().FixValue(scene.context, [15.0, -15.0])
    scene.advance(1.0)
    forces = [f for *_, f in scene.forces()]
    assert len(forces) == 2
    assert forces[0] == pytest.approx([15.0, 0.0, 0.0], abs=0.1)
    assert forces[1] == pytest.approx([-15.0, 0.0, 0.0], abs=0.1)
    width = np.ptp(scene.vertices()[0])
    assert 0.05 < width < 0.097
    assert np.ptp(scene.vertices()[1]) > 0.1005


@pytest.mark.parametrize("model", ["kCorotated", "kLinearCorotated"])
@pytest.mark.parametrize("is_free", [True, False])
def test_a_bar_turns_with_the_body_that_it_is_fixed_to_and_gains_no_energy(is_free: bool, model: str) -> None:
    scene, turn = SoftScene(gravity=(0.0, 0.0, 0.0), floor=False), np.array([0.0, 0.0, 10.0])
    id = scene.add_soft(Box(0.2, 0.1, 0.1), (0.1, 0.0, 0.0), hint=0.05, E=1e6, model=model, damping=0.0)
    hub, plant = scene.add_rigid(Box(0.01, 0.01, 0.01), mass=5.0), scene.plant
    scene.model.AddFixedConstraint(id, hub, RigidTransform([0.1, 0.0, 0.0]), Box(0.1, 0.3, 0.3), RigidTransform())
    if not is_free:
        plant.AddJoint(RevoluteJoint("axis", plant.world_frame(), hub.body_frame(), [0.0, 0.0, 1.0]))
    start = scene.finish().vertices().copy()
    fixed = start[0] < 0.0501
    scene.model.SetVelocities(scene.context, id, np.cross(turn, start.T).T)
    plant.SetVelocities(scene.context, [*turn, 0.0, 0.0, 0.0] if is_free else turn[2:])

    def energy() -> float:
        return plant.CalcKineticEnergy(scene.context) + 0.5 * masses(scene) @ (scene.velocities() ** 2).sum(axis=0)

    before = energy()
    for t in (0.05, 0.1, 0.3):
        scene.advance(t)
        p_BP = plant.EvalBodyPoseInWorld(scene.context, hub).inverse().multiply(scene.vertices())
        assert p_BP[:, fixed] == pytest.approx(start[:, fixed], abs=1e-3)
        assert energy() < before
    if model == "kCorotated":  # steps take rotation away at a rate of h w^2 / 2
        assert 8.0 < plant.EvalBodySpatialVelocityInWorld(scene.context, hub).rotational()[2] < 10.0
