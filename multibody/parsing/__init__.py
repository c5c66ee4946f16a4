"""Reads URDF, SDF and MJCF models, and model directives, into a plant."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.multibody.parsing.errors import ParsingError
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.parser import Parser

if _TYPE_CHECKING:
    from merganser.multibody.parsing.collision_filter_groups import CollisionFilterGroups
    from merganser.multibody.parsing.model_directives import (
        AddCollisionFilterGroup,
        AddDirectives,
        AddFrame,
        AddModel,
        AddModelInstance,
        AddWeld,
        LoadModelDirectives,
        LoadModelDirectivesFromString,
        ModelDirective,
        ModelDirectives,
    )
    from merganser.multibody.parsing.process_directives import (
        FlattenModelDirectives,
        GetScopedFrameByName,
        GetScopedFrameByNameMaybe,
        ModelInstanceInfo,
        ProcessModelDirectives,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AddCollisionFilterGroup",
    "AddDirectives",
    "AddFrame",
    "AddModel",
    "AddModelInstance",
    "AddWeld",
    "CollisionFilterGroups",
    "FlattenModelDirectives",
    "GetScopedFrameByName",
    "GetScopedFrameByNameMaybe",
    "LoadModelDirectives",
    "LoadModelDirectivesFromString",
    "ModelDirective",
    "ModelDirectives",
    "ModelInstanceInfo",
    "PackageMap",
    "Parser",
    "ParsingError",
    "ProcessModelDirectives",
]
