"""Commands to the client as bytes: MessagePack, with arrays as the types that the client knows.

What several objects share (the vertices of a mesh file, a picture) is an Asset. A command refers to it by its key; it
goes to each client once, before the first command that needs it.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FLOAT32 = 0x17  # number of the extension type of a Float32Array
_ARRAY_TYPES = {  # by numpy type: number of the extension type, and its name in the browser
    "uint8": (0x12, "Uint8Array"),
    "uint16": (0x14, "Uint16Array"),
    "uint32": (0x16, "Uint32Array"),
    "float32": (FLOAT32, "Float32Array"),
}


_numbers = itertools.count()


def new_name() -> str:
    """A name that no other object of three.js has."""
    return f"object{next(_numbers)}"


def load_viewer(name: str) -> Any:
    """Imports one of the packages of the extra `view`.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"The viewer needs the package '{name}', which is not installed. Install the extra: "
            "pip install 'merganser[view]'."
        ) from error


class Asset:
    """Something large that never changes and that commands refer to; use `Asset.of`.

    Attributes:
        key: what it is known by: a hash of the contents.
        data: the command that hands it to a client.
    """

    __slots__ = ("__weakref__", "data", "key")

    _known: weakref.WeakValueDictionary[str, Asset] = weakref.WeakValueDictionary()
    _lock = threading.Lock()

    def __init__(self, key: str, data: bytes) -> None:
        self.key = key
        self.data = data

    @staticmethod
    def of(contents: NDArray[Any] | str) -> Asset:
        """The asset with these contents, the same one as long as any object refers to it.

        Args:
            contents: an array, or text.
        """
        kind = "str" if isinstance(contents, str) else str(contents.dtype)
        raw = contents.encode() if isinstance(contents, str) else contents.tobytes()
        key = hashlib.sha256(kind.encode() + raw).hexdigest()[:40]
        with Asset._lock:
            known = Asset._known.get(key)
            if known is None:
                known = Asset(key, _packed({"type": "asset", "key": key, "data": contents}))
                Asset._known[key] = known
        return known


class Message(NamedTuple):
    """A command to the client.

    Attributes:
        data: the command; or several ones, as `joined` has them.
        assets: what it refers to.
        is_joined: whether it is several ones.
    """

    data: bytes
    assets: tuple[Asset, ...] = ()
    is_joined: bool = False


def encode(command: dict[str, Any]) -> Message:
    """A command as a Message; it may hold arrays and Assets."""
    assets: list[Asset] = []
    return Message(_packed(command, assets.append), tuple(assets))


def joined(messages: Iterable[Message | Asset]) -> bytes:
    """Several commands as one: each after its length, 4 bytes, little-endian."""
    parts: list[bytes] = []
    for message in messages:
        if isinstance(message, Asset) or not message.is_joined:
            parts.append(len(message.data).to_bytes(4, "little"))
        parts.append(message.data)
    return b"".join(parts)


def chunks(messages: Iterable[Message | Asset], size: int) -> Iterator[bytes]:
    """Parts of the result of `joined`: each of a size, but for the last one, which is shorter, and may be empty."""
    parts: list[bytes | memoryview] = []
    free = size
    for message in messages:
        is_joined = isinstance(message, Message) and message.is_joined
        for piece in (b"" if is_joined else len(message.data).to_bytes(4, "little"), message.data):
            rest = memoryview(piece)
            while len(rest) >= free:
                yield b"".join([*parts, rest[:free]])
                rest, parts, free = rest[free:], [], size
            parts.append(rest)
            free -= len(rest)
    yield b"".join(parts)


def typed_array(array: NDArray[Any]) -> tuple[int, str]:
    """Number and name of the type that an array has in the browser."""
    return _ARRAY_TYPES[str(array.dtype)]


def attribute(array: NDArray[Any], shared: bool = False, normalized: bool = False) -> dict[str, Any]:
    """An array of shape [n, size] as what three.js calls an attribute of a geometry.

    Args:
        array: one row for each vertex.
        shared: whether other objects have the same; it becomes an Asset then.
        normalized: whether integers encode numbers from 0 to 1.
    """
    flat = np.ascontiguousarray(array)
    return {
        "itemSize": flat.shape[1],
        "type": typed_array(flat)[1],
        "array": Asset.of(flat) if shared else flat,
        "normalized": normalized,
    }


def _packed(command: dict[str, Any], note: Callable[[Asset], Any] = lambda asset: None) -> bytes:
    umsgpack = load_viewer("umsgpack")

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, np.ndarray):
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            return umsgpack.Ext(typed_array(value)[0], little.tobytes())
        if isinstance(value, Asset):
            note(value)
            return {"asset": value.key}
        return value

    packed: bytes = umsgpack.packb(plain(command))
    return packed
