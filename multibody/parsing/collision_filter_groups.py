"""The collision filter groups a parser has read, and what they mean for a SceneGraph."""

from __future__ import annotations

__all__ = ["CollisionFilterGroups"]


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
        """Lets two groups ignore each other; a group paired with itself ignores itself."""
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
