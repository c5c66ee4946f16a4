"""Does what model directives say: flattening, and adding to a plant.

Frames by scoped name.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.framework.common.records import settings
from merganser.framework.math import RigidTransform
from merganser.framework.schema import Transform
from merganser.multibody.parsing.collision_filter_groups import GroupResolver
from merganser.multibody.parsing.errors import ParsingError
from merganser.multibody.parsing.model_directives import (
    AddFrame,
    AddModel,
    AddWeld,
    LoadModelDirectives,
    ModelDirective,
    ModelDirectives,
)
from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.tree import FixedOffsetFrame, Frame, ModelInstanceIndex, QuaternionFloatingJoint, ScopedName

if TYPE_CHECKING:
    from merganser.multibody.parsing.parser import Parser


def GetScopedFrameByName(plant: Any, full_name: str) -> Frame:
    """Returns a frame by its name, which may be scoped by the name of its model instance: instance::frame.

    Raises:
        RuntimeError: there is no such frame or model instance, or there are several frames of a name without scope.
    """
    name = ScopedName.Parse(full_name)
    instance = plant.GetModelInstanceByName(name.get_namespace()) if name.get_namespace() else None
    frame: Frame = plant.GetFrameByName(name.get_element(), instance)
    return frame


def GetScopedFrameByNameMaybe(plant: Any, full_name: str) -> Frame | None:
    """Returns a frame by its name, as GetScopedFrameByName() does, or None if it does not exist.

    Raises:
        RuntimeError: there are several frames of a name without scope.
    """
    name = ScopedName.Parse(full_name)
    if not name.get_namespace():
        return GetScopedFrameByName(plant, full_name) if plant.HasFrameNamed(name.get_element()) else None
    if not plant.HasModelInstanceNamed(name.get_namespace()):
        return None
    instance = plant.GetModelInstanceByName(name.get_namespace())
    return GetScopedFrameByName(plant, full_name) if plant.HasFrameNamed(name.get_element(), instance) else None


@settings
@dataclass(frozen=True)
class ModelInstanceInfo:
    """The model that an `add_model` directive has added.

    Attributes:
        model_name: the name that the directive gave, with its namespace.
        model_path: the file.
        parent_frame_name, child_frame_name: of the last `add_weld` whose child belongs to the model; or empty.
        X_PC: of that weld.
        model_instance: what was added.
    """

    model_name: str
    model_path: str
    model_instance: ModelInstanceIndex
    parent_frame_name: str = ""
    child_frame_name: str = ""
    X_PC: RigidTransform = field(default_factory=RigidTransform)


def FlattenModelDirectives(directives: ModelDirectives, package_map: PackageMap) -> ModelDirectives:
    """Returns the directives with those of other files in place of `add_directives`, their names scoped.

    Args:
        directives: stay as they are.
        package_map: finds the other files.

    Raises:
        ParsingError: a file is missing or invalid, or files add each other.
    """
    return ModelDirectives(directives=[step.directive for step in _flatten(directives, package_map)])


def ProcessModelDirectives(
    directives: ModelDirectives, plant: Any = None, parser: Parser | None = None
) -> list[ModelInstanceInfo]:
    """Adds to a plant what the directives say.

    If a directive fails, the plant is as it was before the first one. Names are as the directives say: the
    model_name_prefix of the parser is not used.

    Args:
        directives: as LoadModelDirectives() returns them.
        plant: takes the models; it may be left out, so that the second argument is the parser.
        parser: has packages and other options; by default a new one.

    Returns:
        The models that were added, in the order of their directives.

    Raises:
        ParsingError: a directive cannot be done; the message starts with its file and line (a RuntimeError).
        TypeError: neither a plant nor a parser is given.
    """
    from merganser.multibody.parsing.parser import Parser

    if isinstance(plant, Parser):
        plant, parser = None, plant
    if parser is None:
        if plant is None:
            raise TypeError("ProcessModelDirectives() takes directives and a parser, or directives and a plant.")
        parser = Parser(plant)
    elif plant is not None and plant is not parser.plant():
        raise RuntimeError("ProcessModelDirectives(): the parser belongs to another plant.")
    return process(directives, parser)


def process(directives: ModelDirectives, parser: Parser, namespace: str = "") -> list[ModelInstanceInfo]:
    """ProcessModelDirectives() with all names scoped by a namespace."""
    with parser._all_or_nothing():
        return _processed(directives, parser, namespace)


def _processed(directives: ModelDirectives, parser: Parser, namespace: str) -> list[ModelInstanceInfo]:
    directives._check()
    steps = list(_flatten(directives, parser.package_map(), namespace))
    processor = _Processor(parser)
    for step in steps:
        processor.do(step)
    processor.finish()
    return processor.infos


# ---------------------------------------------------------------------- flattening


@dataclass(frozen=True)
class _Step:
    """A directive that is no `add_directives`.

    Attributes:
        directive: with scoped names.
        namespaces: names of model instances that must exist, by which `add_directives` scoped it.
    """

    directive: ModelDirective
    namespaces: tuple[str, ...]


def _flatten(
    directives: ModelDirectives,
    package_map: PackageMap,
    namespace: str = "",
    namespaces: tuple[str, ...] = (),
    files: tuple[Path, ...] = (),
) -> Iterator[_Step]:
    """The steps of directives, those of other files among them."""
    for directive in directives.directives:
        other = directive.add_directives
        if other is None:
            yield _Step(_scoped(directive, namespace, is_of_other_file=bool(files)), namespaces)
            continue
        path = resolve_uri(other.file, package_map, other._location).resolve()
        if path in files:
            chain = " -> ".join(str(file) for file in (*files, path))
            raise other._error(f"files of directives add each other: {chain}.")
        inner = ScopedName.Join(namespace, other.model_namespace or "").get_full()
        required = (*namespaces, inner) if other.model_namespace else namespaces
        yield from _flatten(LoadModelDirectives(path), package_map, inner, required, (*files, path))


def _scoped(directive: ModelDirective, namespace: str, is_of_other_file: bool) -> ModelDirective:
    """A copy of a directive with its names in a namespace, frames without a scope in that of their base frame.

    A relative path in another file than the first becomes an absolute one, which means the same in both.
    """
    name, inner = next((f.name, p) for f in dataclasses.fields(directive) if (p := getattr(directive, f.name)))
    changes: dict[str, Any] = {}
    if name in ("add_model", "add_model_instance"):
        changes = {"name": _join(namespace, inner.name)}
    elif name == "add_frame":
        base = _join_frame(namespace, inner.X_PF.base_frame)
        scope = ScopedName.Parse(base).get_namespace()
        pose = Transform(base_frame=base, translation=inner.X_PF.translation, rotation=inner.X_PF.rotation)
        frame = _join(namespace, inner.name) if "::" in inner.name else _join(scope, inner.name)
        changes = {"name": frame, "X_PF": pose}
    elif name == "add_weld":
        changes = {part: _join_frame(namespace, getattr(inner, part)) for part in ("parent", "child")}
    elif name == "add_collision_filter_group":
        changes = {"model_namespace": _join(namespace, inner.model_namespace or "") or None}
    if name == "add_model":
        if is_of_other_file and "://" not in inner.file and inner._location.folder is not None:
            changes["file"] = os.path.abspath(inner._location.folder / inner.file)
        changes["default_free_body_pose"] = {
            frame: Transform(
                base_frame=pose.base_frame and _join_frame(namespace, pose.base_frame),
                translation=pose.translation,
                rotation=pose.rotation,
            )
            for frame, pose in inner.default_free_body_pose.items()
        }
    copied = dataclasses.replace(inner, **changes)
    copied._location = inner._location
    result = ModelDirective(**{name: copied})
    object.__setattr__(result, "_location", directive._location)
    return result


def _join(namespace: str, name: str) -> str:
    return f"{namespace}::{name}" if namespace and name else namespace or name


def _join_frame(namespace: str, name: str) -> str:
    """Joins a namespace and a frame; the world belongs to no namespace."""
    return name if name == "world" else _join(namespace, name)


# ---------------------------------------------------------------------- adding


class _Processor:
    """Runs the steps on the plant of a parser."""

    def __init__(self, parser: Parser):
        self._parser, self._plant = parser, parser.plant()
        self._groups = GroupResolver(self._plant)
        self.infos: list[ModelInstanceInfo] = []

    def do(self, step: _Step) -> None:
        record = step.directive._only()
        try:
            for namespace in step.namespaces:
                if not self._plant.HasModelInstanceNamed(namespace):
                    raise RuntimeError(
                        f"the namespace '{namespace}' is not a model instance. Add it before, by add_model_instance."
                    )
            self._do(step.directive)
        except ParsingError:
            raise
        except (RuntimeError, ValueError, TypeError) as cause:
            raise ParsingError(record._location, str(cause)) from cause

    def _do(self, directive: ModelDirective) -> None:
        if directive.add_model is not None:
            self._add_model(directive.add_model)
        elif directive.add_model_instance is not None:
            self._parser._add_model_instance(directive.add_model_instance.name)
        elif directive.add_frame is not None:
            self._add_frame(directive.add_frame)
        elif directive.add_weld is not None:
            self._add_weld(directive.add_weld)
        elif directive.add_collision_filter_group is not None:
            group = directive.add_collision_filter_group
            scope = group.model_namespace or ""
            self._groups.add(
                _join(scope, group.name),
                [_join(scope, member) for member in group.members],
                [_join(scope, member) for member in group.member_groups],
                [_join(scope, ignored) for ignored in group.ignored_collision_filter_groups],
                group._location,
            )

    def finish(self) -> None:
        """Adds collision filter groups after all directives, as groups may refer to later models."""
        self._parser._apply_filter_groups(self._groups.resolve())

    def _add_model(self, directive: AddModel) -> None:
        path = resolve_uri(directive.file, self._parser.package_map(), directive._location)
        instance = self._parser._add_one_model(path, directive.name, directive._location)
        for name, positions in directive.default_joint_positions.items():
            self._plant.GetJointByName(name, instance).set_default_positions(positions)
        for name, pose in directive.default_free_body_pose.items():
            self._set_pose(instance, name, pose)
        self.infos.append(ModelInstanceInfo(directive.name, str(path), instance))

    def _set_pose(self, instance: ModelInstanceIndex, name: str, pose: Transform) -> None:
        """The default pose of a base body, or a floating joint if its frames are not those of world and body."""
        if name:
            frame = self._plant.GetFrameByName(name, instance)
        else:
            bodies = self._plant.GetBodyIndices(instance)
            if len(bodies) != 1:
                raise RuntimeError(
                    "`default_free_body_pose` of '' means the only body of the model, but it has "
                    f"{len(bodies)}; name one."
                )
            frame = self._plant.get_body(bodies[0]).body_frame()
        body = frame.body()
        base = GetScopedFrameByName(self._plant, pose.base_frame or "world")
        X_PF = pose.GetDeterministicValue()
        if base.is_world_frame() and frame.GetFixedPoseInBodyFrame().IsExactlyIdentity():
            self._plant.SetDefaultFloatingBaseBodyPose(body, X_PF)
            return
        joint = self._plant.AddJoint(QuaternionFloatingJoint(body.name(), base, frame))
        joint.SetDefaultPose(X_PF)

    def _add_frame(self, directive: AddFrame) -> None:
        assert directive.X_PF.base_frame is not None
        base = GetScopedFrameByName(self._plant, directive.X_PF.base_frame)
        name = ScopedName.Parse(directive.name)
        scope = name.get_namespace()
        instance = self._plant.GetModelInstanceByName(scope) if scope else base.model_instance()
        X_PF = directive.X_PF.GetDeterministicValue()
        self._plant.AddFrame(FixedOffsetFrame(name.get_element(), base, X_PF, instance))

    def _add_weld(self, directive: AddWeld) -> None:
        parent, child = (GetScopedFrameByName(self._plant, name) for name in (directive.parent, directive.child))
        X_PC = RigidTransform() if directive.X_PC is None else directive.X_PC.GetDeterministicValue()
        self._plant.WeldFrames(parent, child, X_PC)
        for i, info in enumerate(self.infos):
            if info.model_instance == child.model_instance():
                self.infos[i] = dataclasses.replace(
                    info, parent_frame_name=parent.name(), child_frame_name=child.name(), X_PC=X_PC
                )
