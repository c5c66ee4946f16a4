"""Definitions of message types in the language of LCM, read into records; and how messages become bytes and back.

    struct lcmt_scope {
      const int8_t LIMIT = 10;
      int64_t utime;
      int32_t size;
      double value[size];      // the length of an array is a number, or a member that comes before it
    }

The language is that of LCM's type specification (https://lcm-proj.github.io/lcm/content/lcm-type-ref.html): integers of
8 to 64 bits, `float`, `double`, `byte`, `boolean`, `string`, other structs, and arrays of all of these.

Members become bytes in the order of their definition, numbers with the most significant byte first. A string is its
length with the final zero, 4 bytes, then its bytes in UTF-8 and a zero. An array is its elements, row by row; its
lengths are members of their own that have come before. What is decoded may be damaged or forged: nothing is allocated
beyond what the received bytes account for.
"""

from __future__ import annotations

import dataclasses
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

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


# ---------------------------------------------------------------------- bytes

_FORMATS = {
    "int8_t": "b", "int16_t": "h", "int32_t": "i", "int64_t": "q",
    "float": "f", "double": "d", "byte": "B", "boolean": "?",
}  # fmt: skip
_LENGTH = struct.Struct(">i")
_MOST_EMPTY_ROWS = 65536  # of an array whose rows have no elements
_BAD_VALUE = (struct.error, TypeError, IndexError, KeyError, AttributeError, OverflowError, ValueError)


class Reader:
    """Bytes that are read from front to back.

    Attributes:
        data: all of them.
        position: of the next one.
    """

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data, self.position = data, position

    def num_left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.position

    def skip(self, size: int) -> int:
        """Passes over `size` bytes; returns where they begin.

        Raises:
            ValueError: there are not as many.
        """
        begin = self.position
        if size > len(self.data) - begin:
            raise ValueError(f"{size} bytes are needed from byte {begin} on, and the message has {len(self.data)}")
        self.position = begin + size
        return begin


class Codec(Protocol):
    """Encodes and decodes values of one type.

    Attributes:
        least_size: of a value [bytes].
    """

    least_size: int

    def default(self) -> Any:
        """The value in new messages."""

    def encode(self, value: Any, parts: list[bytes]) -> None:
        """Appends the bytes of a value."""

    def decode(self, reader: Reader) -> Any:
        """Reads a value; raises ValueError where the bytes are not one."""

    def encode_row(self, values: Any, parts: list[bytes]) -> None:
        """Appends the bytes of a row of values."""

    def decode_row(self, reader: Reader, length: int) -> Any:
        """Reads a row of values; the caller has checked that there are enough bytes for the smallest ones."""

    def default_row(self, length: int) -> Any:
        """A row of values in new messages."""


class _Numbers:
    """Codec of numbers of one type."""

    def __init__(self, type_name: str) -> None:
        self._format = _FORMATS[type_name]
        self._single = struct.Struct(f">{self._format}")
        self._dtype = np.dtype(f">{self._format}" if self._format != "?" else "?")
        self._default = self._single.unpack(bytes(self._single.size))[0]
        self.least_size = self._single.size

    def default(self) -> Any:
        return self._default

    def encode(self, value: Any, parts: list[bytes]) -> None:
        parts.append(self._single.pack(value))

    def decode(self, reader: Reader) -> Any:
        return self._single.unpack_from(reader.data, reader.skip(self.least_size))[0]

    def encode_row(self, values: Any, parts: list[bytes]) -> None:
        if isinstance(values, np.ndarray) and values.dtype.kind == self._dtype.kind:
            sent = values.astype(self._dtype)
            if self._dtype.kind == "i" and not np.array_equal(sent, values):
                raise OverflowError(f"one of its elements is beyond the range of {self._dtype.name}")
            parts.append(sent.tobytes())
        else:
            parts.append(struct.pack(f">{len(values)}{self._format}", *values))

    def decode_row(self, reader: Reader, length: int) -> tuple[Any, ...]:
        begin = reader.skip(length * self.least_size)
        return struct.unpack_from(f">{length}{self._format}", reader.data, begin)

    def default_row(self, length: int) -> Any:
        return [self._default] * length


class _Bytes(_Numbers):
    """Codec of bytes, whose rows are objects of type bytes."""

    def encode_row(self, values: Any, parts: list[bytes]) -> None:
        if isinstance(values, np.ndarray) and values.dtype.itemsize != 1:
            raise TypeError(f"an array of type {values.dtype} where bytes are expected")
        parts.append(bytes(values))

    def decode_row(self, reader: Reader, length: int) -> Any:
        begin = reader.skip(length)
        return bytes(reader.data[begin : reader.position])

    def default_row(self, length: int) -> Any:
        return bytes(length)


class _Rows:
    """Base of codecs whose values have different sizes."""

    def encode_row(self: Any, values: Any, parts: list[bytes]) -> None:
        for value in values:
            self.encode(value, parts)

    def decode_row(self: Any, reader: Reader, length: int) -> list[Any]:
        return [self.decode(reader) for _ in range(length)]

    def default_row(self: Any, length: int) -> list[Any]:
        return [self.default() for _ in range(length)]


