"""Definitions of message types in the language of LCM, read into records.

    struct lcmt_scope {
      const int8_t LIMIT = 10;
      int64_t utime;
      int32_t size;
      double value[size];      // the length of an array is a number, or a member that comes before it
    }

The language is that of LCM's type specification (https://lcm-proj.github.io/lcm/content/lcm-type-ref.html): integers of
8 to 64 bits, `float`, `double`, `byte`, `boolean`, `string`, other structs, and arrays of all of these.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

INTEGERS = ("int8_t", "int16_t", "int32_t", "int64_t")
PRIMITIVES = (*INTEGERS, "float", "double", "byte", "boolean", "string")

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_][\w.]*|[-+]?(?:0[xX][0-9a-fA-F]+|[\d.]+(?:[eE][-+]?\d+)?)|\S")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BITS = (1 << 64) - 1


@dataclasses.dataclass(frozen=True)
class FieldDefinition:
    """A member of a struct.

    Attributes:
        name: of the member.
        type_name: one of PRIMITIVES, or the name of another struct, with its package.
        dimensions: of an array: a number, or the name of an earlier member; none for a single value.
    """

    name: str
    type_name: str
    dimensions: tuple[int | str, ...] = ()


@dataclasses.dataclass(frozen=True)
class StructDefinition:
    """A message type.

    Attributes:
        name: of the struct, with its package.
        fields: the members, in the order in which they are sent.
        constants: values by name.
    """

    name: str
    fields: tuple[FieldDefinition, ...]
    constants: Mapping[str, int | float]


def fingerprint(definition: StructDefinition, inner: Mapping[str, int]) -> int:
    """The number of 64 bits by which messages of a type are known: a hash of names, types and dimensions.

    Args:
        definition: of the type.
        inner: fingerprints of the structs that occur in it, by their names.
    """
    value = 0x12345678
    for field in definition.fields:
        value = _with_text(value, field.name)
        if field.type_name in PRIMITIVES:
            value = _with_text(value, field.type_name)
        value = _with_byte(value, len(field.dimensions))
        for dimension in field.dimensions:
            value = _with_text(_with_byte(value, isinstance(dimension, str)), str(dimension))
    value = (value + sum(inner[f.type_name] for f in definition.fields if f.type_name not in PRIMITIVES)) & _BITS
    return (value << 1 & _BITS) + (value >> 63)


def _with_byte(value: int, byte: int) -> int:
    """One step of the hash: shifts of a signed number of 64 bits."""
    signed = value - (value >> 63 << 64)
    return ((value << 8 ^ signed >> 55) + byte) & _BITS


def _with_text(value: int, text: str) -> int:
    encoded = text.encode()
    value = _with_byte(value, len(encoded))
    for byte in encoded:
        value = _with_byte(value, byte)
    return value


def parse_structs(text: str, package: str = "") -> list[StructDefinition]:
    """Reads definitions of structs.

    Args:
        text: in the language of LCM, without `package` lines.
        package: to which the structs belong, and others that they name without a package.

    Raises:
        ValueError: the text is no such definition; the message says where.
    """
    tokens = _Tokens(_COMMENT.sub(" ", text))
    structs = []
    while not tokens.is_at_end():
        tokens.expect("struct")
        structs.append(_parse_struct(tokens, package))
    return structs


class _Tokens:
    """The words and signs of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    def is_at_end(self) -> bool:
        return self._next == len(self._tokens)

    def take(self) -> str:
        if self.is_at_end():
            raise ValueError("The definition of messages ends within a struct.")
        self._next += 1
        return self._tokens[self._next - 1]

    def take_if(self, token: str) -> bool:
        is_next = not self.is_at_end() and self._tokens[self._next] == token
        self._next += is_next
        return is_next

    def take_name(self) -> str:
        token = self.take()
        return token if _NAME.fullmatch(token) else self.refuse("a name")

    def expect(self, token: str) -> None:
        if self.take() != token:
            self.refuse(f"'{token}'")

    def refuse(self, expected: str) -> str:
        before = " ".join(self._tokens[max(0, self._next - 6) : self._next - 1])
        raise ValueError(
            f"A definition of messages has '{self._tokens[self._next - 1]}' where {expected} is expected, "
            f"after '{before}'."
        )

    def separated(self) -> Iterator[None]:
        """Yields once for each item of a list with commas, up to a semicolon."""
        yield
        while self.take_if(","):
            yield
        self.expect(";")


def _parse_struct(tokens: _Tokens, package: str) -> StructDefinition:
    name = tokens.take_name()
    fields: list[FieldDefinition] = []
    constants: dict[str, int | float] = {}
    tokens.expect("{")
    while not tokens.take_if("}"):
        if tokens.take_if("const"):
            constants |= _parse_constants(tokens)
        else:
            type_name = tokens.take()
            if type_name not in PRIMITIVES and "." not in type_name:
                type_name = _with_package(package, type_name)
            for _ in tokens.separated():
                fields.append(FieldDefinition(tokens.take_name(), type_name, _parse_dimensions(tokens, fields)))
    if not fields or len({field.name for field in fields}) != len(fields):
        raise ValueError(f"Struct '{name}' needs members, and different names for them.")
    return StructDefinition(_with_package(package, name), tuple(fields), constants)


def _parse_constants(tokens: _Tokens) -> dict[str, int | float]:
    is_integer = tokens.take() in INTEGERS
    constants = {}
    for _ in tokens.separated():
        name = tokens.take_name()
        tokens.expect("=")
        token = tokens.take()
        try:
            constants[name] = int(token, 0) if is_integer else float(token)
        except ValueError:
            tokens.refuse(f"the value of '{name}'")
    return constants


def _parse_dimensions(tokens: _Tokens, before: list[FieldDefinition]) -> tuple[int | str, ...]:
    lengths = {field.name for field in before if field.type_name in INTEGERS and not field.dimensions}
    dimensions: list[int | str] = []
    while tokens.take_if("["):
        length = tokens.take()
        if not length.isdecimal() and length not in lengths:
            tokens.refuse("a number, or an integer member from above")
        dimensions.append(int(length) if length.isdecimal() else length)
        tokens.expect("]")
    return tuple(dimensions)


def _with_package(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name
