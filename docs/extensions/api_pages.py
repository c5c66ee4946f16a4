"""The pages of the reference, written from what the packages export: one for each package and for each class."""

from __future__ import annotations

import enum
import inspect
from pathlib import Path
from typing import Any

from docstrings import first_sentence, to_rst
from public_names import PublicNames, is_inside, public_names

_FOR_PROGRAMS = "Packages that programs use"
_MANY_MEMBERS = 120  # of a class whose topics have pages of their own
_FOR_EXTENSIONS = "Packages for those who extend merganser"


def write_pages(folder: Path) -> None:
    """Writes all pages into a folder; those that are the same already are left alone, so that Sphinx knows them."""
    names = public_names()
    pages = {"index": _index(names)}
    for package in names.packages:
        pages[package] = _package_page(names, package)
    for home, thing in names.things.items():
        if inspect.isclass(thing):
            pages |= _class_pages(names, home, thing)
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, lines in pages.items():
        path, text = folder / f"{name}.rst", "\n".join(lines) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _title(text: str, line: str = "=") -> list[str]:
    return [text, line * len(text), ""]


def _index(names: PublicNames) -> list[str]:
    lines = [
        *_title("Reference"),
        "All that the packages export, from their docstrings. Units are SI, angles in radians; arrays say their",
        "shapes. ``X_WB`` is the pose of B in W, ``V_WB_W`` the velocity of B in W, expressed in W, [rotational;",
        "translational].",
        "``Foo_[T]`` is ``Foo`` for scalars of type T.",
        "",
    ]
    for title, inside in ((_FOR_PROGRAMS, False), (_FOR_EXTENSIONS, True)):
        packages = [package for package in names.packages if is_inside(package) == inside]
        rows = [(f":doc:`{p}`", first_sentence(names.packages[p].__doc__)) for p in packages]
        lines += [*_title(title, "-"), *_table(rows), ".. toctree::", "   :hidden:", ""]
        lines += [f"   {package.removeprefix('merganser.')} <{package}>" for package in packages] + [""]
    return lines


def _table(rows: list[tuple[str, str]]) -> list[str]:
    """A table of two columns: a name, and what it is."""
    if not rows:
        return []
    lines = [".. list-table::", "   :class: api-table", "   :widths: 38 62", ""]
    for name, text in rows:
        lines += [f"   * - {name}", f"     - {text}"]
    return [*lines, ""]


def _package_page(names: PublicNames, package: str) -> list[str]:
    module = names.packages[package]
    lines = [*_title(package), f".. py:module:: {package}", "", *to_rst(module.__doc__)]
    here, elsewhere = [], []
    for name in sorted(module.__all__, key=str.lower):
        address = f"{package}.{name}"
        (here if names.homes[address] == address else elsewhere).append(name)
    by_kind: dict[str, list[str]] = {kind: [] for kind in ("Classes", "Functions", "Other scalars", "Values")}
    for name in here:
        by_kind[_kind(getattr(module, name))].append(name)
    classes = [(f":py:class:`~{package}.{n}`", first_sentence(getattr(module, n).__doc__)) for n in by_kind["Classes"]]
    if classes:
        lines += [*_title("Classes", "-"), *_table(classes), ".. toctree::", "   :hidden:", ""]
        lines += [f"   {name} <{package}.{name}>" for name in by_kind["Classes"]] + [""]
    if by_kind["Functions"]:
        lines += _title("Functions", "-")
        for name in by_kind["Functions"]:
            lines += _function(f"{package}.{name}", getattr(module, name))
    if by_kind["Other scalars"]:
        lines += [*_title("Other scalars", "-"), "Templates: in brackets comes the scalar type.", ""]
        for name in by_kind["Other scalars"]:
            lines += [f".. py:data:: {name}", ""]
    if by_kind["Values"]:
        lines += _title("Values", "-")
        for name in by_kind["Values"]:
            lines += _value(f"{package}.{name}", getattr(module, name))
    if elsewhere:
        rows = [(f"``{name}``", f":py:obj:`{names.homes[f'{package}.{name}']}`") for name in elsewhere]
        lines += [*_title("Described elsewhere", "-"), *_table(rows)]
    return lines


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "Classes"
    if type(thing).__name__.endswith("Template"):
        return "Other scalars"
    return "Functions" if callable(thing) and not isinstance(thing, enum.Enum) else "Values"


