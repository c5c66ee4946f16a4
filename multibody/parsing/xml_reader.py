"""Reads XML into plain nodes that know their file and line.

The reader never resolves entities, never loads a DTD and never opens a network connection: a model file
that declares entities is refused before any of its content is read. What is around the root element is passed
over.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np
from lxml import etree

from merganser.framework.common.errors import nearest_names
from merganser.framework.common.source_location import decode
from merganser.multibody.parsing.errors import ParsingError, SourceLocation

_DECLARED_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_DECLARATIONS = re.compile(r"\ufeff?(?:\s*<\?xml(?=[\s?])[^<>]*?\?>)*\s*")
_TEXT_BEFORE = re.compile(r"\ufeff?\s*([^<\s][^<]*)(?=<[?!\w])")
_DOCTYPE = re.compile(r"<!DOCTYPE[^<>\[\]]*>")
_COMMENT_OR_CDATA = re.compile(r"<!--|<!\[CDATA\[")
_END_OF = {"<!--": "-->", "<![CDATA[": "]]>"}
_LONE_AMPERSAND = re.compile(r"&(?!#?\w+;)")
_NUM_KEPT = 8
_TRUE_WORDS = ("1", "true")
_FALSE_WORDS = ("0", "false")


@dataclass(frozen=True)
class XmlNode:
    """One XML element; namespace prefixes stay part of its name, as in `drake:capsule`. It is never changed.

    Attributes:
        tag: name with its prefix as written.
        attributes: attribute values by name, prefixes as written.
        text: the text directly inside the element, stripped.
        children: child elements in file order.
        location: the file and line where the element starts.
        outside: of a root element, where there is something around it that is not an element of the document.
    """

    tag: str
    location: SourceLocation
    attributes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    children: Sequence[XmlNode] = ()
    outside: SourceLocation | None = None

    def error(self, message: str) -> ParsingError:
        """An error about this element, for the caller to raise."""
        return ParsingError(self.location, message)

    def find(self, *tags: str) -> XmlNode | None:
        """The first child with one of these tags, or None."""
        return next(self.find_all(*tags), None)

    def find_all(self, *tags: str) -> Iterator[XmlNode]:
        """The children with one of these tags, in file order."""
        return (child for child in self.children if child.tag in tags)

    def require(self, tag: str) -> XmlNode:
        """The first child <tag>; a ParsingError if it is missing."""
        child = self.find(tag)
        if child is None:
            raise self.error(f"{self.describe()} has no <{tag}> element; add one.")
        return child

    def find_or_empty(self, tag: str) -> XmlNode:
        """The first child <tag>, or an element without content in its place."""
        return self.find(tag) or XmlNode(tag, self.location)

    def describe(self) -> str:
        """The element as an error message names it: <link name="arm">."""
        name = self.attributes.get("name")
        return f'<{self.tag} name="{name}">' if name else f"<{self.tag}>"

    def require_attribute(self, name: str) -> str:
        """The non-empty value of an attribute."""
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.error(f"{self.describe()} needs a non-empty attribute '{name}'.")
        return value

    def numbers(
        self, text: str, size: int | tuple[int, ...], what: str, allow_infinite: bool = False
    ) -> np.ndarray:
        """Reads whitespace-separated finite numbers.

        Args:
            text: the characters to read.
            size: how many numbers there have to be, or the admissible counts.
            what: what the numbers are, for the error message.
            allow_infinite: accept `inf` and `-inf`; NaN is never accepted.

        Raises:
            ParsingError: a word is not a number, not finite, or the count differs from `size`.
        """
        sizes = (size,) if isinstance(size, int) else size
        words = text.split()
        if len(words) not in sizes:
            expected = " or ".join(str(s) for s in sizes)
            raise self.error(f"{what} has {len(words)} values in '{text}', expected {expected}.")
        values = [self._number(word, what) for word in words]
        if any(math.isnan(value) if allow_infinite else not math.isfinite(value) for value in values):
            raise self.error(f"{what} is '{text}', expected finite numbers.")
        return np.array(values)

    def _number(self, word: str, what: str) -> float:
        try:
            if "_" in word:  # Python reads 1_000 as a number, XML schemas do not
                raise ValueError
            return float(word.strip("\"'"))  # a quotation mark left over from an attribute does no harm
        except ValueError:
            raise self.error(f"{what} has '{word}' where a number is expected.") from None

    def float_attribute(self, name: str, default: float | None = None) -> float:
        """A finite number in an attribute; without `default` the attribute is required."""
        return float(self.vector_attribute(name, 1, None if default is None else [default])[0])

    def vector_attribute(
        self, name: str, size: int | tuple[int, ...], default: list[float] | None = None
    ) -> np.ndarray:
        """Finite numbers in an attribute; without `default` the attribute is required."""
        if name not in self.attributes:
            if default is None:
                raise self.error(f"{self.describe()} needs an attribute '{name}'.")
            return np.array(default, dtype=float)
        return self.numbers(self.attributes[name], size, f"Attribute '{name}' of {self.describe()}")

    def float_text(self, allow_infinite: bool = False) -> float:
        """The element's text as one number."""
        return float(self.vector_text(1, allow_infinite)[0])

    def vector_text(self, size: int | tuple[int, ...], allow_infinite: bool = False) -> np.ndarray:
        """The element's text as numbers."""
        return self.numbers(self.text, size, f"The text of {self.describe()}", allow_infinite)

    def float_child(self, tag: str, default: float | None = None, allow_infinite: bool = False) -> float:
        """The number inside the child <tag>; without `default` the child is required, and with a number in it."""
        if default is not None and not self.find_or_empty(tag).text:
            return default
        return self.require(tag).float_text(allow_infinite)

    def bool_child(self, tag: str, default: bool) -> bool:
        """The truth value (true, false, 1, 0) inside the child <tag>."""
        child = self.find_or_empty(tag)
        return child.parse_bool(child.text) if child.text else default

    def parse_bool(self, text: str) -> bool:
        """Reads true, false, 1 or 0."""
        word = text.strip().lower()
        if word not in _TRUE_WORDS + _FALSE_WORDS:
            raise self.error(f"{self.describe()} has '{text}' where true, false, 1 or 0 is expected.")
        return word in _TRUE_WORDS

    def expect_one_of(self, value: str, allowed: tuple[str, ...], what: str) -> str:
        """Returns `value` if it is allowed; a ParsingError with the near misses if not."""
        if value not in allowed:
            raise self.error(f"Unknown {what} '{value}'. {nearest_names(value, allowed)}")
        return value


