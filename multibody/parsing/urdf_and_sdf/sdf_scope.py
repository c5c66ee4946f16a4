"""Frames of an SDF document: which pose they have, and which body they move with.

Every <model> (and the <world> around it) is a scope of names. A frame F states its pose X_RF in another frame
R of its scope (`relative_to`) and the frame it is fixed to (`attached_to`); both chains end at the scope's
root frame `__model__` or at a link. Frames of nested models are reached as `model::frame`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from merganser.framework.common.errors import nearest_names
from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw
from merganser.multibody.parsing.description import BodyReference
from merganser.multibody.parsing.xml_reader import XmlNode

MODEL_FRAME = "__model__"
WORLD_FRAME = "world"


@dataclass(frozen=True)
class ScopeFrame:
    """A named frame F of a scope.

    Attributes:
        node: the element that defines it.
        X_RF: pose in the frame `relative_to`, as written.
        relative_to: name of R.
        attached_to: name of the frame it is fixed to; None for a link, which is its own body.
        placement: for a nested model, the name of the frame inside it that X_RF places.
    """

    node: XmlNode
    X_RF: RigidTransform
    relative_to: str
    attached_to: str | None
    placement: str = MODEL_FRAME


@dataclass
class SdfScope:
    """The frames of one <model> or <world> M.

    Attributes:
        name: scoped name of the model in the document; empty for the world.
        node: the element.
        parent: the scope around it; None for the world.
        frames: frames by name, without the root frame.
        nested: scopes of nested models by name.
    """

    name: str
    node: XmlNode
    parent: SdfScope | None = None
    frames: dict[str, ScopeFrame] = field(default_factory=dict)
    nested: dict[str, SdfScope] = field(default_factory=dict)
    _poses: dict[str, RigidTransform] = field(default_factory=dict)
    _bodies: dict[str, BodyReference] = field(default_factory=dict)
    _pending: dict[str, None] = field(default_factory=dict)

    @property
    def root_frame(self) -> str:
        """Name of the scope's own frame."""
        return MODEL_FRAME if self.parent is not None else WORLD_FRAME

    @property
    def is_static(self) -> bool:
        """Whether the model is fixed in the world."""
        return self.node.bool_child("static", False)

    def X_WM(self) -> RigidTransform:
        """Pose of the scope's root frame M in the world."""
        if self.parent is None:
            return RigidTransform()
        name = self.name.removeprefix(f"{self.parent.name}::")  # which may have a scope in a world
        return self.parent.X_WM() @ self.parent.X_MF(name, self.node)

    def X_MF(self, name: str, user: XmlNode) -> RigidTransform:
        """Pose of frame F in the scope's root frame M.

        Args:
            name: name of F, perhaps of a nested model.
            user: the element that refers to F, for errors.

        Raises:
            ParsingError: there is no such frame, or the poses run in a circle.
        """
        chain: list[tuple[str, ScopeFrame]] = []  # F, the frame R that it is relative to, the one of R, ...
        with self._resolving("relative_to") as enter:
            while (X_MR := self._known_pose(name, user)) is None:
                frame = self._frame(name, user)
                enter(name, frame.node)
                chain.append((name, frame))
                name, user = frame.relative_to, frame.node
        for name, frame in reversed(chain):
            X_MR = X_MR @ frame.X_RF @ self._X_PlacementM(name, frame)
            self._poses[name] = X_MR
        return X_MR

    def _known_pose(self, name: str, user: XmlNode) -> RigidTransform | None:
        """X_MF of the root frame, of a frame that was asked for before, or of one of a nested model; else None."""
        if name == self.root_frame:
            return RigidTransform()
        scope_name, inner = self._in_nested(name)
        if inner:
            return self.X_MF(scope_name, user) @ self._nested(scope_name, user).X_MF(inner, user)
        return self._poses.get(name)

    def _in_nested(self, name: str) -> tuple[str, str]:
        """The nested model that a name begins with, and the name there, empty for one of this scope."""
        scope_name, _, inner = name.partition("::")
        return (name, "") if name in self.frames else (scope_name, inner)

    def X_MB(self, body: BodyReference, user: XmlNode) -> RigidTransform:
        """Pose of a body in M: the world, a link of the scope, or one nested in it."""
        if body == BodyReference.world():
            return self.X_WM().inverse()
        return self.X_MF(str(body).removeprefix(f"{self.name}::"), user)

    def body_of(self, name: str, user: XmlNode) -> BodyReference:
        """The body that a frame is fixed to.

        Raises:
            ParsingError: there is no such frame, or the attachments run in a circle.
        """
        chain = []
        with self._resolving("attached_to") as enter:
            while (body := self._known_body(name, user)) is None:
                frame = self._frame(name, user)
                if frame.attached_to is None:
                    body = BodyReference(self.name, name)
                    break
                enter(name, frame.node)
                chain.append(name)
                name, user = frame.attached_to, frame.node
        self._bodies.update(dict.fromkeys(chain, body))
        return body

    def _known_body(self, name: str, user: XmlNode) -> BodyReference | None:
        """The body of the root frame, of a frame that was asked for before, or of a nested model; else None."""
        if name == self.root_frame:
            return self._root_body()
        scope_name, inner = self._in_nested(name)
        if inner:
            return self._nested(scope_name, user).body_of(inner, user)
        return self.nested[name]._root_body() if name in self.nested else self._bodies.get(name)

    @contextmanager
    def _resolving(self, relation: str) -> Iterator[Callable[[str, XmlNode], None]]:
        """Gives a function that records frames being resolved, and refuses cycles."""
        pending = self._pending
        num_before = len(pending)

        def enter(name: str, node: XmlNode) -> None:
            if name in pending:
                names = list(pending)
                chain = " -> ".join([*names[names.index(name) :], name])
                raise node.error(f"frames depend on each other in a circle ({relation}): {chain}.")
            pending[name] = None

        try:
            yield enter
        finally:
            for name in list(pending)[num_before:]:
                del pending[name]

    def _root_body(self) -> BodyReference:
        """The body of the root frame: the canonical link, by default the first one."""
        if self.parent is None or (self.is_static and self.node.find("link") is None):
            return BodyReference.world()
        canonical = self.node.attributes.get("canonical_link")
        if canonical:
            return self.body_of(canonical, self.node)
        first = self.node.find("link")
        if first is not None:
            return BodyReference(self.name, first.require_attribute("name"))
        for scope in self.nested.values():
            return scope._root_body()
        raise self.node.error(f"model '{self.name}' has no link; a model needs at least one.")

    def _frame(self, name: str, user: XmlNode) -> ScopeFrame:
        if name not in self.frames:
            where = f"model '{self.name}'" if self.name else "the world"
            raise user.error(
                f"{user.describe()} refers to '{name}', which is not a link, joint, frame or model in {where}. "
                f"{nearest_names(name, self.frames)}"
            )
        return self.frames[name]

    def _nested(self, name: str, user: XmlNode) -> SdfScope:
        if name not in self.nested:
            raise user.error(
                f"{user.describe()} refers to model '{name}', which is not nested here. "
                f"{nearest_names(name, self.nested)}"
            )
        return self.nested[name]

    def _X_PlacementM(self, name: str, frame: ScopeFrame) -> RigidTransform:
        """Pose of a nested model's root in its placement frame; identity for any other frame."""
        if name not in self.nested:
            return RigidTransform()
        return self.nested[name].X_MF(frame.placement, frame.node).inverse()


