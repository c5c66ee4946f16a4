"""READMEs of the packages as pages, and their sections in other pages: one source, also for programs that are executed.

A page says

    [A joint of your own](../../multibody/kernels/README.md#a-joint-of-your-own)<!-- include -->

and has the text of that section there, without its heading; elsewhere this is a link to it. With
`<!-- include, run -->`, programs in it are cells of the page. Links to other READMEs become links to their pages.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

from public_names import ROOT
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGES = ("framework", "geometry", "analysis", "multibody", "examples/plants")
_PLACE = re.compile(r"^\[([^\]]+)\]\((\S+/README\.md)#(\S+)\)<!-- include(, run)? -->$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)\)")
_MENTION = re.compile(r"`((?:[\w./]+/)?README\.md)`")
_CELL = "```{code-cell} ipython3\n:tags: [remove-output]\n"  # what they show is asserted in them
_PROGRAM = re.compile(r"^```python$", re.MULTILINE)


def readmes() -> dict[str, Path]:
    """The READMEs that are pages, by the names of these."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("README.md"))
    return {path.parent.relative_to(ROOT).as_posix().replace("/", "."): path for path in paths}


def write_pages(folder: Path) -> None:
    """Writes a page for each README, and one that lists them."""
    folder.mkdir(exist_ok=True)
    pages = readmes()
    for name, path in pages.items():
        text = _with_files(_linked(path.read_text(), path.parent, folder), path.parent)
        _write(folder / f"{name}.md", text)
    lines = ["# Packages", "", "What is in each folder, and how data flows through it: their READMEs.", ""]
    entries = [f"{name.replace('.', '/')} <{name}>" for name in pages]
    _write(folder / "index.md", "\n".join([*lines, "```{toctree}", ":maxdepth: 1", "", *entries, "```", ""]))


def _with_files(text: str, folder: Path) -> str:
    """A README with a table of the folder's files and what their docstrings begin with, before its first section."""
    inner = [face.parent for face in sorted(folder.glob("*/__init__.py"))]
    rooms = [folder, *(room for room in inner if not (room / "README.md").exists())]
    files = [path for room in rooms for path in sorted(room.glob("*.py")) if path.name != "__init__.py"]
    rows = [f"| `{path.relative_to(folder)}` | {_first_sentence(path)} |" for path in files]
    intro, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    table = "\n".join(["| file | what is in it |", "|---|---|", *rows, "", ""]) if rows else ""
    return "".join([intro.rstrip() + "\n\n", table, *sections])


def _first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return re.split(r"(?<=\.)\s", " ".join(docstring.split("\n\n")[0].split()))[0].replace("|", "\\|")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def expand(app: Sphinx, docname: str, source: list[str]) -> None:
    """Puts sections of READMEs into a page."""
    page = Path(app.env.doc2path(docname)).parent

    def text(match: re.Match[str]) -> str:
        title, address, anchor, is_run = match.groups()
        path = Path(os.path.normpath(page / address))
        app.env.note_dependency(str(path))
        place = path.relative_to(ROOT).as_posix()
        if anchor != re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")):
            raise ExtensionError(f"{place}: the link to section '{title}' leads to '#{anchor}'.")
        found = _linked(_section(path.read_text(), title, place), path.parent, page)
        return _PROGRAM.sub(_CELL, found) if is_run else found

    source[0] = _PLACE.sub(text, source[0])


def _section(text: str, title: str, place: str) -> str:
    """The text below a heading."""
    parts = re.split(r"^(#+ .*)$", text, flags=re.MULTILINE)
    headings = [heading.lstrip("# ") for heading in parts[1::2]]
    if title not in headings:
        raise ExtensionError(f"{place} has no section '{title}'. It has: {', '.join(headings)}.")
    return parts[2 * headings.index(title) + 2].strip()


def _linked(text: str, folder: Path, page: Path) -> str:
    """Links that are right in the README's folder made right in that of the page."""
    names = {path: name for name, path in readmes().items()}

    def link(match: re.Match[str], shown: str, target: str) -> str:
        path = Path(os.path.normpath(folder / target))
        if path in names:
            return f"[{shown}](/packages/{names[path]}.md)"
        return f"{shown} (`{path.relative_to(ROOT)}`)" if match.re is _LINK else match.group()

    text = _LINK.sub(lambda m: m.group() if "://" in m.group(2) else link(m, m.group(1), m.group(2)), text)
    return _MENTION.sub(lambda m: link(m, m.group(), m.group(1)), text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the extension with Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "packages"), priority=100)
    app.connect("source-read", expand)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
