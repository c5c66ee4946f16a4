"""Steps of plants with deformable bodies in the native plan: as in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from soft_scenes import SoftScene

from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Sphere
from merganser.multibody.tree import (
    ForceDensityField,
    PdControllerGains,
    PrismaticJoint,
    SpatialInertia,
)

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")


class Wind(ForceDensityField):
    """A force in Python."""

    def DoEvaluateAt(self, context: Any, p_WQ: np.ndarray) -> np.ndarray:
        return np.array([200.0 * p_WQ[2], 0.0, 0.0])


def press(way: str, approximation: str, has_wind: bool = False) -> SoftScene:
    """A ball that carries another one and a rigid box, all beside a bar that hangs on a hand, driven onto the floor."""
    scene = SoftScene(approximation=approximation)
    plant = scene.plant
    scene.add_soft(Sphere(0.1), (0.0, 0.0, 0.0995), hint=0.12)
    scene.add_soft(Box(0.05, 0.05, 0.1), (0.5, 0.0, 0.06), hint=0.05, name="bar", model="kCorotated")
    scene.add_soft(Sphere(0.1), (0.0, 0.01, 0.29), hint=0.12, name="upper")
    hand = plant.AddRigidBody("hand", SpatialInertia.SolidSphereWithMass(1.0, 0.05))
    slide = plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), hand.body_frame(), [0.0, 0.0, 1.0], -1.0, 1.0))
    plant.AddJointActuator("motor", slide, 30.0).set_controller_gains(PdControllerGains(p=500.0, d=20.0))
    X_HA = RigidTransform([0.5, 0.0, 0.06])
    scene.model.AddFixedConstraint(scene.ids[1], hand, X_HA, Box(1.0, 1.0, 0.11), RigidTransform([0.5, 0.0, 0.15]))
    box = scene.add_rigid(Box(0.1, 0.1, 0.1))
    if has_wind:
        scene.model.AddExternalForce(Wind())
    scene.finish()
    plant.SetFreeBodyPose(scene.context, box, RigidTransform([0.01, 0.0, 0.44]))
    port = plant.get_desired_state_input_port(hand.model_instance())
    port.FixValue(scene.context, np.array([-0.02, 0.0]))
    scene.simulator.set_use_native_plan(way == "always", at_once=way == "always")
    return scene


def ends(scene: SoftScene) -> list[np.ndarray]:
    """All that there is after a simulation."""
    states = [scene.context.get_discrete_state(i).CopyToVector() for i in range(len(scene.ids) + 1)]
    return [*states, *(f for *_, f in scene.forces()), scene.plant.get_net_actuation_output_port().Eval(scene.context)]


@pytest.mark.parametrize("approximation", ["kLagged", "kSap"])
def test_steps_in_the_plan_are_those_of_python_to_the_last_bit(approximation: str) -> None:
    scenes = [press(way, approximation).advance(0.1) for way in ("never", "always")]
    theirs, ours = (ends(scene) for scene in scenes)
    assert len(ours) == len(theirs) > 7
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    calls = scenes[1].plant._dynamics.native.num_calls
    scenes[1].advance(0.2)
    assert scenes[1].plant._dynamics.native.num_calls - calls <= 4  # others were not Python's


def test_what_is_switched_off_on_the_way_stops_in_the_plan_too() -> None:
    found = []
    for way in ("never", "always"):
        scene = press(way, "kLagged").advance(0.05)
        scene.model.Disable(scene.ids[2], scene.context)
        scene.advance(0.08)
        scene.model.Enable(scene.ids[2], scene.context)
        found.append(ends(scene.advance(0.1)))
    assert all((a == b).all() for a, b in zip(*found, strict=True))


def test_forces_that_a_program_defines_leave_steps_to_python() -> None:
    scenes = [press(way, "kSap", has_wind=True).advance(0.03) for way in ("never", "always")]
    assert all((a == b).all() for a, b in zip(*map(ends, scenes), strict=True))
    assert scenes[1].plant._dynamics.native.num_calls == 3


def test_an_error_in_the_plan_is_that_of_python_and_leaves_the_context_as_it_was() -> None:
    scene = SoftScene(floor=False)
    scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.5), hint=0.1, name="jelly")
    scene.finish().simulator.set_use_native_plan(True, at_once=True)
    scene.advance(0.05)
    v = 1e200 * np.random.default_rng(1).normal(size=scene.velocities().shape)
    scene.model.SetVelocities(scene.context, scene.ids[0], v)
    before = scene.context.get_discrete_state(1).CopyToVector()
    with pytest.raises(RuntimeError, match=r"Deformable body 'jelly' at time 0\.05 s, step 0\.01 s: "):
        scene.advance(0.1)
    assert (scene.context.get_discrete_state(1).CopyToVector() == before).all()
    scene.throw(0, [0.0, 0.0, 0.0])
    assert np.isfinite(scene.advance(0.1).vertices()).all()


def stack(way: str, has_soft: bool) -> SoftScene:
    """Three boxes that fall on each other beside a hand that is driven beyond its limit; perhaps a ball far away."""
    scene = SoftScene()
    plant = scene.plant
    if has_soft:
        scene.add_soft(Sphere(0.1), (0.0, 0.0, 5.0), hint=0.12)
    boxes = [scene.add_rigid(Box(0.1, 0.1, 0.1), name=f"box {i}") for i in range(3)]
    hand = plant.AddRigidBody("hand", SpatialInertia.SolidSphereWithMass(1.0, 0.05))
    slide = PrismaticJoint("slide", plant.world_frame(), hand.body_frame(), [0.0, 0.0, 1.0], -0.05, 0.05)
    motor = plant.AddJointActuator("motor", plant.AddJoint(slide), 30.0)
    motor.set_controller_gains(PdControllerGains(p=500.0, d=20.0))
    scene.finish()
    for i, box in enumerate(boxes):
        plant.SetFreeBodyPose(scene.context, box, RigidTransform([0.01 * i, 0.0, 0.055 + 0.12 * i]))
    port = plant.get_desired_state_input_port(hand.model_instance())
    port.FixValue(scene.context, np.array([-0.2, 0.0]))
    scene.simulator.set_use_native_plan(way == "always", at_once=way == "always")
    return scene.advance(0.2)


@pytest.mark.parametrize("way", ["never", "always"])
def test_a_deformable_body_that_touches_nothing_leaves_rigid_ones_as_they_are(way: str) -> None:
    alone, beside = (
        scene.context.get_discrete_state(0).CopyToVector() for scene in (stack(way, False), stack(way, True))
    )
    assert (alone == beside).all() and np.isfinite(alone).all()


def test_the_step_of_rigid_bodies_needs_no_kernel_of_deformable_ones() -> None:
    records = []
    for has_soft in (False, True):
        scene = stack("always", has_soft)
        native = scene.plant._dynamics.native
        records.append(native._record(scene.context, native.buffers_of(scene.context)))
    rigid, soft = ({name for name, address in record.model.code._asdict().items() if address} for record in records)
    assert records[0].deformables == () and len(records[1].deformables) == 2
    assert rigid < soft and soft - rigid >= {"start_motion", "free_motion", "find_participants", "pose_deformables"}