def read_pose(node: XmlNode | None) -> RigidTransform:
    """The pose written in a <pose> element, identity without one.

    Raises:
        ParsingError: the wrong count of numbers, or an unknown rotation format.
    """
    if node is None or not node.text:
        return RigidTransform()
    rotation_format = node.attributes.get("rotation_format", "euler_rpy")
    node.expect_one_of(rotation_format, ("euler_rpy", "quat_xyzw"), "rotation_format")
    if rotation_format == "quat_xyzw":
        x, y, z, *q_xyzw = node.vector_text(7)
        length = float(np.linalg.norm(q_xyzw))
        if not 1e-8 < length < np.inf:
            raise node.error(f"the quaternion {node.text.split()[3:]} has no direction; its length has to be 1.")
        wxyz = np.array([q_xyzw[3], *q_xyzw[:3]]) / length
        return RigidTransform(Quaternion(wxyz), np.array([x, y, z]))
    values = node.vector_text(6)
    angles = (
        np.deg2rad(values[3:]) if node.parse_bool(node.attributes.get("degrees", "false")) else values[3:]
    )
    return RigidTransform(RollPitchYaw(angles), values[:3])


def build_scope(node: XmlNode, name: str, parent: SdfScope | None) -> SdfScope:
    """Collects the frames of a <model> or <world> and of everything nested in it.

    Raises:
        ParsingError: two elements of a scope share a name, or a name is reserved.
    """
    scope = SdfScope(name, node, parent)
    for child in node.find_all("link", "frame", "joint", "model"):
        child_name = child.require_attribute("name")
        if child_name in scope.frames:
            earlier = scope.frames[child_name].node
            raise child.error(
                f"{child.describe()} shares its name with {earlier.describe()} at {earlier.location}; names "
                "of links, joints, frames and models must be unique within a model."
            )
        is_scoped = "::" in child_name and (parent is not None or child.tag != "model")
        if child_name == "world" or is_scoped or child_name.startswith("__"):
            raise child.error(
                f"{child.describe()} has a reserved name; avoid 'world', '::' and leading '__'."
            )
        scope.frames[child_name] = _scope_frame(child, scope)
        if child.tag == "model":
            scoped = f"{name}::{child_name}" if name else child_name
            scope.nested[child_name] = build_scope(child, scoped, scope)
    return scope


def _scope_frame(node: XmlNode, scope: SdfScope) -> ScopeFrame:
    """The frame that an element defines, with SDF's defaults for what it leaves out."""
    default_relative_to = scope.root_frame
    attached_to: str | None = None
    if node.tag == "frame":
        attached_to = node.attributes.get("attached_to") or scope.root_frame
        default_relative_to = attached_to
    elif node.tag == "joint":
        attached_to = default_relative_to = node.require("child").text
    pose = node.find("pose")
    relative_to = (pose.attributes.get("relative_to") if pose is not None else "") or default_relative_to
    placement = node.attributes.get("placement_frame") or MODEL_FRAME
    return ScopeFrame(node, read_pose(pose), relative_to, attached_to, placement)
