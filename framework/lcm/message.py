"""Message: what message types are derived from, how they are made of their definitions, and how they become bytes."""

from __future__ import annotations

import importlib
import reprlib
import struct
from typing import TYPE_CHECKING, Any, ClassVar, Self

from merganser.framework.core.values.plain_values import declare_plain
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.definitions import (
    Codec,
    FieldDefinition,
    Reader,
    StructCodec,
    StructDefinition,
    fingerprint,
    parse_structs,
    primitive_codec,
)

_FINGERPRINT = struct.Struct(">Q")


class Message:
    """A message: its members are attributes, numbers zero and arrays empty at first.

    The member that is an array's length says how many elements are sent; arrays may be any sequence. Messages from
    bytes have tuples of numbers, `bytes`, or lists. The methods with underscores are those that LCM's own compiler
    writes, so that either may contain the other.
    """

    if TYPE_CHECKING:  # members are made from definitions

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    __slots__ = ()
    __typenames__: ClassVar[list[str]]
    __dimensions__: ClassVar[list[Any]]
    _codec: ClassVar[StructCodec]
    _hash: ClassVar[int]
    _packed_fingerprint: ClassVar[bytes]

    def __init__(self) -> None:
        self._codec.set_defaults(self)

    def encode(self) -> bytes:
        """Returns the message as bytes.

        Raises:
            ValueError: the value of a member cannot be sent; the text names it.
        """
        parts = [self._packed_fingerprint]
        self._codec.encode(self, parts)
        return b"".join(parts)

    @classmethod
    def decode(cls, data: Any) -> Self:
        """Returns the message of some bytes, or the next one of a binary file.

        Raises:
            ValueError: they are no message of this type, or damaged.
        """
        if not hasattr(data, "read"):
            reader = Reader(data if type(data) is bytes else bytes(memoryview(data)))
        else:
            reader, start = Reader(data.read()), data.tell()
        found = reader.data[: _FINGERPRINT.size]
        if found != cls._packed_fingerprint:
            raise ValueError(
                f"These {len(reader.data)} bytes are no {cls.__name__}: they begin with 0x{found.hex()}, and its "
                f"fingerprint is 0x{cls._packed_fingerprint.hex()}."
            )
        reader.position = _FINGERPRINT.size
        message: Self = cls._codec.decode(reader)
        if hasattr(data, "read"):
            data.seek(start - reader.num_left())
        elif reader.num_left():
            raise ValueError(f"A {cls.__name__} of {reader.position} bytes is followed by {reader.num_left()} others.")
        return message

    def get_hash(self) -> int:
        """Returns the fingerprint of the type."""
        return self._hash

    def _encode_one(self, buf: Any) -> None:
        parts: list[bytes] = []
        self._codec.encode(self, parts)
        buf.write(b"".join(parts))

    @classmethod
    def _decode_one(cls, buf: Any) -> Self:
        reader = Reader(buf.read())
        end = buf.tell()
        message: Self = cls._codec.decode(reader)
        buf.seek(end - reader.num_left())
        return message

    @classmethod
    def _get_hash_recursive(cls, parents: Any) -> int:
        return cls._hash

    @classmethod
    def _get_packed_fingerprint(cls) -> bytes:
        return cls._packed_fingerprint

    def __repr__(self) -> str:
        names: Any = type(self).__slots__
        members = (f"{name}={reprlib.repr(getattr(self, name, None))}" for name in names)
        return f"{type(self).__name__}({', '.join(members)})"


def define_messages(module: str, text: str, *known: type[Message], package: str = "drake") -> list[Any]:
    """Makes message types.

    Args:
        module: name of the module that will define them, for `pickle`.
        text: their definitions, see `definitions.py`; a struct may contain those above it.
        known: other types that may occur in them.
        package: of the types.

    Returns:
        The types, in the order of their definitions.

    Raises:
        ValueError: the text is not a definition, or names a type that is not known.
    """
    types = {each._codec.name: each for each in known}
    made = []
    for definition in parse_structs(text, package):
        message = _make_type(module, definition, types)
        types[definition.name] = message
        made.append(message)
    return made


def microseconds(time: float) -> int:
    """A time [s] in microseconds, as in messages."""
    return int(1e6 * time)