def _function(address: str, function: Any) -> list[str]:
    if inspect.isroutine(function):
        return [f".. autofunction:: {address}", ""]
    doc = to_rst(function.__doc__)
    try:
        parameters = ", ".join(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = ""
    return [f".. py:function:: {address.rpartition('.')[2]}({parameters})", "", *_indented(doc)]


def _value(address: str, value: Any) -> list[str]:
    text = repr(value)
    shown = [f"   :value: {text}"] if len(text) < 60 and "0x" not in text and "\n" not in text else []
    return [f".. py:data:: {address.rpartition('.')[2]}", *shown, ""]


def _class_pages(names: PublicNames, home: str, cls: type) -> dict[str, list[str]]:
    """The page of a class and, if it has very many members, one for each topic."""
    package, _, name = home.rpartition(".")
    lines = [*_title(name), f".. py:currentmodule:: {package}", ""]
    lines += [f".. autoclass:: {home}", "   :show-inheritance:", ""]
    topics = [(part, members) for part, members in names.topics(cls) if members]
    size = sum(len(members) for _, members in topics)
    if size > _MANY_MEMBERS:
        return _pages_by_topic(names, home, cls, topics, lines)
    if size > 8:
        lines += _indented([".. rubric:: Summary", ""])
        for _, members in topics:
            lines += _indented(_summary(home, cls, members))
    for part, members in topics:
        lines += [] if part is cls else [f"   .. rubric:: {first_sentence(part.__doc__)}", ""]
        for member, thing in members.items():
            lines += _indented(_member(names, f"{home}.{member}", thing))
    return {home: lines}


def _summary(home: str, cls: type, members: dict[str, Any]) -> list[str]:
    rows = [
        (f":py:obj:`{member} <{home}.{member}>`", first_sentence(inspect.getdoc(getattr(cls, member))))
        for member in members
    ]
    return _table(rows)


def _pages_by_topic(
    names: PublicNames, home: str, cls: type, topics: list[tuple[type, dict[str, Any]]], lines: list[str]
) -> dict[str, list[str]]:
    package, _, name = home.rpartition(".")
    pages, entries = {}, []
    for part, members in topics:
        word = "general" if part is cls else part.__name__.removesuffix("Face").lower()
        title, topic = f"{name}: {word}", f"{home}-{word}"
        about = [] if part is cls else to_rst(part.__doc__)
        page = [*_title(title), *about, f".. py:currentmodule:: {package}", ""]
        page += [f".. py:class:: {name}", "   :no-index:", ""]
        for member, thing in members.items():
            page += _indented(_member(names, f"{home}.{member}", thing))
        pages[topic] = page
        first = "" if part is cls else first_sentence(part.__doc__)
        lines += [*_title(word.capitalize(), "-"), f":doc:`{topic}`. {first}", "", *_summary(home, cls, members)]
        entries.append(f"   {word} <{topic}>")
    return {home: [*lines, ".. toctree::", "   :hidden:", "", *entries, ""], **pages}


def _member(names: PublicNames, address: str, thing: Any) -> list[str]:
    name = address.rpartition(".")[2]
    if isinstance(thing, property):
        return [f".. autoproperty:: {address}", ""]
    if isinstance(thing, enum.Enum):
        return [f".. py:attribute:: {name}", f"   :value: {thing.value!r}", ""]
    if inspect.isclass(thing):
        return _nested(names, address, thing)
    if type(thing).__name__ == "ScalarMethod":
        return [f".. py:method:: {name}()", "", *_indented(to_rst(thing.__doc__))]
    return [f".. automethod:: {address}", ""]


def _nested(names: PublicNames, address: str, cls: type) -> list[str]:
    """A class in a class, which may be a name of one that is described on a page of its own."""
    name, home = address.rpartition(".")[2], names.home_of(cls)
    if home:
        return [f".. py:attribute:: {name}", "", f"   Another name of :py:class:`{home}`.", ""]
    lines = [f".. py:class:: {name}", "", *_indented(to_rst(cls.__doc__))]
    for _, members in names.topics(cls):
        for member, thing in members.items():
            lines += _indented(_member(names, f"{address}.{member}", thing))
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"   {line}" if line else "" for line in lines]
