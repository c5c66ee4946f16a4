"""What deformable bodies touch: weight, momentum, reactions, friction, and stacks."""

from __future__ import annotations

import numpy as np
import pytest
from soft_scenes import SoftScene

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Sphere
from merganser.multibody.tree import PrismaticJoint

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