def _make_type(module: str, definition: StructDefinition, types: dict[str, type[Message]]) -> type[Message]:
    def codec_of(field: FieldDefinition) -> Codec:
        codec = primitive_codec(field.type_name)
        if codec is None and field.type_name not in types:
            raise ValueError(f"{definition.name}.{field.name}: there is no type '{field.type_name}' above.")
        return codec or types[field.type_name]._codec

    codec = StructCodec(definition, codec_of, lambda: object.__new__(made))
    value = fingerprint(definition, {name: each._hash for name, each in types.items()})
    name = definition.name.rpartition(".")[2]
    content: dict[str, Any] = {
        "__slots__": [field.name for field in definition.fields],
        "__module__": module,
        "__doc__": f"The message {definition.name}.",
        "__typenames__": [field.type_name for field in definition.fields],
        "__dimensions__": [list(field.dimensions) or None for field in definition.fields],
        "_codec": codec,
        "_hash": value,
        "_packed_fingerprint": _FINGERPRINT.pack(value),
    }
    made: type[Message] = type(name, (Message,), {**content, **definition.constants})
    declare_plain(made, lambda message: [message.encode()], made.decode)
    return made


class SerializerInterface:
    """Abstract: how a publisher or subscriber turns values into bytes, or bytes into values."""

    def CreateDefaultValue(self) -> AbstractValue:
        """Override: returns a value of the type that the others take."""
        raise NotImplementedError(f"{type(self).__name__} must override CreateDefaultValue().")

    def Deserialize(self, message_bytes: bytes, abstract_value: AbstractValue) -> None:
        """Override: sets a value to what a message says."""
        raise NotImplementedError(f"{type(self).__name__} must override Deserialize(message_bytes, abstract_value).")

    def Serialize(self, abstract_value: AbstractValue) -> bytes:
        """Override: returns the message of a value."""
        raise NotImplementedError(f"{type(self).__name__} must override Serialize(abstract_value).")


class PySerializer(SerializerInterface):
    """Values are messages: of a type of `merganser.framework.lcm.messages`, or a class that lcm-gen has written.

    Args:
        lcm_type: the type, with methods `encode()` and `decode(data)`.

    Raises:
        TypeError: it is no such type.
    """

    def __init__(self, lcm_type: Any) -> None:
        if not isinstance(lcm_type, type) or not (hasattr(lcm_type, "encode") and hasattr(lcm_type, "decode")):
            raise TypeError(
                f"PySerializer: lcm_type must be a type of messages, such as lcmt_scope; given {lcm_type!r}."
            )
        self._lcm_type: Any = lcm_type

    def __repr__(self) -> str:
        return f"PySerializer({self._lcm_type.__name__})"

    def CreateDefaultValue(self) -> AbstractValue:
        return AbstractValue.Make(self._lcm_type())

    def Deserialize(self, message_bytes: bytes, abstract_value: AbstractValue) -> None:
        abstract_value.set_value(self._lcm_type.decode(message_bytes))

    def Serialize(self, abstract_value: AbstractValue) -> bytes:
        message = abstract_value.get_value()
        if not isinstance(message, self._lcm_type):
            raise TypeError(f"{self!r} takes messages of that type; given one of type {type(message).__name__}.")
        encoded: bytes = message.encode()
        return encoded


def serializer_for(lcm_type: Any, use_cpp_serializer: bool) -> PySerializer:
    """The serializer of a type.

    Args:
        lcm_type: the type.
        use_cpp_serializer: whether values are to be those of this package's blocks, whichever class is given for the
            messages of that name: that of this package, or that of an installed drake.

    Raises:
        TypeError: it is not a type of messages.
        RuntimeError: this package's blocks have no such messages.
    """
    serializer = PySerializer(lcm_type)
    if not use_cpp_serializer or issubclass(lcm_type, Message):
        return serializer
    known = getattr(importlib.import_module("merganser.framework.lcm.messages"), lcm_type.__name__, None)
    if known is None or known().get_hash() != lcm_type().get_hash():
        raise RuntimeError(
            f"use_cpp_serializer=True is for the messages of robots, sensors and viewers that drake defines; "
            f"{lcm_type.__name__} is none of them."
        )
    return PySerializer(known)
