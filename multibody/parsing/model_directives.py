"""Model directives: a list of models, frames and welds, as records that YAML files hold (`.dmd.yaml`)."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from merganser.framework.common.records import settings
from merganser.framework.schema import Transform
from merganser.multibody.parsing.errors import ParsingError, SourceLocation

_BY_HAND = SourceLocation("<model directives>")


@dataclass(kw_only=True, eq=False)
class _Record:
    """A record that knows where it was read."""

    _location: ClassVar[SourceLocation] = _BY_HAND

    def _check(self) -> None:
        """Refuses an incomplete directive.

        Raises:
            ParsingError: with the place of the record.
        """

    def _error(self, message: str) -> ParsingError:
        return ParsingError(self._location, message)

    def _require(self, directive: str, *names: str) -> None:
        for name in names:
            if not getattr(self, name):
                raise self._error(f"{directive}: `{name}` must not be empty.")


@settings
@dataclass(kw_only=True, eq=False)
class AddModel(_Record):
    """Adds the one model of a file.

    Attributes:
        file: address (package://, file://), or a path relative to the file of the directives.
        name: of the new model instance, perhaps scoped.
        default_joint_positions: by name of the joint; each of the shape [num_positions].
        default_free_body_pose: by name of a frame of the model, where '' is that of its only body; relative to the
            world, or to another frame, to which a floating joint then connects it.
    """

    file: str = ""
    name: str = ""
    default_joint_positions: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    default_free_body_pose: dict[str, Transform] = field(default_factory=dict)

    def _check(self) -> None:
        self._require("add_model", "file", "name")
        for frame, pose in self.default_free_body_pose.items():
            if not pose.IsDeterministic():
                raise self._error(f"add_model: `default_free_body_pose` of '{frame}' must not be a distribution.")


@settings
@dataclass(kw_only=True, eq=False)
class AddModelInstance(_Record):
    """Adds an empty model instance."""

    name: str = ""

    def _check(self) -> None:
        self._require("add_model_instance", "name")


@settings
@dataclass(kw_only=True, eq=False)
class AddFrame(_Record):
    """Adds a frame.

    Attributes:
        name: perhaps scoped by the name of a model instance; by default it belongs to that of the base frame.
        X_PF: pose in the base frame, which must be given.
    """

    name: str = ""
    X_PF: Transform = field(default_factory=Transform)

    def _check(self) -> None:
        self._require("add_frame", "name")
        if not self.X_PF.base_frame:
            raise self._error(f"add_frame: `X_PF.base_frame` of frame '{self.name}' must be given.")
        if not self.X_PF.IsDeterministic():
            raise self._error(f"add_frame: `X_PF` of frame '{self.name}' must not be a distribution.")


@settings
@dataclass(kw_only=True, eq=False)
class AddWeld(_Record):
    """Welds two frames together.

    Attributes:
        parent, child: frames, perhaps scoped.
        X_PC: pose of the child in the parent; None for the identity.
    """

    parent: str = ""
    child: str = ""
    X_PC: Transform | None = None

    def _check(self) -> None:
        self._require("add_weld", "parent", "child")
        if self.X_PC is None:
            return
        if self.X_PC.base_frame:
            raise self._error("add_weld: `X_PC` must not have a `base_frame`; it is the pose in the parent frame.")
        if not self.X_PC.IsDeterministic():
            raise self._error("add_weld: `X_PC` must not be a distribution.")


@settings
@dataclass(kw_only=True, eq=False)
class AddCollisionFilterGroup(_Record):
    """Names a group of bodies, whose geometries do not collide with those of other groups.

    Attributes:
        name: of the group.
        members: bodies, perhaps scoped.
        member_groups: groups, of which all bodies belong to this group, too.
        model_namespace: the name of the group and all names in it are scoped by this.
        ignored_collision_filter_groups: groups with which this group does not collide, perhaps itself.
    """

    name: str = ""
    members: list[str] = field(default_factory=list)
    member_groups: list[str] = field(default_factory=list)
    model_namespace: str | None = None
    ignored_collision_filter_groups: list[str] = field(default_factory=list)

    def _check(self) -> None:
        self._require("add_collision_filter_group", "name")
        if "::" in self.name:
            raise self._error(
                f"add_collision_filter_group: the name '{self.name}' must not be scoped; use `model_namespace`."
            )
        if not self.members and not self.member_groups:
            raise self._error(
                f"add_collision_filter_group: group '{self.name}' needs at least one of `members` and `member_groups`."
            )


@settings
@dataclass(kw_only=True, eq=False)
class AddDirectives(_Record):
    """Processes another file of directives.

    Attributes:
        file: its address.
        model_namespace: name of a model instance, by which all names of that file are scoped.
    """

    file: str = ""
    model_namespace: str | None = None

    def _check(self) -> None:
        self._require("add_directives", "file")


@settings
@dataclass(kw_only=True, eq=False)
class ModelDirective(_Record):
    """One directive: exactly one of the attributes is not None."""

    add_model: AddModel | None = None
    add_model_instance: AddModelInstance | None = None
    add_frame: AddFrame | None = None
    add_weld: AddWeld | None = None
    add_collision_filter_group: AddCollisionFilterGroup | None = None
    add_directives: AddDirectives | None = None

    def _check(self) -> None:
        self._only()._check()

    def _only(self) -> Any:
        """The one attribute that is not None."""
        names = [f.name for f in dataclasses.fields(self)]
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            got = f"has {' and '.join(given)}" if given else "is empty"
            raise self._error(f"a directive {got}; expected exactly one of {', '.join(names)}.")
        return getattr(self, given[0])


@settings
@dataclass(kw_only=True, eq=False)
class ModelDirectives(_Record):
    """A list of directives, which are done one after the other."""

    directives: list[ModelDirective] = field(default_factory=list)

    def _check(self) -> None:
        for directive in self.directives:
            directive._check()


def LoadModelDirectives(filename: str | os.PathLike) -> ModelDirectives:
    """Reads a file of model directives; nothing is done yet.

    Raises:
        ParsingError: the file is missing, or no valid list of directives (a RuntimeError).
    """
    return _load(filename=Path(filename))


def LoadModelDirectivesFromString(model_directives: str) -> ModelDirectives:
    """Reads model directives from a YAML document; nothing is done yet.

    Raises:
        ParsingError: it is no valid list of directives (a RuntimeError).
    """
    return _load(data=model_directives)


def _load(**source: Any) -> ModelDirectives:
    """Reads directives from the source given by a keyword of `yaml_load_typed`."""
    from merganser.framework.yaml import yaml_load_typed  # 30 ms, which models without directives need not wait for

    directives: ModelDirectives = yaml_load_typed(schema=ModelDirectives, **source)
    directives._check()
    return directives