class _Texts(_Rows):
    """Codec of strings."""

    least_size = _LENGTH.size + 1

    def default(self) -> str:
        return ""

    def encode(self, value: str, parts: list[bytes]) -> None:
        encoded = value.encode()
        parts += (_LENGTH.pack(len(encoded) + 1), encoded, b"\0")

    def decode(self, reader: Reader) -> str:
        (length,) = _LENGTH.unpack_from(reader.data, reader.skip(_LENGTH.size))
        if length < 1:
            raise ValueError(f"a string has the length {length}")
        begin = reader.skip(length)
        return str(reader.data[begin : begin + length - 1], "utf-8", "replace")


_PRIMITIVES: dict[str, Codec] = {name: _Numbers(name) for name in _FORMATS} | {
    "byte": _Bytes("byte"),
    "string": _Texts(),
}


def primitive_codec(type_name: str) -> Codec | None:
    """The codec of a type that is not a struct; None if it is one."""
    return _PRIMITIVES.get(type_name)


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    codec: Codec
    dimensions: tuple[int | str, ...]


class StructCodec(_Rows):
    """Codec of a struct, whose values are objects with the members as attributes.

    Args:
        definition: of the struct.
        codec_of: gives the codec of the type of a member.
        make: makes a value, whose members are still to be set.

    Attributes:
        name: of the struct.
        least_size: see Codec.
    """

    def __init__(
        self,
        definition: StructDefinition,
        codec_of: Callable[[FieldDefinition], Codec],
        make: Callable[[], Any],
    ) -> None:
        self.name = definition.name
        self._fields = [_Field(field.name, codec_of(field), field.dimensions) for field in definition.fields]
        self._make = make
        self.least_size = sum(
            math.prod(n if isinstance(n, int) else 0 for n in field.dimensions) * field.codec.least_size
            for field in self._fields
        )

    def default(self) -> Any:
        value = self._make()
        self.set_defaults(value)
        return value

    def set_defaults(self, value: Any) -> None:
        """Sets all members to zero, empty, or what they are made of to that."""
        for field in self._fields:
            setattr(value, field.name, _default(field.codec, field.dimensions))

    def encode(self, value: Any, parts: list[bytes]) -> None:
        field = self._fields[0]
        try:
            for field in self._fields:
                content = getattr(value, field.name)
                if field.dimensions:
                    lengths = self._lengths(value, field)
                    _encode_array(field.codec, content, lengths, parts)
                else:
                    field.codec.encode(content, parts)
        except _BAD_VALUE as error:
            raise ValueError(f"{self.name}.{field.name}: {error}") from None

    def decode(self, reader: Reader) -> Any:
        value = self._make()
        field = self._fields[0]
        try:
            for field in self._fields:
                if field.dimensions:
                    lengths = self._lengths(value, field)
                    content = _decode_array(field.codec, reader, lengths)
                else:
                    content = field.codec.decode(reader)
                setattr(value, field.name, content)
        except ValueError as error:
            raise ValueError(f"{self.name}.{field.name}: {error}") from None
        return value

    @staticmethod
    def _lengths(value: Any, field: _Field) -> list[int]:
        lengths = [n if isinstance(n, int) else getattr(value, n) for n in field.dimensions]
        for name, length in zip(field.dimensions, lengths):
            if length < 0:
                raise ValueError(f"its length {name} is {length}")
        return lengths


def _default(codec: Codec, dimensions: tuple[int | str, ...]) -> Any:
    if not dimensions:
        return codec.default()
    length, *inner = (n if isinstance(n, int) else 0 for n in dimensions)
    return [_default(codec, tuple(inner)) for _ in range(length)] if inner else codec.default_row(length)


def _encode_array(codec: Codec, values: Any, lengths: list[int], parts: list[bytes]) -> None:
    length, *inner = lengths
    if len(values) < length:
        raise ValueError(f"it has {len(values)} elements where its length is {length}")
    values = values[:length]
    if not inner:
        codec.encode_row(values, parts)
    elif isinstance(values, np.ndarray) and list(values.shape) == lengths:
        codec.encode_row(values.ravel(), parts)
    else:
        for row in values:
            _encode_array(codec, row, inner, parts)


def _decode_array(codec: Codec, reader: Reader, lengths: list[int]) -> Any:
    num_elements = math.prod(lengths)
    least_size = num_elements * codec.least_size
    if least_size > reader.num_left():
        raise ValueError(
            f"{num_elements} elements take at least {least_size} bytes, and the message has {reader.num_left()} left"
        )
    length, *inner = lengths
    if not inner:
        return codec.decode_row(reader, length)
    if num_elements == 0 and length > _MOST_EMPTY_ROWS:
        raise ValueError(f"it has {length} rows without elements")
    return [_decode_array(codec, reader, inner) for _ in range(length)]
