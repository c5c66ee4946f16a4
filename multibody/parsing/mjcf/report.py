"""What an MJCF file says that has no counterpart here, in one report."""

from __future__ import annotations

__all__ = ["MjcfReport"]

from dataclasses import dataclass, field
from pathlib import Path

from merganser.multibody.parsing.errors import Diagnostics, SourceLocation

_NUM_PLACES = 8  # that are shown of one thing


@dataclass
class MjcfReport:
    """Collects what is left out or approximated, and tells it in one warning.

    Attributes:
        entries: the places of each thing, in the order in which the things were found.
    """

    entries: dict[str, list[SourceLocation]] = field(default_factory=dict)

    def add(self, location: SourceLocation, what: str) -> None:
        """Notes that something is left out or approximated.

        Args:
            location: where it stands.
            what: what it is, and what becomes of it; the same words for things of one kind.
        """
        places = self.entries.setdefault(what, [])
        if location not in places:
            places.append(location)

    def tell(self, location: SourceLocation, diagnostics: Diagnostics) -> None:
        """Gives one warning with everything in it; none if there is nothing to tell.

        Args:
            location: of the document.
            diagnostics: receives the warning.
        """
        if not self.entries:
            return
        def place(where: SourceLocation) -> tuple[bool, str, int]:
            return where.file != location.file, where.file, where.line

        found = [(what, sorted(places, key=place)) for what, places in self.entries.items()]
        ordered = sorted(found, key=lambda entry: place(entry[1][0]))
        lines = [f"  {_describe(places, location)}: {what}" for what, places in ordered]
        diagnostics.warn(location, "\n".join(["not everything in this MJCF file has a counterpart.", *lines]))


def _describe(places: list[SourceLocation], document: SourceLocation) -> str:
    """The places of one thing: `line 3`, `lines 3, 4 and 20 others`; with the file, if it is another one."""
    names = [
        str(place.line) if place.file == document.file else f"{Path(place.file).name}:{place.line}" for place in places
    ]
    shown, others = names[:_NUM_PLACES], len(names) - _NUM_PLACES
    text = ", ".join(shown) + (f" and {others} others" if others > 0 else "")
    return f"line{'s' if len(names) > 1 else ''} {text}" if places[0].file == document.file else text
