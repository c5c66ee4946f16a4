"""A plant that only remembers what a parser adds to it, under pydrake's names."""

from __future__ import annotations

from typing import Any

from merganser.multibody.tree.joint_actuator import JointActuator
from merganser.multibody.tree.rigid_body import RigidBody


class RecordingPlant:
    """Takes elements as a MultibodyPlant does, and hands them out in lists and by name."""

    def __init__(self, with_geometry: bool = True):
        self.instance_names = ["WorldModelInstance", "DefaultModelInstance"]
        self.world = RigidBody("world", 0)
        self.bodies: list[Any] = [self.world]
        self.frames: list[Any] = [self.world.body_frame()]
        self.joints: list[Any] = []
        self.actuators: list[Any] = []
        self.visuals: list[tuple] = []
        self.collisions: list[tuple] = []
        self.default_poses: dict[tuple[int, str], Any] = {}
        self.with_geometry = with_geometry
        self.finalized = False
        self.num_calls = 0

    def is_finalized(self) -> bool:
        return self.finalized

    def geometry_source_is_registered(self) -> bool:
        return self.with_geometry

    def world_body(self) -> RigidBody:
        return self.world

    def HasModelInstanceNamed(self, name: str) -> bool:
        return name in self.instance_names

    def AddModelInstance(self, name: str) -> int:
        self.num_calls += 1
        self.instance_names.append(name)
        return len(self.instance_names) - 1

    def AddRigidBody(self, name: str, model_instance: int, M_BBo_B: Any) -> RigidBody:
        self.num_calls += 1
        body = RigidBody(name, model_instance, M_BBo_B)
        self.bodies.append(body)
        self.frames.append(body.body_frame())
        return body

    def AddFrame(self, frame: Any) -> Any:
        self.num_calls += 1
        self.frames.append(frame)
        return frame

    def AddJoint(self, joint: Any) -> Any:
        self.num_calls += 1
        self.joints.append(joint)
        return joint

    def AddJointActuator(self, name: str, joint: Any, effort_limit: float) -> JointActuator:
        self.num_calls += 1
        self.actuators.append(JointActuator(name, joint, effort_limit))
        return self.actuators[-1]

    def SetDefaultFloatingBaseBodyPose(self, body: RigidBody, X_WB: Any) -> None:
        self.num_calls += 1
        self.default_poses[int(body.model_instance()), body.name()] = X_WB

    def RegisterVisualGeometry(self, body: Any, X_BG: Any, shape: Any, name: str, properties: Any) -> None:
        self.num_calls += 1
        self.visuals.append((body, X_BG, shape, name, properties))

    def RegisterCollisionGeometry(self, body: Any, X_BG: Any, shape: Any, name: str, properties: Any) -> None:
        self.num_calls += 1
        self.collisions.append((body, X_BG, shape, name, properties))

    def body(self, name: str) -> Any:
        return _by_name(self.bodies, name)

    def joint(self, name: str) -> Any:
        return _by_name(self.joints, name)

    def frame(self, name: str) -> Any:
        return _by_name(self.frames, name)

    def actuator(self, name: str) -> Any:
        return _by_name(self.actuators, name)


def _by_name(elements: list, name: str) -> Any:
    (found,) = (element for element in elements if element.name() == name)
    return found
