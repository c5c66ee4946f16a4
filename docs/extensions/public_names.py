"""The public names of merganser: which there are, where each is at home, and what a text means by one."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# Modules that are no packages, and are used by those who extend merganser.
_MODULES = (
    "merganser.analysis.integrators.problem",
    "merganser.multibody.kernels.constraints.ends",
    "merganser.multibody.kernels.mobilizers.motion",
    "merganser.multibody.kernels.spatial",
)
# What is made for those who extend merganser, and where the machinery is; all else is for programs.
INSIDE = (
    "merganser.analysis.integrators",
    "merganser.framework.native",
    "merganser.geometry.images",
    "merganser.geometry.proximity",
    "merganser.multibody.contact",
    "merganser.multibody.kernels",
    "merganser.multibody.tree.",
)
# What variables are called in texts, and of which class they are.
_VARIABLES = {
    "builder": "DiagramBuilder", "context": "Context", "diagram": "Diagram", "inspector": "SceneGraphInspector",
    "integrator": "IntegratorBase", "meshcat": "Meshcat", "parser": "Parser", "plant": "MultibodyPlant",
    "query_object": "QueryObject", "scene_graph": "SceneGraph", "simulator": "Simulator", "system": "System",
}  # fmt: skip
_IDENTIFIERS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_inside(package: str) -> bool:
    """Whether a package is for those who extend merganser."""
    return package.startswith(INSIDE)


def _has_identity(thing: Any) -> bool:
    """Whether two names of it are names of one thing; numbers and text may be equal by chance."""
    return not isinstance(thing, (bool, int, float, str, tuple)) and thing is not None


def _own_name(thing: Any) -> str:
    """The name of a class, a function or a template."""
    return getattr(thing, "__name__", getattr(thing, "name", ""))


def _is_member(cls: type, name: str, thing: Any) -> bool:
    """Whether a member of a class is described with it; the class docstring describes attribute values."""
    if name.startswith("_"):
        return False
    if isinstance(thing, (property, staticmethod, classmethod, type)) or type(thing).__name__ == "ScalarMethod":
        return True
    return callable(thing) or (issubclass(cls, enum.Enum) and name in cls.__members__)


class PublicNames:
    """The public names of the packages of merganser.

    Attributes:
        packages: the modules that export names, by their own.
        homes: for each name, as `merganser.framework.LeafSystem`, the one under which the same thing is described.
        things: what is described, by its name.
        members: for each class that is described, the names of its functions, properties and values, inherited ones
            included, and of which class that is described each is.
    """

    def __init__(self) -> None:
        listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
        modules = {name: importlib.import_module(name) for name in (*listed, *_MODULES)}
        self.packages = {name: module for name, module in modules.items() if getattr(module, "__all__", None)}
        self.homes: dict[str, str] = {}
        self.things: dict[str, Any] = {}
        self._home_of: dict[int, str] = {}
        for package in sorted(self.packages, key=lambda name: (is_inside(name), name.count("."))):
            exported = [(name, getattr(self.packages[package], name)) for name in self.packages[package].__all__]
            for name, thing in sorted(exported, key=lambda pair: pair[0] != _own_name(pair[1])):
                self._add(f"{package}.{name}", thing)
        self._by_last_part: dict[str, set[str]] = defaultdict(set)
        for address, home in self.homes.items():
            self._by_last_part[address.rpartition(".")[2]].add(home)
        self.members = {home: self._members(thing) for home, thing in self.things.items() if inspect.isclass(thing)}
        self._owners: dict[str, set[str]] = defaultdict(set)
        for members in self.members.values():
            for name, owner in members.items():
                self._owners[name].add(f"{owner}.{name}")

    def _add(self, address: str, thing: Any) -> None:
        home = self._home_of.setdefault(id(thing), address) if _has_identity(thing) else address
        self.homes[address] = home
        self.things.setdefault(home, thing)

    def home_of(self, thing: Any) -> str | None:
        """Under which name something is described, if it is."""
        return self._home_of.get(id(thing)) if _has_identity(thing) else None

    def bases(self, cls: type) -> list[type]:
        """The nearest classes that are described and from which a class is derived."""
        found: list[type] = []
        for base in cls.__mro__[1:]:
            if self.home_of(base) and not any(issubclass(nearer, base) for nearer in found):
                found.append(base)
        return found

    def own_parts(self, cls: type) -> list[type]:
        """The class and those of which it is made, by which no other class that is described is made."""
        others = {part for base in self.bases(cls) for part in base.__mro__}
        return [part for part in cls.__mro__ if part not in others and part.__module__.startswith("merganser")]

    def topics(self, cls: type) -> list[tuple[type, dict[str, Any]]]:
        """The members described with a class, grouped by its base classes: names and objects."""
        found, seen = [], set()
        for part in self.own_parts(cls):
            own = {name: thing for name, thing in vars(part).items() if name not in seen}
            members = {name: thing for name, thing in own.items() if _is_member(cls, name, thing)}
            seen.update(members)
            found.append((part, members))
        return found

    def _members(self, cls: type) -> dict[str, str]:
        members: dict[str, str] = {}
        for base in reversed([cls, *(b for b in cls.__mro__[1:] if self.home_of(b))]):
            members.update({name: self._home_of[id(base)] for _, own in self.topics(base) for name in own})
        return members

    @functools.cache  # noqa: B019  there is one
    def meaning(self, text: str, scope: str | None = None) -> str | None:
        """The public name that a text in code type means, as it is described; None if it is not public.

        Args:
            text: as `Simulator`, `simulator.AdvanceTo(1.0)`, `merganser.geometry.Box`, `Gain_[AutoDiffXd]`.
            scope: the class or package of whose description the text is part.
        """
        match = _IDENTIFIERS.match(text)
        if match is None or text[match.end() :][:1] not in ("", "(", "["):
            return None
        name = match.group()
        if name == text and name.islower() and "_" not in name and "." not in name:
            return None  # more often an argument
        within = self._member(scope, name) if scope else None
        if within or (scope and (within := self.homes.get(f"{scope.rpartition('.')[0]}.{name}"))):
            return within
        if name in self.packages or name in self.things:
            return name
        if name.startswith("merganser.") and (inner := self._by_place(name)):
            return inner
        if name in self.homes:
            return self.homes[name]
        head, _, rest = name.partition(".")
        if rest:
            owner = self.meaning(_VARIABLES.get(head, head), scope)
            if owner is None and name.startswith("merganser."):
                head, _, rest = name.rpartition(".")
                owner = self.homes.get(head)
            return self._member(owner, rest) if owner else None
        return self._only(self._by_last_part.get(name)) or self._only(self._owners.get(name))

    def _by_place(self, name: str) -> str | None:
        """The names defined in a module inside a package, as annotations write them."""
        module, _, last = name.rpartition(".")
        thing = getattr(sys.modules.get(module), last, None)
        return self.home_of(thing)

    def _member(self, owner: str, name: str) -> str | None:
        of_class = self.members.get(owner, {}).get(name)
        return f"{of_class}.{name}" if of_class else None

    @staticmethod
    def _only(found: set[str] | None) -> str | None:
        return next(iter(found)) if found and len(found) == 1 else None


@functools.cache
def public_names() -> PublicNames:
    """The names of the merganser that is imported."""
    return PublicNames()
