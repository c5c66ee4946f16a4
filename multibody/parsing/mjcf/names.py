"""Names in MJCF files: what elements are called after replication and attachment, and which one a name means."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from merganser.framework.common.errors import nearest_names
from merganser.multibody.parsing.xml_reader import XmlNode

# Which replica of each <replicate> around an element it is, from the outermost one: its number and its suffix.
Copies = tuple[tuple[int, int, str], ...]


class Copy(NamedTuple):
    """One of the elements that a name in a file means.

    Attributes:
        copies: which replica it is.
        thing: the element, as it was registered.
    """

    copies: Copies
    thing: Any


@dataclass(frozen=True)
class Spot:
    """Where elements of a file are put: how their names change.

    Attributes:
        prefix: of the <attach> elements around.
        suffix: of the <replicate> elements around the <attach>.
        copies: of the <replicate> elements in the same file.
    """

    prefix: str = ""
    suffix: str = ""
    copies: Copies = ()

    def full(self, name: str, copies: Copies | None = None) -> str:
        """The name of an element in the whole model; nameless elements stay so."""
        own = "".join(suffix for *_, suffix in reversed(self.copies if copies is None else copies))
        return f"{self.prefix}{name}{own}{self.suffix}" if name else ""

    def candidates(self, name: str) -> list[str]:
        """Candidates for a name at this spot in the whole model: of the innermost replica first, then outwards."""
        return [self.full(name, self.copies[:k]) for k in range(len(self.copies), -1, -1)]

    def attached(self, prefix: str) -> Spot:
        """The name scope of the model that this <attach> inserts."""
        own = "".join(suffix for *_, suffix in reversed(self.copies))
        return Spot(self.prefix + prefix, own + self.suffix)

    def replica(self, serial: int, number: int, suffix: str) -> Spot:
        """The name scope of one replica at this spot."""
        return replace(self, copies=(*self.copies, (serial, number, suffix)))


@dataclass
class MjcfNames:
    """The name scope of one file at one spot.

    Attributes:
        spot: where the file is put.
        is_complete: whether all of the file is there; what refers to missing parts is an error then.
        of_model: what is in the whole model, by kinds and full names; all files share it.
    """

    spot: Spot
    is_complete: bool
    of_model: dict[tuple[str, str], Any] = field(default_factory=dict)
    _things: dict[tuple[str, str], dict[Copies, Any]] = field(default_factory=dict)

    def add(self, kind: str, name: str, copies: Copies, thing: Any, node: XmlNode) -> None:
        """Registers what a name in the file means.

        Raises:
            ParsingError: the name is taken.
        """
        if not name:
            return
        found = self._things.setdefault((kind, name), {})
        if copies in found:
            raise node.error(f"a second {kind} is named '{name}'. Rename one of them.")
        found[copies] = thing
        self.of_model.setdefault((kind, self.spot.full(name, copies)), thing)

    def find(self, node: XmlNode, kind: str, name: str) -> list[Copy]:
        """All elements that a name means: one, if it is not replicated; none, if it is not at this spot.

        What is not so named in the file may be one replica, `leg0` of the body `leg`, or attached, `left_leg`.

        Raises:
            ParsingError: there is no such element in the file, nor attached to it.
        """
        found = self._things.get((kind, name), {})
        full = kind, self.spot.full(name, ())
        if not found and full in self.of_model and (self.is_complete or self.spot.prefix):
            return [Copy((), self.of_model[full])]
        if not found and self.is_complete:
            known = [known_name for known_kind, known_name in {**self._things, **self.of_model} if known_kind == kind]
            hint = nearest_names(name, known)
            raise node.error(f"{node.describe()} names the unknown {kind} '{name}'. {hint}")
        return [Copy(copies, thing) for copies, thing in found.items()]

    def combinations(
        self, node: XmlNode, references: Collection[tuple[str, str]]
    ) -> Iterator[tuple[Copies, list[Any]]]:
        """The elements that an element of another section refers to, for each of their replicas.

        Args:
            node: the element that refers.
            references: kind and name of what it refers to.

        Yields:
            Which replica it is, and one element for each reference.
        """
        combined: list[tuple[Copies, list[Any]]] = [((), [])]
        for kind, name in references:
            found = self.find(node, kind, name)
            combined = [
                (longer, [*things, copy.thing])
                for copies, things in combined
                for copy in found
                if (longer := _together(copies, copy.copies)) is not None
            ]
        yield from combined


def _together(first: Copies, second: Copies) -> Copies | None:
    """Both as one; None if they are different replicas of the same elements."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    merged = {serial: (number, suffix) for serial, number, suffix in longer}
    for serial, number, suffix in shorter:
        if merged.setdefault(serial, (number, suffix)) != (number, suffix):
            return None
    return tuple((serial, number, suffix) for serial, (number, suffix) in sorted(merged.items()))


def unique_name(name: str, taken: set[str]) -> str:
    """A name, with a number if it is taken, which is taken from now on."""
    candidate, count = name, 0
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    taken.add(candidate)
    return candidate
