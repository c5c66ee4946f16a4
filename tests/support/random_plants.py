"""Random plants of all kinds of joints and force elements, the same with either library."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from explicit_products import as_pydrake
from joint_mechanisms import forget_limits

CURVILINEAR = "curvilinear"
HINGES = ("RevoluteJoint", "PrismaticJoint", "ScrewJoint", "UniversalJoint", "PlanarJoint")  # with qdot = v
KINDS = (*HINGES, "WeldJoint", "BallRpyJoint", "QuaternionFloatingJoint", "RpyFloatingJoint", CURVILINEAR)
REVERSIBLE = ("RevoluteJoint", "PrismaticJoint", "WeldJoint")
MAX_JOINTS = 40

# pydrake makes curvilinear joints from model files alone.
PATH = (
    '<robot name="{name}" xmlns:drake="d"><link name="rail"/><link name="cart"><inertial><origin xyz="0.1 0.2 -0.1"/>'
    '<mass value="0.8"/><inertia ixx="0.5" iyy="0.6" izz="0.7" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link>'
    '<drake:joint name="path" type="curvilinear"><parent link="rail"/><child link="cart"/><origin xyz="0.1 0.2 0.3" '
    'rpy="0.1 0.2 0.3"/><dynamics damping="{damping}"/><drake:plane_normal xyz="0 1 1"/><drake:curves>'
    '<drake:line_segment length="0.6"/><drake:circular_arc radius="0.5" angle="-1.2"/>'
    '<drake:circular_arc radius="0.8" angle="2"/></drake:curves></drake:joint></robot>'
)


@dataclass
class RandomPlant:
    """Builds one random tree.

    Args:
        lib: all names of one library (joint_mechanisms.library).
        seed: of everything random; with the same options, both libraries get the same tree.
        time_step: of the plant [s].
        num_joints: of the user; by default 1 to 40.
        kinds: which joints may be in it.
        is_free: whether nothing connects the bodies to the world: joints and force elements are between bodies, and
            model instances have weight. By default one or the other.
        has_springs: whether there are force elements.
        has_bushings: whether bushings are among them, which have no potential.
        is_damped: whether joints are damped.
    """

    lib: SimpleNamespace
    seed: int
    time_step: float = 0.0
    num_joints: int | None = None
    kinds: tuple[str, ...] = KINDS
    is_free: bool | None = None
    has_springs: bool = True
    has_bushings: bool = True
    is_damped: bool = True
    bodies: list[Any] = field(default_factory=list)
    joints: list[Any] = field(default_factory=list)

    def build(self) -> Any:
        """The finalized plant."""
        self.rng = rng = np.random.default_rng(self.seed)
        self.plant = plant = as_pydrake(self.lib.MultibodyPlant(self.time_step))
        if self.time_step > 0.0:
            plant.SetUseSampledOutputPorts(False)
        self.is_anchored = not (bool(rng.integers(2)) if self.is_free is None else self.is_free)
        self.instances = [plant.AddModelInstance(f"part_{i}") for i in range(rng.integers(1, 4))]
        for instance in self.instances:
            if rng.random() < 0.3 and self.is_free is None:
                plant.set_gravity_enabled(instance, False)
        num_joints = int(rng.integers(1, MAX_JOINTS + 1)) if self.num_joints is None else self.num_joints
        self.bodies = [plant.world_body() if self.is_anchored else self._add_body()]
        for _ in range(num_joints):
            self._add_joint(str(rng.choice(self.kinds)))
        if self.is_free is None and rng.random() < 0.3:
            self.bodies.append(self._add_body())  # loose, beside the tree
        self._add_actuators()
        if self.has_springs:
            self._add_force_elements()
        forget_limits(plant)
        plant.Finalize()
        return plant

    def _add_body(self) -> Any:
        rng = self.rng
        inertia = self.lib.SpatialInertia.SolidBoxWithMass(*rng.uniform(0.3, 1, 4)).Shift(0.5 * rng.normal(size=3))
        instance = self.instances[rng.integers(len(self.instances))]
        return self.plant.AddRigidBody(f"body_{self.plant.num_bodies()}", instance, inertia)

    def _pose(self) -> Any:
        rng = self.rng
        return self.lib.RigidTransform(self.lib.RollPitchYaw(*rng.uniform(-3, 3, 3)), 0.5 * rng.normal(size=3))

    def _frame_on(self, body: Any) -> Any:
        """The frame of a body, an offset frame on it, or one on such a frame."""
        frame = body.body_frame()
        for _ in range(self.rng.integers(3)):
            name = f"frame_{self.plant.num_frames()}"
            frame = self.plant.AddFrame(self.lib.FixedOffsetFrame(name, frame, self._pose(), body.model_instance()))
        return frame

    def _add_joint(self, kind: str) -> None:
        rng, plant, lib = self.rng, self.plant, self.lib
        first = max(0, len(self.bodies) - 4) if rng.random() < 0.7 else 0
        F = self._frame_on(self.bodies[rng.integers(first, len(self.bodies))])
        damping = rng.uniform(0.1, 1.0, 3) * self.is_damped
        if kind == CURVILINEAR:
            self._add_path(F, damping[0])
            return
        body = self._add_body()
        self.bodies.append(body)
        frames = [F, self._frame_on(body)]
        if kind in REVERSIBLE and self.is_anchored and rng.random() < 0.2:
            frames.reverse()  # in a free tree, that would change which body is its base
        arguments = {
            "ScrewJoint": (rng.normal(size=3), rng.uniform(-2, 2), damping[0]),
            "RevoluteJoint": (rng.normal(size=3), damping[0]),
            "PrismaticJoint": (rng.normal(size=3), -np.inf, np.inf, damping[0]),
            "PlanarJoint": (damping,),
            "WeldJoint": (self._pose(),),
        }.get(kind, (damping[0],))
        self.joints.append(plant.AddJoint(getattr(lib, kind)(f"joint_{plant.num_joints()}", *frames, *arguments)))

    def _add_path(self, F: Any, damping: float) -> None:
        plant = self.plant
        text = PATH.format(name=f"path_{plant.num_model_instances()}", damping=damping)
        [instance] = self.lib.Parser(plant).AddModelsFromString(text, "urdf")
        plant.WeldFrames(F, plant.GetFrameByName("rail", instance), self._pose())
        self.bodies.append(plant.GetBodyByName("cart", instance))
        self.joints.append(plant.GetJointByName("path", instance))

    def _add_actuators(self) -> None:
        for joint in self.joints:
            if joint.num_velocities() == 1 and self.rng.random() < 0.5:
                actuator = self.plant.AddJointActuator(f"motor_{joint.name()}", joint)
                actuator.set_default_rotor_inertia(self.rng.uniform(0.0, 0.1))
                actuator.set_default_gear_ratio(self.rng.uniform(1.0, 3.0))

    def _add_force_elements(self) -> None:
        rng, plant, lib = self.rng, self.plant, self.lib
        for joint in self.joints:
            choice = rng.random()
            if joint.type_name() == "revolute" and choice < 0.5:
                plant.AddForceElement(lib.RevoluteSpring(joint, rng.normal(), rng.uniform(1, 9)))
            elif joint.type_name() == "revolute" and choice < 0.75:
                names = ("spring_zero_angle_rad", "spring_constant", "catch_width", "motion_threshold")
                config = lib.DoorHingeConfig(**dict(zip(names, rng.uniform(0.1, 1, 4))))
                plant.AddForceElement(lib.DoorHinge(joint, config))
            elif joint.type_name() == "prismatic" and choice < 0.5:
                plant.AddForceElement(lib.PrismaticSpring(joint, rng.normal(), rng.uniform(1, 9)))
        for i in range(rng.integers(5)):
            A, C = (self.bodies[k] for k in rng.choice(len(self.bodies), 2, replace=False))
            if i % 2 and self.has_bushings:
                frames = self._frame_on(A), self._frame_on(C)
                plant.AddForceElement(lib.LinearBushingRollPitchYaw(*frames, *rng.uniform(0.1, 2.0, (4, 3))))
            else:
                (p_AP, p_CQ), numbers = rng.normal(size=(2, 3)), rng.uniform(0.5, 2.0, 3)
                plant.AddForceElement(lib.LinearSpringDamper(A, p_AP, C, p_CQ, *numbers))
