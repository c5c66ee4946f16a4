"""Documents with something wrong in them: characters, tags, values, addresses and entities changed at random.

Files are to be named `document` and their ending, so that those that include themselves find themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORDS = [
    "nan", "inf", "-1", "0", "1e308", "-1e308", "1e-320", "", "x", "1 2 3", "world", "__model__", "a", "b", "a::b",
    "::", "true", "package://[x", "\ud800", "9" * 400, "fixed", "revolute", "ball", "planar", "floating", "screw",
    "free", "hinge", "mesh", "hfield", "0 0 0", "1 0 0 0", "auto", "20000", "main", "home", "1 1 1 1 1 1",
    "../secret.xml", "/etc/hostname", "../../../../etc/passwd", "document.xml", "..", "/", "-0.0", "1e-400",
    "file:///etc/hostname", "package://models/../../secret.urdf", "child.xml", "&secret;",
]  # fmt: skip
_CHARACTERS = "\x00\t\"&'<>/\x80é\u2028\ufffe0 "
_LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij"))
_ENTITIES = (
    '<!DOCTYPE r [<!ENTITY secret SYSTEM "file:///etc/hostname">]>',
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY secret "&a;&a;&a;&a;">]>',
    '<!DOCTYPE r SYSTEM "http://localhost/secret.dtd">',
    f'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">{_LAUGHS}<!ENTITY secret "&j;">]>',
    '<!DOCTYPE r [<!ENTITY % all SYSTEM "file:///etc/hostname">%all;]>',
)
_INCLUSIONS = (
    '<include file="document.{}"/>', '<include><uri>document.{}</uri></include>',
    '<include merge="true"><uri>package://models/document.{}</uri></include>',
    '<asset><model name="self" file="document.{}"/></asset>',
    '<include xmlns="http://www.w3.org/2001/XInclude" parse="text" href="file:///etc/hostname"/>',
)  # fmt: skip
_DIRECTIVES = (
    "- add_directives: {{ file: document.{0} }}\n", "- add_model: {{ name: me, file: document.{0} }}\n",
    "- add_directives: {{ file: package://models/document.{0} }}\n",
)  # fmt: skip
_ENDINGS = ("urdf", "sdf", "xml", "dmd.yaml")
_OPENING = re.compile(r"<(\w[\w:]*)(?:\s[^<>]*)?(?<!/)>")


def mutated(text: str, rng: random.Random) -> str:
    """A document with one to six random changes."""
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 6))):
        text = rng.choice(_MUTATIONS)(text, rng) or "<"
    return text


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """A file with some bytes changed, cut off or inserted, or in another encoding."""
    i = rng.randrange(len(data) + 1)
    match rng.randrange(6):
        case 0:
            return data[:i]
        case 1:
            return data[:i] + rng.randbytes(rng.choice((1, 2, 8, 64))) + data[i:]
        case 2:
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 9)):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        case 3:
            return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b\x08")) + data
        case 4:
            encoding = rng.choice(("utf-16", "utf-16-be", "utf-32", "utf-7", "cp500"))
            return data.decode(errors="ignore").encode(encoding, errors="ignore")
        case _:
            return data[:i] + data[rng.randrange(len(data) + 1) :]


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


def _nest_an_element(text: str, rng: random.Random) -> str:
    """An element within elements of its kind."""
    openings = list(_OPENING.finditer(text))
    if not openings:
        return text
    opening, depth = rng.choice(openings), rng.choice((1, 3, 60, 300, 5000))
    closing = f"</{opening[1]}>"
    end = text.find(closing, opening.end())
    start = opening.start()
    return text[:start] + opening[0] * depth + text[start:end] + closing * depth + text[end:]


def _repeat_an_element(text: str, rng: random.Random) -> str:
    elements = list(re.finditer(r"<(\S+)[^<>]*/>|<(\w+)[\s>].*?</\2>|- .*?\n(?=-|\Z)", text, re.DOTALL))
    if not elements:
        return text
    what = rng.choice(elements)
    return text[: what.start()] + what[0] * rng.choice((2, 2, 5, 60)) + text[what.end() :]


def _include_itself(text: str, rng: random.Random) -> str:
    """The document includes itself, or one of another format that is there, or a file as text."""
    pieces, places = (_DIRECTIVES, "\n") if "directives:" in text else (_INCLUSIONS, ">")
    i = text.find(places, rng.randrange(len(text))) + 1
    return text[:i] + rng.choice(pieces).format(rng.choice(_ENDINGS)) + text[i:]


def _share_without_end(text: str, rng: random.Random) -> str:
    """Lists of lists of YAML, each of which is short."""
    lists = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 10))
    words = re.findall(r"(?<=: )[\w.\[]\S*", text) or ["\x00"]
    return f"x0: &x0 [1]\n{lists}" + text.replace(rng.choice(words), "*x9", 1)


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
    _nest_an_element, _repeat_an_element, _include_itself, _share_without_end,
)  # fmt: skip
