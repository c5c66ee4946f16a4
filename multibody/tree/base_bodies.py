"""What happens to joints and bodies around Finalize(): removal before it, floating joints in it, mobilizers after it.

Base bodies are those that no joint connects to anything nearer to the world; Finalize() connects them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.math import RigidTransform
from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.element import ElementCollection, NamedElement
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.indices import default_model_instance
from merganser.multibody.tree.inertia import SpatialInertia
from merganser.multibody.tree.joints import FloatingJoint, Joint, QuaternionFloatingJoint, RpyFloatingJoint, WeldJoint
from merganser.multibody.tree.lookup import TreeLookup
from merganser.multibody.tree.mobilizers import Mobilizer, MobilizerTopology
from merganser.multibody.tree.mobilizers.kinds import class_of
from merganser.multibody.tree.rigid_body import RigidBody

Array = npt.NDArray[Any]


class TreeRemoval(TreeLookup):
    """Abstract base of MultibodyTree: removes joints and actuators before Finalize().

    Indices are not used again: those of the other elements stay as they are, and new ones go on counting.
    """

    def __init__(self) -> None:
        super().__init__()
        self._joint_between: dict[frozenset[RigidBody], Joint] = {}

    def RemoveJoint(self, joint: Joint) -> None:
        """Removes a joint; its index and those of the other joints stay as they are, its name is free again.

        Raises:
            RuntimeError: after Finalize(), if the joint is not of this tree, an actuator drives it, or there are force
                elements beside gravity, or constraints.
        """
        self._check_removable("RemoveJoint", joint, self.joints)
        if len(self.force_elements) > 1:
            raise RuntimeError(
                f"RemoveJoint(): this plant has {len(self.force_elements) - 1} user-added force elements, which may "
                f"depend on joint '{joint.name()}' (index {int(joint.index())}). Remove joints before adding those."
            )
        if len(self.constraints):
            raise RuntimeError(
                f"RemoveJoint(): this plant has {len(self.constraints)} user-added constraints, which may depend on "
                f"joint '{joint.name()}' (index {int(joint.index())}). Remove joints before adding those."
            )
        if len(self.transmissions):
            raise RuntimeError(
                f"RemoveJoint(): this plant has {len(self.transmissions)} transmissions, which may depend on joint "
                f"'{joint.name()}' (index {int(joint.index())}). Remove joints before adding those."
            )
        dependents = [f"'{a.name()}' (index {int(a.index())})" for a in self.actuators if a._driven is joint]
        if dependents:
            raise RuntimeError(
                f"RemoveJoint(): joint '{joint.name()}' (index {int(joint.index())}) has dependent actuators, which "
                f"must be removed first, by RemoveJointActuator(): {', '.join(dependents)}."
            )
        self.joints.remove(joint)
        del self._joint_between[frozenset((joint.parent_body(), joint.child_body()))]
        joint._tree = None

    def RemoveJointActuator(self, actuator: Actuator) -> None:
        """Removes an actuator; its index and those of the others stay, inputs of the others close up.

        Raises:
            RuntimeError: after Finalize(), or if the actuator is not of this tree.
        """
        self._check_removable("RemoveJointActuator", actuator, self.actuators)
        self.actuators.remove(actuator)
        actuator._tree = None

    def RemoveAllJointActuatorEffortLimits(self) -> None:
        """Makes the effort limits of all actuators infinite."""
        for actuator in self.actuators:
            actuator.set_effort_limit(np.inf)

    def _check_removable(self, caller: str, element: NamedElement, collection: ElementCollection[Any]) -> None:
        self._check_not_finalized(caller)
        self._check_mine(caller, "it", element)
        if not (collection.has_index(element.index()) and collection.get(element.index()) is element):
            raise RuntimeError(f"{caller}(): {element!r} is not of the kind that this function removes.")


class BaseBodyJointType(Enumeration):
    """The joint of a base body."""

    kQuaternionFloatingJoint = 0  # six degrees of freedom, seven positions
    kRpyFloatingJoint = 1  # six degrees of freedom, six positions, singular at a pitch of a quarter turn
    kWeldJoint = 2  # none: the body frame coincides with that of the world


def make_base_joint(joint_type: BaseBodyJointType, name: str, frame_W: Frame, frame_B: Frame) -> Joint:
    """The joint between the world frame and the frame of a base body."""
    if joint_type is BaseBodyJointType.kWeldJoint:
        return WeldJoint(name, frame_W, frame_B, RigidTransform())
    if joint_type is BaseBodyJointType.kRpyFloatingJoint:
        return RpyFloatingJoint(name, frame_W, frame_B)
    return QuaternionFloatingJoint(name, frame_W, frame_B)


class TreeBaseBodies(TreeRemoval):
    """Abstract base of MultibodyTree: base bodies."""

    _register_joint: Any

    def __init__(self) -> None:
        super().__init__()
        self._default_floating_poses: dict[RigidBody, RigidTransform] = {}
        self._default_floating_dampings: dict[RigidBody, float] = {}
        self._default_floating_armatures: dict[RigidBody, float] = {}
        self._floating_joint_names: dict[RigidBody, str] = {}  # by which files call them; their own is that of the body
        # By model instance; None: for those that have none of their own.
        self._base_joint_types: dict[int | None, BaseBodyJointType] = {}

    # -- base bodies -----------------------------------------------------------------------------------------

    def SetBaseBodyJointType(self, joint_type: BaseBodyJointType, model_instance: int | None = None) -> None:
        """Chooses how Finalize() connects base bodies to the world: bodies that no joint connects to it.

        Args:
            joint_type: by default kQuaternionFloatingJoint.
            model_instance: whose base bodies; None for all instances that have no type of their own.

        Raises:
            RuntimeError: if there is no such model instance, or after Finalize().
            TypeError: if `joint_type` is no BaseBodyJointType.
        """
        self._check_not_finalized("SetBaseBodyJointType")
        if not isinstance(joint_type, BaseBodyJointType):
            raise TypeError(
                f"SetBaseBodyJointType() takes a BaseBodyJointType, not a {type(joint_type).__name__} ({joint_type!r})."
            )
        if model_instance is not None:
            self.GetModelInstanceName(model_instance)  # refuses one that does not exist
        self._base_joint_types[model_instance] = joint_type

    def GetBaseBodyJointType(self, model_instance: int | None = None) -> BaseBodyJointType:
        """Returns how Finalize() connects base bodies of a model instance, or of those without a type of their own.

        Raises:
            RuntimeError: if there is no such model instance.
        """
        common = self._base_joint_types.get(None, BaseBodyJointType.kQuaternionFloatingJoint)
        if model_instance is None:
            return common
        self.GetModelInstanceName(model_instance)  # refuses one that does not exist
        return self._base_joint_types.get(model_instance, common)

    # -- default pose of floating bodies ---------------------------------------------------------------------

    def SetDefaultFloatingBaseBodyPose(self, body: RigidBody, X_WB: RigidTransform) -> None:
        """Sets the pose in which new Contexts start with a floating base body.

        Before Finalize() the pose of any body can be set; it has no effect on bodies that turn out not to
        float. Where a floating joint connects the body to the world, it becomes that joint's default pose (pydrake
        ignores it there): of the two, what is set last counts.

        Raises:
            RuntimeError: if the body is not of this tree.
        """
        self._check_mine("SetDefaultFloatingBaseBodyPose", "a default pose", body)
        self._default_floating_poses[body] = X_WB
        joint = self._floating_joint_of(body)
        if joint is not None:
            joint.set_default_body_pose(X_WB)

    def _floating_joint_of(self, body: RigidBody) -> FloatingJoint | None:
        """The floating joint of a body in the world, if it exists already."""
        joint = self._joint_between.get(frozenset((self.world_body(), body)))
        return joint if isinstance(joint, FloatingJoint) and joint.child_body() is body else None

    def GetDefaultFloatingBaseBodyPose(self, body: RigidBody) -> RigidTransform:
        """Returns the default pose of a floating base body, the identity if none was set.

        Raises:
            RuntimeError: if the body is not of this tree.
        """
        self._check_mine("GetDefaultFloatingBaseBodyPose", "a default pose", body)
        joint = self._floating_joint_of(body)
        return self._default_floating_poses.get(body, RigidTransform()) if joint is None else joint.default_body_pose()

    def SetDefaultFloatingBaseBodyDamping(self, body: RigidBody, damping: float) -> None:
        """Sets the damping of every velocity of a floating base body in new Contexts [N m s and N s/m].

        Before Finalize() that of any body can be set, as its pose can. An addition to pydrake's functions.

        Raises:
            RuntimeError: if the body is not of this tree, or the damping is negative or not finite.
        """
        self._set_default_of_floating("Damping", self._default_floating_dampings, body, damping)

    def SetDefaultFloatingBaseBodyArmature(self, body: RigidBody, armature: float) -> None:
        """Sets an inertia that each velocity of a floating base body has beside that of bodies, in new Contexts.

        It is on the diagonal of the mass matrix [kg m^2 and kg], and gravity does not act on it. Errors, and what holds
        before Finalize(), are those of the damping. An addition to pydrake's functions.
        """
        self._set_default_of_floating("Armature", self._default_floating_armatures, body, armature)

    def _set_default_of_floating(
        self, name: str, values: dict[RigidBody, float], body: RigidBody, value: float
    ) -> None:
        caller, what = f"SetDefaultFloatingBaseBody{name}", name.lower()
        self._check_mine(caller, f"a default {what}", body)
        if not (np.isfinite(value) and value >= 0.0):
            raise RuntimeError(
                f"{caller}(): the {what} of body {body.name()!r} must be finite and not negative, but is {value}."
            )
        values[body] = float(value)
        if self.is_finalized() and body.is_floating_base_body():
            assert body._inboard_joint is not None
            self._take_defaults_of_floating(body._inboard_joint)

    def _take_defaults_of_floating(self, joint: Joint) -> None:
        body = joint.child_body()
        if body in self._default_floating_dampings:
            joint.set_default_damping_vector(np.full(6, self._default_floating_dampings[body]))
        joint._default_armature = self._default_floating_armatures.get(body, 0.0)

    def _take_default_pose(self, joint: Joint) -> None:
        """A floating joint of the world that has no default pose of its own gets the one set for its body, if any."""
        body = joint.child_body()
        is_at_origins = joint.frame_on_parent() is self.world_frame() and joint.frame_on_child() is body.body_frame()
        pose = self._default_floating_poses.get(body)
        if isinstance(joint, FloatingJoint) and is_at_origins and pose is not None and not joint.has_default_pose():
            joint.SetDefaultPose(pose)

    def _add_base_joint(self, body_index: int) -> Joint:
        body = self.bodies.get(body_index)
        name = body.name()
        while self.joints.has_name(name, body.model_instance()):
            name = "_" + name
        joint_type = self.GetBaseBodyJointType(body.model_instance())
        joint = make_base_joint(joint_type, name, self.world_frame(), body.body_frame())
        self._take_default_pose(joint)
        if isinstance(joint, FloatingJoint):
            self._take_defaults_of_floating(joint)
        self._register_joint(joint, is_ephemeral=True)
        if isinstance(joint, FloatingJoint) and body in self._floating_joint_names:
            self.joints.add_name(joint, self._floating_joint_names[body])
        return joint


@dataclass(frozen=True)
class MultibodyTreeTopology:
    """Sizes of a finalized tree, and the indices of its mobilizers."""

    num_bodies: int
    num_frames: int
    num_mobilizers: int
    num_positions: int
    num_velocities: int
    num_states: int
    tree_height: int
    mobilizers: tuple[MobilizerTopology, ...]


class TreeMobilizers(TreeRemoval):
    """Abstract base of MultibodyTree: a tree of bodies and mobilizers, and their numbers."""

    topology: Array
    AddJoint: Any
    AddRigidBody: Any
    _edges: list[Any]
    _mobilizer_joints: list[Joint]

    def __init__(self) -> None:
        super().__init__()
        self._added_mobilizers: dict[Joint, Mobilizer] = {}
        self._mobilizer_objects: list[Mobilizer] = []

    # -- adding ----------------------------------------------------------------------------------------------

    def AddBody(self, body: RigidBody | type[RigidBody] | SpatialInertia, *args: Any) -> RigidBody:
        """Adds a body, and returns it.

        Args:
            body: a RigidBody; or the class RigidBody, followed by what AddRigidBody() takes, in which the name may be
                left out; or the spatial inertia M_BBo_B.
            *args: only after the class.

        Raises:
            RuntimeError: as AddRigidBody(), or the body is part of a tree already.
            TypeError: other arguments.
        """
        if isinstance(body, RigidBody) and not args:
            tree: Any = self
            tree._check_new("AddBody", body, RigidBody)
            self.bodies.check_name(body.name(), body.model_instance())
            self.frames.check_name(body.name(), body.model_instance())
            tree._register_body(body)
            return body
        if isinstance(body, SpatialInertia) and not args:
            return self.AddBody(RigidBody, body)
        if body is not RigidBody:
            raise TypeError(
                f"AddBody() takes a RigidBody, or the class RigidBody with arguments, not {type(body).__name__}."
            )
        if args and isinstance(args[0], str):
            added: RigidBody = self.AddRigidBody(*args)
            return added
        number = len(self.bodies)
        while self.bodies.has_name(f"body{number}", default_model_instance()):
            number += 1
        named: RigidBody = self.AddRigidBody(f"body{number}", default_model_instance(), *args)
        return named

    def AddMobilizer(self, mobilizer: Mobilizer | type[Mobilizer], *args: Any) -> Mobilizer:
        """Adds a mobilizer, and returns it. It becomes a joint as well, named after its frames.

        Args:
            mobilizer: a mobilizer; or a class, followed by the arguments of its constructor.
            *args: only after a class.

        Raises:
            RuntimeError: as AddJoint(), or the mobilizer is part of a tree already.
            TypeError: it is not a mobilizer.
        """
        if isinstance(mobilizer, type) and issubclass(mobilizer, Mobilizer):
            mobilizer = mobilizer(*args)
        if not isinstance(mobilizer, Mobilizer):
            raise TypeError(f"AddMobilizer() takes a Mobilizer, not a {type(mobilizer).__name__}.")
        if mobilizer._tree is not None:
            raise RuntimeError("AddMobilizer(): the mobilizer was added to a tree already.")
        frames = mobilizer.inboard_frame(), mobilizer.outboard_frame()
        name = f"{frames[0].name()}_{frames[1].name()}"
        while self.joints.has_name(name, frames[1].model_instance()):
            name = "_" + name
        joint = mobilizer._make_joint(name)
        self.AddJoint(joint)
        tree: Any = self
        mobilizer._tree = tree
        self._added_mobilizers[joint] = mobilizer
        return mobilizer

    # -- sizes and elements ----------------------------------------------------------------------------------

    get_num_frames = TreeRemoval.num_frames
    get_num_bodies = TreeRemoval.num_bodies
    get_num_positions = TreeRemoval.num_positions
    get_num_velocities = TreeRemoval.num_velocities
    get_world_body = TreeRemoval.world_body
    get_world_frame = TreeRemoval.world_frame
    topology_is_valid = TreeRemoval.is_finalized

    def get_num_mobilizers(self) -> int:
        """Returns the number of mobilizers: one for each body but the world, after Finalize()."""
        return len(self._get_mobilizers("get_num_mobilizers"))

    def get_num_states(self) -> int:
        """Returns the size of [q; v]."""
        return self.num_positions() + self.num_velocities()

    def get_tree_height(self) -> int:
        """Returns the number of bodies on the longest path from the world, the world included."""
        self._check_finalized("get_tree_height")
        heights = np.ones(len(self.topology), np.int64)
        for mobod in range(1, len(self.topology)):  # parents first
            heights[mobod] = heights[self.topology["parent"][mobod]] + 1
        return int(heights.max())

    def get_mobilizer(self, mobilizer_index: int) -> Mobilizer:
        """Returns the mobilizer of this index, in the depth-first order of the outboard bodies.

        Raises:
            RuntimeError: if it does not exist, or before Finalize().
        """
        mobilizers = self._get_mobilizers("get_mobilizer")
        if not 0 <= mobilizer_index < len(mobilizers):
            raise RuntimeError(
                f"get_mobilizer(): there is no mobilizer with index {int(mobilizer_index)}: this tree has "
                f"{len(mobilizers)} of them."
            )
        return mobilizers[mobilizer_index]

    def get_topology(self) -> MultibodyTreeTopology:
        """Returns sizes, and the indices of the mobilizers.

        Raises:
            RuntimeError: before Finalize().
        """
        mobilizers = self._get_mobilizers("get_topology")
        return MultibodyTreeTopology(
            self.num_bodies(),
            self.num_frames(),
            len(mobilizers),
            self.num_positions(),
            self.num_velocities(),
            self.get_num_states(),
            self.get_tree_height(),
            tuple(mobilizer.get_topology() for mobilizer in mobilizers),
        )

    def _get_mobilizers(self, caller: str) -> list[Mobilizer]:
        self._check_finalized(caller)
        if not self._mobilizer_objects:
            tree: Any = self
            for mobod, (edge, joint) in enumerate(zip(self._edges, self._mobilizer_joints), start=1):
                added = self._added_mobilizers.get(joint)
                mobilizer = added or class_of(joint.kind)._of_joint(joint, edge.is_reversed)
                mobilizer._bind(tree, mobod, joint, edge.is_reversed)
                self._mobilizer_objects.append(mobilizer)
        return self._mobilizer_objects