@functools.lru_cache(maxsize=_NUM_KEPT)
def read_xml(data: bytes | str, file: str) -> XmlNode:
    """Parses an XML document; the last ones are kept, since studies make a plant of one file for each of their runs.

    Of declarations (`<?xml ...?>`) only the encoding counts: errors in them, and space
    before them, are ignored. Text before the root element, and whatever is behind its end, has no effect, as for
    Drake; `outside` of the root says where it is. Neither has a document type declaration without declarations in it.

    Args:
        data: the document; bytes are decoded as decode() says.
        file: the name that errors show.

    Raises:
        ParsingError: not text, not well-formed (truncated, for instance), or declaring entities.
    """
    if isinstance(data, bytes):
        declared = _DECLARED_ENCODING.match(data)
        data = decode(data, declared.group(1).decode("ascii") if declared else "")
    text = _DOCTYPE.sub(_newlines_of, _without_comments(data.removeprefix("\ufeff"))).rstrip("\0")
    _refuse_dtd(text, file)
    before = _TEXT_BEFORE.match(text)
    outside = None
    if before is not None:
        outside = SourceLocation(file, text.count("\n", 0, before.start(1)) + 1)
        text = _newlines_of(before) + text[before.end() :]
    text = _DECLARATIONS.sub(_newlines_of, text, count=1)
    text = _LONE_AMPERSAND.sub("&amp;", text)
    # `recover` is on because an undeclared namespace prefix, common in model files (`drake:...`), has to
    # pass; every other complaint of the XML parser is turned into an error below.
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True,
        remove_comments=True, remove_pis=True, encoding="utf-8",
    )  # fmt: skip
    try:
        root = etree.fromstring(text.encode("utf-8"), parser)
    except etree.XMLSyntaxError:  # an empty document
        root = None
    except UnicodeEncodeError as cause:
        line = text.count("\n", 0, cause.start) + 1
        raise ParsingError(SourceLocation(file, line), f"not text: {cause.reason}.") from None
    for entry in parser.error_log:
        if entry.type == etree.ErrorTypes.ERR_DOCUMENT_END and root is not None:
            outside = outside or SourceLocation(file, entry.line)
        elif entry.domain != etree.ErrorDomains.NAMESPACE:
            raise ParsingError(
                SourceLocation(file, entry.line),
                f"not well-formed XML: {entry.message.strip()}. Is the file complete?",
            )
    if root is None:
        raise ParsingError(SourceLocation(file), "not well-formed XML: there is no element in it.")
    return replace(_convert(root, file), outside=outside)


def _without_comments(text: str) -> str:
    """The document with comments and CDATA marks blanked, which keeps its lines; characters of CDATA are escaped.

    Comments are full of what XML forbids in them: two hyphens, bytes of another encoding. One that has no end stays.
    """
    pieces, position = [], 0
    while match := _COMMENT_OR_CDATA.search(text, position):
        end = text.find(_END_OF[match.group()], match.end())
        if end < 0:
            break
        pieces.append(text[position : match.start()])
        inside = text[match.end() : end]
        pieces.append("\n" * inside.count("\n") if match.group() == "<!--" else escape(inside, quote=False))
        position = end + 3
    return "".join(pieces) + text[position:]


def _newlines_of(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _refuse_dtd(text: str, file: str) -> None:
    """Refuses document type declarations with entities in them, which can read files or fill memory."""
    for keyword, remedy in (
        ("<!ENTITY", "declares an entity; entities, internal or external, are never expanded. Write the "
                     "text out in full"),
        ("<!DOCTYPE", "has a document type declaration with declarations in it, which are never read. Remove it"),
    ):  # fmt: skip
        position = text.find(keyword)
        if position >= 0:
            line = text.count("\n", 0, position) + 1
            raise ParsingError(SourceLocation(file, line), f"the XML {remedy}.")


def _convert(element: etree._Element, file: str) -> XmlNode:
    """An lxml element, and all below it, as XmlNode."""
    tag, attributes = str(element.tag), {str(name): str(value) for name, value in element.items()}
    if any(name.startswith("{") for name in (tag, *attributes)):
        prefixes = {uri: prefix for prefix, uri in element.nsmap.items() if prefix}
        tag = _written_name(tag, prefixes)
        attributes = {_written_name(name, prefixes): value for name, value in attributes.items()}
    line = int(element.sourceline) if isinstance(element.sourceline, int) else 0
    children = [_convert(child, file) for child in element if isinstance(child.tag, str)]
    return XmlNode(tag, SourceLocation(file, line), attributes, (element.text or "").strip(), children)


def _written_name(name: str, prefixes: dict[str, str]) -> str:
    """`{http://drake.mit.edu}capsule` as `drake:capsule`."""
    if not name.startswith("{"):
        return name
    uri, local = name[1:].split("}", 1)
    return f"{prefixes[uri]}:{local}" if uri in prefixes else local
