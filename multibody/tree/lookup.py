"""Questions about the elements of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.constraints import ConstraintCollection
from merganser.multibody.tree.coordinates import Coordinates
from merganser.multibody.tree.element import ElementCollection, MultibodyElement, suggest_names
from merganser.multibody.tree.force_elements import ForceElement
from merganser.multibody.tree.forest import connected_groups
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.indices import (
    BodyIndex,
    FrameIndex,
    JointActuatorIndex,
    JointIndex,
    ModelInstanceIndex,
)
from merganser.multibody.tree.joints import Joint, WeldJoint
from merganser.multibody.tree.multibody_forces import MultibodyForces
from merganser.multibody.tree.rigid_body import RigidBody
from merganser.multibody.tree.transmission import Transmission


class TreeLookup:
    """Abstract base of MultibodyTree: holds the collections of elements and answers questions about them.

    Attributes:
        bodies: all bodies; the world is number 0.
        frames: all frames; the world frame is number 0.
        joints: all joints, implicit ones last; those that close loops are not among them.
        loop_joints: joints that close loops.
        actuators: all actuators.
        force_elements: all force elements; gravity is number 0.
        constraints: all constraints between joints or bodies.
        contacts: those of kinds that a program brings, see plant/contact_settings.py.
    """

    coordinates: Coordinates
    mobod_of_body: npt.NDArray[np.int64]
    plant: Any  # the MultibodyPlant around the tree, or None

    def __init__(self) -> None:
        self._is_finalized = False
        self._instance_names = ["WorldModelInstance", "DefaultModelInstance"]
        names = self.GetModelInstanceName, self._plant_name
        self.bodies: ElementCollection[RigidBody] = ElementCollection("Body", *names)
        self.frames: ElementCollection[Frame] = ElementCollection("Frame", *names)
        self.joints: ElementCollection[Joint] = ElementCollection("Joint", *names)
        self.loop_joints: ElementCollection[Joint] = ElementCollection("LoopJoint", *names)
        self.actuators: ElementCollection[Actuator] = ElementCollection("JointActuator", *names)
        self.transmissions: ElementCollection[Transmission] = ElementCollection("Transmission", *names)
        self.force_elements: list[ForceElement] = []
        self.constraints = ConstraintCollection()
        self.contacts: list[Any] = []

    def is_finalized(self) -> bool:
        """Returns whether Finalize() was called."""
        return self._is_finalized

    # -- checks ----------------------------------------------------------------------------------------------

    def _plant_name(self) -> str:
        """The name of this tree's plant in messages."""
        return "the plant" if self.plant is None else f"plant '{self.plant.GetSystemPathname()}'"

    def _check_finalized(self, caller: str) -> None:
        if not self._is_finalized:
            raise RuntimeError(f"{caller}(): call Finalize() of {self._plant_name()} first.")

    def _check_not_finalized(self, caller: str, element: MultibodyElement | None = None) -> None:
        if self._is_finalized:
            rest = "" if element is None else f", so {element!r} cannot be added"
            raise RuntimeError(
                f"{caller}(): {self._plant_name()} is finalized already{rest}. Add all elements before the one call "
                "of Finalize()."
            )

    def _check_mine(self, caller: str, what: str, element: MultibodyElement) -> None:
        if element._tree is self:
            return
        if element._tree is None:
            raise RuntimeError(f"{caller}(): {what} needs {element!r}, which belongs to no plant yet; add it first.")
        raise RuntimeError(
            f"{caller}(): {what} needs {element!r}, which belongs to another plant: to {element._tree._plant_name()}, "
            f"not to {self._plant_name()}. Take the element of that name from the latter."
        )

    def _check_forces(self, caller: str, forces: MultibodyForces) -> None:
        """Refuses forces that are not for a finalized tree of this size."""
        if not isinstance(forces, MultibodyForces):
            raise TypeError(f"{caller}() takes MultibodyForces, got {type(forces).__name__}.")
        mine = len(self.mobod_of_body), self.coordinates.num_velocities
        theirs = len(forces._F_Bo_W), len(forces._tau)
        if mine != theirs:
            raise ValueError(
                f"{caller}(): the forces are for {theirs[0]} bodies and {theirs[1]} velocities, but "
                f"{self._plant_name()} has {mine[0]} and {mine[1]}. Make them by MultibodyForces(plant)."
            )

    # -- model instances -------------------------------------------------------------------------------------

    def _add_model_instance(self, name: str) -> ModelInstanceIndex:
        if not name:
            raise RuntimeError("AddModelInstance(): the name must not be empty.")
        if name in self._instance_names:
            raise RuntimeError(
                f"AddModelInstance(): there is a model instance named '{name}' already. The names of "
                "model instances "
                "must be unique."
            )
        self._instance_names.append(name)
        return ModelInstanceIndex(len(self._instance_names) - 1)

    def num_model_instances(self) -> int:
        """Returns the number of model instances, the world's and the default one included."""
        return len(self._instance_names)

    def GetModelInstanceName(self, model_instance: int) -> str:
        """Returns the name of a model instance.

        Raises:
            RuntimeError: if there is no such instance.
        """
        if not 0 <= model_instance < len(self._instance_names):
            raise RuntimeError(
                f"There is no model instance with index {int(model_instance)} in {self._plant_name()}: it has "
                f"{len(self._instance_names)} of them, with indices from 0 on."
            )
        return self._instance_names[model_instance]

    def HasModelInstanceNamed(self, name: str) -> bool:
        """Returns whether there is a model instance of this name."""
        return name in self._instance_names

    def GetModelInstanceByName(self, name: str) -> ModelInstanceIndex:
        """Returns the index of the model instance of this name.

        Raises:
            RuntimeError: if it does not exist.
        """
        if name not in self._instance_names:
            raise RuntimeError(
                f"GetModelInstanceByName(): there is no model instance named '{name}'."
                + suggest_names(name, self._instance_names)
            )
        return ModelInstanceIndex(self._instance_names.index(name))

    def RenameModelInstance(self, model_instance: int, name: str) -> None:
        """Changes the name of a model instance.

        Raises:
            RuntimeError: if there is no such instance, the name is taken, or after Finalize().
        """
        if self._is_finalized:
            raise RuntimeError("RenameModelInstance(): the plant is finalized already.")
        old = self.GetModelInstanceName(model_instance)
        if name != old and name in self._instance_names:
            raise RuntimeError(f"RenameModelInstance(): there is a model instance named '{name}' already.")
        self._instance_names[model_instance] = name

    # -- elements by name ------------------------------------------------------------------------------------
    # All of these raise RuntimeError if no model instance is given and several have the name; those that get
    # an element also if it does not exist.

    def HasBodyNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a body of this name."""
        return self.bodies.has_name(name, model_instance)

    def GetBodyByName(self, name: str, model_instance: int | None = None) -> RigidBody:
        """Returns the body of this name."""
        return self.bodies.get_by_name(name, model_instance)

    def GetRigidBodyByName(self, name: str, model_instance: int | None = None) -> RigidBody:
        """Returns the body of this name."""
        return self.bodies.get_by_name(name, model_instance)

    def NumBodiesWithName(self, name: str) -> int:
        """Returns how many bodies have this name."""
        return self.bodies.count_named(name)

    def HasFrameNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a frame of this name."""
        return self.frames.has_name(name, model_instance)

    def GetFrameByName(self, name: str, model_instance: int | None = None) -> Frame:
        """Returns the frame of this name."""
        return self.frames.get_by_name(name, model_instance)

    def HasJointNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a joint of this name."""
        return self.joints.has_name(name, model_instance)

    def GetJointByName(self, name: str, model_instance: int | None = None) -> Joint:
        """Returns the joint of this name."""
        return self.joints.get_by_name(name, model_instance)

    def HasLoopJointNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a loop joint of this name."""
        return self.loop_joints.has_name(name, model_instance)

    def GetLoopJointByName(self, name: str, model_instance: int | None = None) -> Joint:
        """Returns the loop joint of this name."""
        return self.loop_joints.get_by_name(name, model_instance)

    def HasJointActuatorNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is an actuator of this name."""
        return self.actuators.has_name(name, model_instance)

    def GetJointActuatorByName(self, name: str, model_instance: int | None = None) -> Actuator:
        """Returns the actuator of this name."""
        return self.actuators.get_by_name(name, model_instance)

    def HasTransmissionNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a transmission of this name."""
        return self.transmissions.has_name(name, model_instance)

    def GetTransmissionByName(self, name: str, model_instance: int | None = None) -> Transmission:
        """Returns the transmission of this name."""
        return self.transmissions.get_by_name(name, model_instance)

    # -- elements by index -----------------------------------------------------------------------------------

    def world_body(self) -> RigidBody:
        """Returns the world body."""
        return self.bodies.get(0)

    def world_frame(self) -> Frame:
        """Returns the world frame."""
        return self.frames.get(0)

    def get_body(self, body_index: int) -> RigidBody:
        """Returns the body of this index, or raises RuntimeError."""
        return self.bodies.get(body_index)

    def get_frame(self, frame_index: int) -> Frame:
        """Returns the frame of this index, or raises RuntimeError."""
        return self.frames.get(frame_index)

    def get_joint(self, joint_index: int) -> Joint:
        """Returns the joint of this index, or raises RuntimeError."""
        return self.joints.get(joint_index)

    def get_joint_actuator(self, actuator_index: int) -> Actuator:
        """Returns the actuator of this index, or raises RuntimeError."""
        return self.actuators.get(actuator_index)

    def get_transmission(self, transmission_index: int) -> Transmission:
        """Returns the transmission of this index, or raises RuntimeError."""
        return self.transmissions.get(transmission_index)

    def num_transmissions(self) -> int:
        """Returns the number of transmissions: tendons and their like."""
        return len(self.transmissions)

    def get_loop_joint(self, joint_index: int) -> Joint:
        """Returns the loop joint of this index, which counts loop joints alone, or raises RuntimeError."""
        return self.loop_joints.get(joint_index)

    def get_force_element(self, force_element_index: int) -> ForceElement:
        """Returns the force element of this index, or raises RuntimeError."""
        if not 0 <= force_element_index < len(self.force_elements):
            raise RuntimeError(
                f"There is no force element with index {int(force_element_index)} in {self._plant_name()}: it has "
                f"{len(self.force_elements)} of them, gravity (index 0) included."
            )
        return self.force_elements[force_element_index]

    def has_joint(self, joint_index: int) -> bool:
        """Returns whether there is a joint of this index; not so if it was removed."""
        return self.joints.has_index(joint_index)

    def has_joint_actuator(self, actuator_index: int) -> bool:
        """Returns whether there is an actuator of this index; not so if it was removed."""
        return self.actuators.has_index(actuator_index)

    def num_force_elements(self) -> int:
        """Returns the number of force elements, gravity included."""
        return len(self.force_elements)

    def num_bodies(self) -> int:
        """Returns the number of bodies, the world included."""
        return len(self.bodies)

    def num_frames(self) -> int:
        """Returns the number of frames, those of the bodies included."""
        return len(self.frames)

    def num_joints(self) -> int:
        """Returns the number of joints, after Finalize() with the implicit ones."""
        return len(self.joints)

    def num_loop_joints(self) -> int:
        """Returns the number of joints that close loops."""
        return len(self.loop_joints)

    def num_actuators(self, model_instance: int | None = None) -> int:
        """Returns the number of actuators, of one model instance or of all."""
        return len(self.actuators.in_instance(model_instance))

    def GetBodyIndices(self, model_instance: int | None = None) -> list[BodyIndex]:
        """Returns the indices of the bodies of one model instance or of all."""
        return [body.index() for body in self.bodies.in_instance(model_instance)]

    def GetFrameIndices(self, model_instance: int | None = None) -> list[FrameIndex]:
        """Returns the indices of the frames of one model instance or of all."""
        return [frame.index() for frame in self.frames.in_instance(model_instance)]

    def GetJointIndices(self, model_instance: int | None = None) -> list[JointIndex]:
        """Returns the indices of the joints of one model instance or of all."""
        return [joint.index() for joint in self.joints.in_instance(model_instance)]

    def GetJointActuatorIndices(self, model_instance: int | None = None) -> list[JointActuatorIndex]:
        """Returns the indices of the actuators of one model instance or of all."""
        return [actuator.index() for actuator in self.actuators.in_instance(model_instance)]

    def GetActuatedJointIndices(self, model_instance: int) -> list[JointIndex]:
        """Returns the indices of the joints of a model instance that have an actuator, ascending."""
        actuators = self.actuators.in_instance(model_instance)
        return sorted({a.joint().index() for a in actuators if a.transmission() is None})

    # -- connections -----------------------------------------------------------------------------------------

    def GetBodiesWeldedTo(self, body: RigidBody) -> list[RigidBody]:
        """Returns the body and all bodies that welds connect to it, by index.

        Raises:
            RuntimeError: if the body is not of this tree.
        """
        self._check_mine("GetBodiesWeldedTo", "it", body)
        welds = [(j.parent_body(), j.child_body()) for j in self.joints if isinstance(j, WeldJoint)]
        groups = connected_groups([(body, body), *welds])
        return sorted(next(group for group in groups if body in group), key=RigidBody.index)

    def IsAnchored(self, body: RigidBody) -> bool:
        """Returns whether welds connect the body to the world.

        Raises:
            RuntimeError: before Finalize(), or if the body is not of this tree.
        """
        self._check_finalized("IsAnchored")
        self._check_mine("IsAnchored", "it", body)
        return self.world_body() in self.GetBodiesWeldedTo(body)

    def GetFloatingBaseBodies(self) -> set[BodyIndex]:
        """Returns the indices of the bodies that Finalize() connected to the world.

        Raises:
            RuntimeError: before Finalize().
        """
        self._check_finalized("GetFloatingBaseBodies")
        return {body.index() for body in self.bodies if body.is_floating_base_body()}

    def HasUniqueFloatingBaseBody(self, model_instance: int) -> bool:
        """Returns whether a model instance has one base body (one joined to the world), and that floats.

        Raises:
            RuntimeError: before Finalize(), or if there is no such model instance.
        """
        bases = self._base_bodies("HasUniqueFloatingBaseBody", model_instance)
        return len(bases) == 1 and bases[0].is_floating_base_body()

    def GetUniqueFloatingBaseBodyOrThrow(self, model_instance: int) -> RigidBody:
        """Returns the one base body (joined to the world) of a model instance, a floating one.

        Raises:
            RuntimeError: before Finalize(), or if there is no such model instance, or not one such body.
        """
        caller = "GetUniqueFloatingBaseBodyOrThrow"
        bases = self._base_bodies(caller, model_instance)
        name = self.GetModelInstanceName(model_instance)
        if len(bases) != 1:
            raise RuntimeError(
                f"{caller}(): model instance '{name}' does not have a unique base body, but {len(bases)}: "
                f"{[body.name() for body in bases]}."
            )
        if not bases[0].is_floating_base_body():
            raise RuntimeError(
                f"{caller}(): model instance '{name}' has a unique base body, '{bases[0].name()}', but it is not a "
                f"floating base body: its inboard joint is {bases[0]._inboard_joint!r}."
            )
        return bases[0]

    def _base_bodies(self, caller: str, model_instance: int) -> list[RigidBody]:
        self._check_finalized(caller)
        self.GetModelInstanceName(model_instance)  # refuses one that does not exist
        world = self.world_body()
        bodies = self.bodies.in_instance(model_instance)
        return [b for b in bodies if (j := b._inboard_joint) and world in (j.parent_body(), j.child_body())]

    # -- sizes and places of coordinates ---------------------------------------------------------------------
    # All of these raise RuntimeError before Finalize().

    def num_positions(self, model_instance: int | None = None) -> int:
        """Returns the number of positions, of one model instance or of all."""
        self._check_finalized("num_positions")
        return len(self.position_indices(model_instance))

    def num_velocities(self, model_instance: int | None = None) -> int:
        """Returns the number of velocities, of one model instance or of all."""
        self._check_finalized("num_velocities")
        return len(self.velocity_indices(model_instance))

    def num_actuated_dofs(self, model_instance: int | None = None) -> int:
        """Returns the number of inputs, of one model instance or of all."""
        self._check_finalized("num_actuated_dofs")
        return len(self.input_indices(model_instance))

    def position_indices(self, model_instance: int | None = None) -> npt.NDArray[np.int64]:
        """Returns the indices of the positions of a model instance in q, ascending."""
        self._check_finalized("position_indices")
        if model_instance is None:
            return np.arange(self.coordinates.num_positions)
        self.GetModelInstanceName(model_instance)
        return self.coordinates.positions[model_instance]

    def velocity_indices(self, model_instance: int | None = None) -> npt.NDArray[np.int64]:
        """Returns the indices of the velocities of a model instance in v, ascending."""
        self._check_finalized("velocity_indices")
        if model_instance is None:
            return np.arange(self.coordinates.num_velocities)
        self.GetModelInstanceName(model_instance)
        return self.coordinates.velocities[model_instance]

    def input_indices(self, model_instance: int | None = None) -> npt.NDArray[np.int64]:
        """Returns the indices of the inputs of a model instance in u, ascending."""
        self._check_finalized("input_indices")
        if model_instance is None:
            return np.arange(len(self.actuators))
        self.GetModelInstanceName(model_instance)
        return self.coordinates.inputs[model_instance]

    def actuated_velocity_indices(self) -> npt.NDArray[np.int64]:
        """Returns which velocity each input drives, in the order of u, shape [num_actuated_dofs].

        Transmissions are numbered behind the velocities.
        """
        self._check_finalized("actuated_velocity_indices")
        return self.coordinates.actuated_velocities
