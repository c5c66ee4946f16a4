"""The collision filter groups a parser has read, and what they mean for a SceneGraph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from merganser import geometry
from merganser.framework.common.errors import nearest_names
from merganser.multibody.parsing.errors import ParsingError, SourceLocation


class CollisionFilterGroups:
    """Named groups of bodies, and pairs of groups whose bodies do not collide with each other."""

    def __init__(self) -> None:
        self._groups: dict[str, set[str]] = {}
        self._exclusion_pairs: set[tuple[str, str]] = set()

    def AddGroup(self, name: str, members: set[str]) -> None:
        """Adds a group of bodies, all by scoped name.

        Raises:
            RuntimeError: there is a group of that name.
        """
        if name in self._groups:
            raise RuntimeError(f"There already is a collision filter group '{name}'.")
        self._groups[name] = set(members)

    def AddExclusionPair(self, pair: tuple[str, str]) -> None:
        """Excludes collisions between two groups; a group paired with itself has none within."""
        first, second = sorted(pair)
        self._exclusion_pairs.add((first, second))

    def groups(self) -> dict[str, set[str]]:
        """Scoped body names by scoped group name."""
        return {name: set(members) for name, members in self._groups.items()}

    def exclusion_pairs(self) -> set[tuple[str, str]]:
        """Pairs of scoped group names, each in alphabetical order."""
        return set(self._exclusion_pairs)

    def empty(self) -> bool:
        """Whether there are neither groups nor pairs."""
        return not self._groups and not self._exclusion_pairs


class GroupResolver:
    """Collects groups that may refer to each other, and looks up their bodies when all are known.

    Args:
        plant: has the bodies.
    """

    def __init__(self, plant: Any):
        self._plant = plant
        self._groups: dict[str, _Group] = {}

    def add(
        self,
        name: str,
        members: Iterable[str],
        member_groups: Iterable[str],
        ignored_groups: Iterable[str],
        location: SourceLocation,
    ) -> None:
        """Adds a group; all names are scoped by model instances.

        Raises:
            ParsingError: there is a group of that name, or no such body.
        """
        if name in self._groups:
            earlier = self._groups[name].location
            raise ParsingError(location, f"collision filter group '{name}' is already defined at {earlier}.")
        group = _Group(tuple(members), tuple(member_groups), tuple(ignored_groups), location)
        for member in group.members:
            self._check_body(name, member, location)
        self._groups[name] = group

    def resolve(self) -> CollisionFilterGroups:
        """Returns the groups with all their bodies.

        Raises:
            ParsingError: a group refers to one that is not there.
        """
        groups = CollisionFilterGroups()
        for name, group in self._groups.items():
            for kind, others in (("has as member", group.member_groups), ("ignores", group.ignored_groups)):
                unknown = next((other for other in others if other not in self._groups), None)
                if unknown is not None:
                    raise ParsingError(
                        group.location,
                        f"collision filter group '{name}' {kind} the unknown group '{unknown}'. "
                        f"{nearest_names(unknown, self._groups)}",
                    )
            groups.AddGroup(name, self._all_members(name))
            for other in group.ignored_groups:
                groups.AddExclusionPair((name, other))
        return groups

    def _all_members(self, name: str) -> set[str]:
        """The bodies of a group and of those in it, which may contain each other."""
        members: set[str] = set()
        waiting, seen = [name], {name}
        while waiting:
            group = self._groups[waiting.pop()]
            members.update(group.members)
            new = [other for other in group.member_groups if other not in seen]
            waiting += new
            seen.update(new)
        return members

    def _check_body(self, group: str, scoped_name: str, location: SourceLocation) -> None:
        scope, _, body = scoped_name.rpartition("::")
        is_known = bool(scope) and self._plant.HasModelInstanceNamed(scope)
        if is_known and self._plant.HasBodyNamed(body, self._plant.GetModelInstanceByName(scope)):
            return
        raise ParsingError(
            location,
            f"collision filter group '{group}' has as member '{scoped_name}', which is not a body: expected the name "
            "of a model instance and of a body in it, as in 'instance::body'.",
        )


@dataclass(frozen=True)
class _Group:
    members: tuple[str, ...]
    member_groups: tuple[str, ...]
    ignored_groups: tuple[str, ...]
    location: SourceLocation


def apply_filters(groups: CollisionFilterGroups, plant: Any, scene_graph: Any) -> None:
    """Declares in a SceneGraph that bodies of groups which ignore each other do not collide.

    Args:
        groups: with scoped names of bodies.
        plant: has the bodies, and is registered with the SceneGraph.
        scene_graph: gets the filters.
    """
    members = groups.groups()
    declaration = geometry.CollisionFilterDeclaration(geometry.CollisionFilterScope.kOmitDeformable)
    for first, second in sorted(groups.exclusion_pairs()):
        if first == second:
            declaration.ExcludeWithin(_geometry_set(members[first], plant))
        else:
            declaration.ExcludeBetween(_geometry_set(members[first], plant), _geometry_set(members[second], plant))
    if declaration.statements():
        scene_graph.collision_filter_manager().Apply(declaration)


def _geometry_set(bodies: Iterable[str], plant: Any) -> Any:
    """The frames of bodies, which include all their geometries."""
    frames = []
    for name in sorted(bodies):
        scope, _, body = name.rpartition("::")
        found = plant.GetBodyByName(body, plant.GetModelInstanceByName(scope))
        frames.append(plant.GetBodyFrameIdOrThrow(found.index()))
    geometries = geometry.GeometrySet()
    geometries.Add(frames)
    return geometries
