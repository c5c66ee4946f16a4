"""Serializers: from values of ports to messages as bytes, and back."""

from __future__ import annotations

import importlib
from typing import Any

from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import Message


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
