"""Descriptions of documents that were read, for programs that make many plants of one file.

A document is kept if its description follows from its text and from where the files are that it names. These are
looked for each time. Documents that include others are read each time. Warnings about a document are kept with it,
since parsing may be strict the next time.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import NamedTuple

from merganser.multibody.parsing.description import DocumentDescription
from merganser.multibody.parsing.errors import ParsingError, SourceLocation
from merganser.multibody.parsing.package_map import PackageMap, Resolved, resolve_uri
from merganser.multibody.parsing.xml_reader import XmlNode

_NUM_KEPT = 8


class Reading(NamedTuple):
    """A document to read.

    Attributes:
        data: the document.
        file: the name that errors show.
        file_type: its format.
        with_geometry: whether visuals and collisions are read.
    """

    data: bytes | str
    file: str
    file_type: str
    with_geometry: bool


Warnings = list[tuple[SourceLocation, str]]


class _Kept(NamedTuple):
    description: bytes  # a pickle, as plants may keep what they are given
    warnings: Warnings
    files: list[tuple[Resolved, str]]  # that it names, with the places where they are


_KEPT: dict[Reading, _Kept] = {}


def kept(reading: Reading, package_map: PackageMap) -> tuple[DocumentDescription, Warnings] | None:
    """The description of a document, and warnings; None if it is not kept, or if files that it names are elsewhere."""
    found = _KEPT.get(reading)
    if found is None:
        return None
    try:
        if any(_place(resolve_uri(r.uri, package_map, r.location)) != place for r, place in found.files):
            return None
    except ParsingError:
        return None
    description: DocumentDescription = pickle.loads(found.description)
    return description, found.warnings


def keep(
    reading: Reading, root: XmlNode, resolved: list[Resolved], description: DocumentDescription, warnings: Warnings
) -> None:
    """Keeps a description, unless the document includes others; of those that are kept the oldest goes.

    Args:
        reading: what was read.
        root: the document's root element.
        resolved: the addresses in it, and what they mean.
        description: its description.
        warnings: what there is to be said about it.
    """
    if not _includes_others(root):
        files = [(each, _place(each.path)) for each in resolved]
        _KEPT[reading] = _Kept(pickle.dumps(description, pickle.HIGHEST_PROTOCOL), warnings, files)
        for oldest in list(_KEPT)[:-_NUM_KEPT]:
            _KEPT.pop(oldest, None)  # another thread may have been faster


def _place(path: Path) -> str:
    """The path of a file; empty if it does not exist."""
    return os.path.realpath(path) if path.is_file() else ""


def _includes_others(node: XmlNode) -> bool:
    return node.tag == "include" or any(map(_includes_others, node.children))
