"""Reads URDF and SDF models into a plant."""

from merganser.multibody.parsing.collision_filter_groups import CollisionFilterGroups
from merganser.multibody.parsing.errors import ParsingError
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.parser import Parser

__all__ = ["CollisionFilterGroups", "PackageMap", "Parser", "ParsingError"]
