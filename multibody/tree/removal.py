"""Taking elements out of a tree again."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.element_collection import ElementCollection
from merganser.multibody.tree.joints import Joint
from merganser.multibody.tree.lookup import TreeLookup
from merganser.multibody.tree.rigid_body import RigidBody


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
