"""Mobilizers and sizes of a MultibodyTree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.tree.base_bodies import TreeRemoval
from merganser.multibody.tree.indices import default_model_instance
from merganser.multibody.tree.inertia import SpatialInertia
from merganser.multibody.tree.joints import Joint
from merganser.multibody.tree.mobilizers import Mobilizer, MobilizerTopology
from merganser.multibody.tree.mobilizers.kinds import class_of
from merganser.multibody.tree.rigid_body import RigidBody

Array = npt.NDArray[Any]


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
