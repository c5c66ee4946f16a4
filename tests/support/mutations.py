"""Documents with something wrong in them: characters, tags, values, addresses and entities changed at random."""

from __future__ import annotations

__all__ = ["mutated"]

import random
import re
from collections.abc import Callable

_WORDS = [
    "nan", "inf", "-1", "0", "1e308", "-1e308", "1e-320", "", "x", "1 2 3", "world", "__model__", "a", "b", "a::b",
    "::", "true", "package://[x", "\ud800", "9" * 400, "fixed", "revolute", "ball", "planar", "floating", "screw",
    "free", "hinge", "mesh", "hfield", "0 0 0", "1 0 0 0", "auto", "20000", "main", "home", "1 1 1 1 1 1",
    "../secret.xml", "/etc/hostname", "file:///etc/hostname", "package://models/../../secret.urdf", "child.xml",
    "&secret;",
]  # fmt: skip
_CHARACTERS = "\x00\t\"&'<>/\x80é\u2028\ufffe0 "
_ENTITIES = (
    '<!DOCTYPE r [<!ENTITY secret SYSTEM "file:///etc/hostname">]>',
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY secret "&a;&a;&a;&a;">]>',
    '<!DOCTYPE r SYSTEM "http://localhost/secret.dtd">',
)


def mutated(text: str, rng: random.Random) -> str:
    """A document with one to six random changes."""
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 6))):
        text = rng.choice(_MUTATIONS)(text, rng) or "<"
    return text


def _change_a_character(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text))
    return text[:i] + rng.choice(_CHARACTERS) + text[i + 1 :]


def _cut_a_piece(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text))
    return text[:i] + text[i + rng.randrange(1, 30) :]


def _repeat_a_tag(text: str, rng: random.Random) -> str:
    tags = re.findall(r"<[^<>]*>|[^<>]+", text) or ["<"]
    tags.insert(rng.randrange(len(tags)), rng.choice(tags))
    return "".join(tags)


def _lose_a_tag(text: str, rng: random.Random) -> str:
    tags = re.findall(r"<[^<>]*>|[^<>]+", text) or ["<"]
    del tags[rng.randrange(len(tags))]
    return "".join(tags)


def _change_a_value(text: str, rng: random.Random) -> str:
    values = [m.span(1) for m in re.finditer(r"=\"([^\"]*)\"|>([^<>]*)<|(-?\d+\.?\d*)", text) if m.group(1) is not None]
    values += [m.span() for m in re.finditer(r"-?\d+\.?\d*", text)]
    start, end = rng.choice(values) if values else (0, 0)
    return text[:start] + rng.choice(_WORDS) + text[end:]


def _change_a_name(text: str, rng: random.Random) -> str:
    """Another attribute or tag of the document in the place of one."""
    names = [m.span(1) for m in re.finditer(r"[\s</](\w[\w:]*)(?==|[\s/>])", text)]
    if not names:
        return text
    (start, end), (first, last) = rng.choice(names), rng.choice(names)
    return text[:start] + text[first:last] + text[end:]


def _move_an_element(text: str, rng: random.Random) -> str:
    elements = list(re.finditer(r"<(\S+)[^<>]*/>|<(link|joint|frame|body|default) .*?</\2>", text, re.DOTALL))
    if not elements:
        return text
    what, where = rng.choice(elements), rng.choice(elements)
    return text[: where.start()] + what.group() + text[where.start() :]


def _shift_a_line(text: str, rng: random.Random) -> str:
    """A line further to the right or left, or before another one, which matters in YAML."""
    lines = text.split("\n")
    i = rng.randrange(len(lines))
    lines[i] = rng.choice((" ", "  ", "- ")) + lines[i] if rng.random() < 0.5 else lines[i][1:]
    lines.insert(rng.randrange(len(lines)), lines.pop(i)) if rng.random() < 0.3 else None
    return "\n".join(lines)


def _declare_an_entity(text: str, rng: random.Random) -> str:
    return rng.choice(_ENTITIES) + text


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    *[_change_a_character, _cut_a_piece, _repeat_a_tag, _lose_a_tag] * 2,
    *[_change_a_value] * 9,
    _change_a_name, _change_a_name, _move_an_element, _move_an_element, _shift_a_line, _declare_an_entity,
)  # fmt: skip
