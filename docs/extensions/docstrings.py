"""Docstrings as reStructuredText: their words stay as they are, and what is indented is code.

Ours are plain text with `code`, lists, indented equations, and sections as Google has them (`Args:`). Sections become
fields; all else that means something in reStructuredText, and nothing to us, is escaped.
"""

from __future__ import annotations

import inspect
import re

_FIELDS = {  # by section: the name of the field, and how its items are named
    "Args": ("Parameters", "**{}**"),
    "Attributes": ("Attributes", "**{}**"),
    "Raises": ("Raises", ":py:exc:`{}`"),
}
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):(?: (.*))?$")
_ITEM = re.compile(r"([\w*][\w*., ]*?): ?(.*)")
_LIST = re.compile(r"([-*+]|\d+[.)]) +")
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def to_rst(docstring: str | None) -> list[str]:
    """The lines of a docstring as reStructuredText, with an empty one at the end."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(docstring or "").splitlines():
        header = _SECTION.match(line)
        if header:
            sections.append((header.group(1), [header.group(2)] if header.group(2) else []))
        elif sections[-1][0] and line.strip() and not line.startswith(" "):
            sections.append(("", [line]))  # text after a section
        else:
            sections[-1][1].append(line)
    result: list[str] = []
    for name, lines in sections:
        result += [*(_field(name, lines) if name else _text(lines)), ""]
    return result


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring, on one line, as reStructuredText."""
    paragraph = inspect.cleandoc(docstring or "").split("\n\n")[0]
    return escaped(" ".join(line.strip() for line in paragraph.splitlines()))


def _field(section: str, lines: list[str]) -> list[str]:
    body = inspect.cleandoc("\n".join(["", *lines])).splitlines()
    if section not in _FIELDS:
        return [f":{section}:", *_indented(_text(body))]
    title, style = _FIELDS[section]
    result = [f":{title}:"]
    for names, text in _items(body):
        shown = ", ".join(style.format(escaped(name) if "**" in style else name) for name in names)
        first, *rest = _text(text)
        result += [f"    * {shown}: {first}".rstrip(": ") if not first else f"    * {shown}: {first}"]
        result += _indented(rest, 6)
    return [*result, ""]


def _items(lines: list[str]) -> list[tuple[list[str], list[str]]]:
    """The items of a section: names, and the lines about them."""
    items: list[tuple[list[str], list[str]]] = []
    for line in lines:
        match = None if line.startswith(" ") else _ITEM.match(line)
        if match:
            items.append((match.group(1).split(", "), [match.group(2)]))
        elif items:
            items[-1][1].append(line)
        else:
            items.append((["?"], [line]))
    return [(names, [text[0], *inspect.cleandoc("\n".join(["", *text[1:]])).splitlines()]) for names, text in items]


def _text(lines: list[str]) -> list[str]:
    """Paragraphs, lists, and blocks of code, which are indented more than the text around them."""
    result: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        item = _LIST.match(line)
        if not line.strip():
            index += 1
        elif item:
            inside, index = _more_indented(lines, index + 1)
            text = _indented(_text([line[item.end() :], *inside]), item.end())
            result += [item.group() + text[0].lstrip(), *text[1:]]
        elif line.startswith(" "):
            inside, index = _more_indented(lines, index)
            result += ["::", "", *_indented(inside), ""]
        else:
            start = index
            while index < len(lines) and lines[index].strip() and (index == start or not _starts_other(lines[index])):
                index += 1
            result += [*escaped("\n".join(lines[start:index])).splitlines(), ""]
    return result or [""]


def _starts_other(line: str) -> bool:
    return line.startswith(" ") or _LIST.match(line) is not None


def _more_indented(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from one on that are indented, without their common indentation, and the number of the next one."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return inspect.cleandoc("\n".join(["", *lines[start:end]])).splitlines(), end


def _indented(lines: list[str], by: int = 4) -> list[str]:
    return [" " * by + line if line.strip() else "" for line in lines]


def escaped(text: str) -> str:
    """A piece of text in which only `code` has a meaning."""
    pieces, end = [], 0
    for match in _CODE.finditer(text):
        pieces += [_plain(text[end : match.start()]), f"\\ ``{match.group(2)}``\\ "]  # also where it touches letters
        end = match.end()
    return "".join([*pieces, _plain(text[end:])]).strip()


def _plain(text: str) -> str:
    text = re.sub(r"([\\*|`])", r"\\\1", text)
    text = re.sub(r"_(?![A-Za-z0-9])", r"\\_", text)
    return re.sub(r"::$", r":\\ :", text, flags=re.MULTILINE)
