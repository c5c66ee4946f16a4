"""The server's copy of the scene: entries in the order of their last changes.

An entry is one thing: an object, a transform, a property, a slider. When it changes it moves to the end and gets the
next version. A client that has seen everything up to some version lacks the entries behind it, each as it is now: what
a slow client has missed in between is not kept anywhere. A new client has seen nothing, and gets all.

Deleting removes entries, and leaves one that makes clients delete; it is dropped when all clients know.

Transforms of many paths that move together.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.events import Demand
from merganser.geometry.visualizers.encoding import FLOAT32, Message, encode, joined, load_viewer

_MATRIX_BYTES = 16 * 4


class PoseBlock:
    """The transforms of several paths as one array: 400 of them are set in 0.01 ms, which one by one take 2 ms.

    Each has a version of its own, so that a client gets only those that have changed. The commands are the same bytes
    each time but for the numbers, which are written into a template.

    Args:
        paths: from the root.

    Attributes:
        paths: the same.
        version: that of the last change.
        is_linked: whether the scene knows all of them.
    """

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.version = 0
        self.is_linked = False
        self._X = np.full((len(paths), 4, 4), np.nan)
        self._versions = np.zeros(len(paths), dtype=np.int64)  # 0 for those that have not been set
        commands = [_command(path) for path in paths]
        self._sizes = np.array([len(command) for command in commands], dtype=np.int64)
        self._template = np.frombuffer(b"".join(commands), dtype=np.uint8).copy()
        self._places = (np.cumsum(self._sizes) - _MATRIX_BYTES)[:, None] + np.arange(_MATRIX_BYTES)

    def set_rows(self, X: NDArray[np.float64], version: int) -> bool:
        """Sets all transforms, shape [num_paths, 4, 4]; returns whether any has changed."""
        changed = np.not_equal(X, self._X).any(axis=(1, 2))
        if not changed.any():
            return False
        self._X[:] = X
        self._versions[changed] = version
        self.version = version
        return True

    def set_row(self, row: int, matrix: NDArray[np.float64], version: int) -> None:
        """Sets one transform."""
        self._X[row] = matrix
        self._versions[row] = self.version = version

    def get_row(self, row: int) -> NDArray[np.float64] | None:
        """One transform, shape [4, 4]; None if it has not been set."""
        return self._X[row].copy() if self._versions[row] else None

    def remove_row(self, row: int) -> None:
        """Forgets one transform."""
        self._X[row] = np.nan
        self._versions[row] = 0
        self.is_linked = False

    def news(self, client: Client) -> list[Message]:
        """The commands for transforms that a client lacks, all in one."""
        is_new = self._versions > client.seen
        rows = np.flatnonzero(is_new)
        matrices = np.ascontiguousarray(self._X[rows].transpose(0, 2, 1), dtype="<f4")  # by columns
        self._template[self._places[rows]] = matrices.view(np.uint8).reshape(-1, _MATRIX_BYTES)
        commands = self._template if len(rows) == len(is_new) else self._template[np.repeat(is_new, self._sizes)]
        return [Message(commands.tobytes(), is_joined=True)] if len(rows) else []


def _command(path: str) -> bytes:
    """The command that sets the transform at a path, after its length; its last bytes are the numbers, all zero."""
    umsgpack = load_viewer("umsgpack")
    matrix = umsgpack.Ext(FLOAT32, bytes(_MATRIX_BYTES))
    return joined([Message(umsgpack.packb({"type": "set_transform", "path": path, "matrix": matrix}))])


ANIMATION = "animation"  # what it is called among what is at no path
_WORKING_DIRECTORY = "/drake"
_OWN_OF_CLIENTS = {"Background", "Lights", "Grid", "Axes", "Cameras"}  # what every page shows by itself
_OBJECT = "<object>"


class Entry:
    """Something that clients must know.

    Args:
        message: the command, or a function that makes it when it is first sent to a client.
        is_removal: whether clients that never knew the thing may do without it.
        sender: the client that caused it, and so knows.

    Attributes:
        version: that of the scene when this last changed.
    """

    __slots__ = ("_message", "is_removal", "sender", "version")

    def __init__(self, message: Message | Callable[[], Message], is_removal: bool = False, sender: Any = None) -> None:
        self._message = message
        self.is_removal = is_removal
        self.sender = sender
        self.version = 0

    def message(self) -> Message:
        """The command for clients."""
        if not isinstance(self._message, Message):
            self._message = self._message()
        return self._message

    def news(self, client: Client) -> list[Message]:
        """The commands that a client lacks."""
        is_known = client is self.sender or (self.is_removal and client.seen == 0)
        return [] if is_known else [self.message()]


class Client:
    """The commands that a client has been sent.

    Attributes:
        seen: the version up to which commands have been handed to the connection.
        sent: the version up to which they have left for the client.
        is_asleep: whether a wait for it timed out, and it has taken nothing since.
        assets: keys of those that it has.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.sent = 0
        self.is_asleep = False
        self.assets: set[str] = set()

    def wake(self) -> None:
        """There is something new; called with the lock of the scene held, so it must not wait."""


class _Node:
    """A part of a path.

    Attributes:
        children: by the next part.
        entries: the object, properties by name, and the transform, or else the PoseBlock that has it and its row.
    """

    __slots__ = ("children", "entries")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.entries: dict[str, Any] = {}

    def all_entries(self) -> Iterator[Any]:
        yield from self.entries.values()
        for child in self.children.values():
            yield from child.all_entries()


def full_path(path: str) -> list[str]:
    """The parts of a path from the root; relative ones begin at /drake.

    Raises:
        TypeError: the path is not a string.
    """
    if not isinstance(path, str):
        raise TypeError(f"A path in Meshcat is a string such as 'robot/link'; given {path!r}.")
    absolute = path if path.startswith("/") else f"{_WORKING_DIRECTORY}/{path}"
    return [part for part in absolute.split("/") if part]


class Scene:
    """All that clients must know; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_sent = threading.Condition(self._lock)
        self._root = _Node()
        self._others: dict[str, Entry] = {}
        self._log: dict[Entry | PoseBlock, None] = {}  # in the order of versions
        self._version = 0
        self._clients: set[Client] = set()
        self._demands: weakref.WeakSet[Demand] = weakref.WeakSet()

    @property
    def version(self) -> int:
        """How often something has changed."""
        return self._version

    # ------------------------------------------------------------------ what is at paths

    def set_at(self, path: str, what: str, message: Message) -> None:
        """Sets the object or a property at a path."""
        with self._lock:
            self._put(self._node(full_path(path)).entries, what, Entry(message))

    def forget_at(self, path: str, what: str) -> None:
        """Later clients do not get the object or property at a path; those that have it keep it."""
        with self._lock:
            node = self._find(full_path(path))
            known = None if node is None else node.entries.pop(what, None)
            if known is not None:
                self._drop(known)

    def set_transform(self, path: str, matrix: NDArray[np.float64]) -> None:
        """Sets the transform at a path, shape [4, 4]."""
        parts = full_path(path)
        with self._lock:
            entries = self._node(parts).entries
            known = entries.get("transform")
            if isinstance(known, tuple):
                block, row = known
                block.set_row(row, matrix, self._version + 1)
                self._move_to_end(block)
            else:
                make = functools.partial(_transform, joined_path(parts), np.array(matrix))
                self._put(entries, "transform", Entry(make))

    def add_pose_block(self, paths: list[str]) -> PoseBlock:
        """Takes over the transforms of several paths, for `set_poses`."""
        block = PoseBlock([joined_path(full_path(path)) for path in paths])
        with self._lock:
            self._link(block)
        return block

    def set_poses(self, block: PoseBlock, X: NDArray[np.float64]) -> None:
        """Sets the transforms of the paths of a block, shape [num_paths, 4, 4]; those that stay cost nothing."""
        with self._lock:
            if not block.is_linked:
                self._link(block)
            if block.set_rows(X, self._version + 1):
                self._move_to_end(block)

    def delete(self, path: str = "") -> None:
        """Deletes all at and below a path: by default everything that does not begin with '/'; '/' is ignored."""
        parts = full_path(path)
        if not parts:
            return
        with self._lock:
            parent = self._find(parts[:-1])
            if parent is not None:
                self._forget(parent, parts[-1])
            if self._clients or parts[0] in _OWN_OF_CLIENTS:
                command = encode({"type": "delete", "path": joined_path(parts)})
                entry = Entry(command, is_removal=parts[0] not in _OWN_OF_CLIENTS)
                self._put(self._others, f"delete {joined_path(parts)}", entry)

    def has_path(self, path: str) -> bool:
        """Returns whether something has been set at or below a path, and not deleted."""
        with self._lock:
            return self._find(full_path(path)) is not None

    def get_at(self, path: str, what: str) -> Message | None:
        """The command that sets the object, a property or the transform at a path; None if not set.

        Args:
            path: the path.
            what: as in `set_at`, or 'transform'.
        """
        with self._lock:
            node = self._find(full_path(path))
            found = None if node is None else node.entries.get(what)
            if isinstance(found, tuple):
                block, row = found
                matrix = block.get_row(row)
                return None if matrix is None else _transform(block.paths[row], matrix)
            return None if found is None else found.message()

    # ------------------------------------------------------------------ all else

    def set_other(self, name: str, message: Message, sender: Client | None = None) -> None:
        """Sets something that is at no path."""
        self.put_other(name, Entry(message, sender=sender))

    def put_other(self, name: str, entry: Entry) -> None:
        """Sets an entry that is at no path, which may be of a kind of its own."""
        with self._lock:
            self._put(self._others, name, entry)

    def change_other(self, entry: Entry, change: Callable[[int], None]) -> None:
        """Changes an entry that is at no path; `change` is called with the version that it has from now on."""
        with self._lock:
            entry.version = self._version + 1
            change(entry.version)
            self._move_to_end(entry)

    def get_other(self, name: str) -> Message | None:
        """The command that was last given to `set_other`; None if not set."""
        with self._lock:
            found = self._others.get(name)
            return None if found is None else found.message()

    def remove_other(self, name: str, message: Message | None = None) -> None:
        """Removes it; `message` makes clients do so."""
        with self._lock:
            if name in self._others:
                self._drop(self._others.pop(name))
            if message is not None and self._clients:
                self._put(self._others, f"remove {name}", Entry(message, is_removal=True))

    # ------------------------------------------------------------------ demand

    def add_demand(self, is_lasting: bool) -> Demand:
        """Something that systems show periodically, which is wanted when a client can take it, or always."""
        demand = Demand()
        demand.want_always(is_lasting)
        with self._lock:
            self._demands.add(demand)
        return demand

    def want_always(self, is_wanted: bool) -> None:
        """From now on all that is shown periodically is wanted each time, or when a client can take it."""
        with self._lock:
            for demand in self._demands:
                demand.want_always(is_wanted)

    def want_more(self) -> None:
        """A client can take what comes next."""
        with self._lock:
            for demand in self._demands:
                demand.want()

    # ------------------------------------------------------------------ clients

    def add_client(self, client: Client) -> None:
        """From now on, the client gets what is new."""
        with self._lock:
            self._clients.add(client)

    def remove_client(self, client: Client) -> None:
        """The client is gone."""
        with self._lock:
            self._clients.discard(client)
            self._drop_removals()
            self._has_sent.notify_all()

    def num_clients(self) -> int:
        """How many clients there are."""
        return len(self._clients)

    def news(self, client: Client) -> list[Message]:
        """The commands that a client lacks, in order; marks them as seen."""
        with self._lock:
            fresh = []
            for entry in reversed(self._log):
                if entry.version <= client.seen:
                    break
                fresh.append(entry)
            messages = [message for entry in self._in_order(fresh[::-1]) for message in entry.news(client)]
            client.seen = self._version
            return messages

    def note_sent(self, client: Client, version: int) -> None:
        """All up to a version has left for the client."""
        with self._lock:
            client.sent = version
            client.is_asleep = False
            self._drop_removals()
            self._has_sent.notify_all()

    def wait_until_sent(self, timeout: float) -> bool:
        """Waits until all that is known now has left for all clients that are awake; returns whether it has.

        Clients that have not taken it when the time is over [s] are asleep from then on, until they take something.
        """
        with self._lock:
            version = self._version
            for client in self._clients:
                client.wake()

            def late() -> list[Client]:
                return [client for client in self._clients if client.sent < version and not client.is_asleep]

            has_sent = self._has_sent.wait_for(lambda: not late(), timeout)
            for client in late():
                client.is_asleep = True
            return has_sent

    def snapshot(self, without: Iterable[str] = ()) -> list[Message]:
        """All commands for a new client, without those at no path whose name begins with one of these."""
        omitted = tuple(without)
        newcomer = Client()
        with self._lock:
            skip = {entry for name, entry in self._others.items() if name.startswith(omitted)} if omitted else set()
            entries = [entry for entry in self._in_order(list(self._log)) if entry not in skip]
            return [message for entry in entries for message in entry.news(newcomer)]

    # ------------------------------------------------------------------ helpers, called with the lock held

    def _in_order(self, entries: list[Any]) -> list[Any]:
        """The animation comes last: it is bound to what is at its paths when it comes."""
        animation = self._others.get(ANIMATION)
        if animation in entries:
            entries.remove(animation)
            entries.append(animation)
        return entries

    def _find(self, parts: list[str]) -> _Node | None:
        node: _Node | None = self._root
        for part in parts:
            node = None if node is None else node.children.get(part)
        return node

    def _node(self, parts: list[str]) -> _Node:
        node = self._root
        for part in parts:
            child = node.children.get(part)
            if child is None:
                child = node.children[part] = _Node()
            node = child
        return node

    def _put(self, entries: dict[str, Any], name: str, entry: Entry) -> None:
        known = entries.get(name)
        if known is not None:
            self._drop(known)
        entries[name] = entry
        entry.version = self._version + 1
        self._move_to_end(entry)

    def _move_to_end(self, entry: Entry | PoseBlock) -> None:
        """Notes that an entry has changed, to the next version."""
        self._version += 1
        self._log.pop(entry, None)
        self._log[entry] = None
        for client in self._clients:
            client.wake()

    def _drop(self, entry: Entry) -> None:
        """Clients no longer get it; an interrupt may have dropped it before."""
        self._log.pop(entry, None)

    def _link(self, block: PoseBlock) -> None:
        """Makes the block responsible for the transforms of its paths."""
        for row, path in enumerate(block.paths):
            entries = self._node(full_path(path)).entries
            known = entries.get("transform")
            if isinstance(known, Entry):
                self._drop(known)
            elif known is not None and known[0] is not block:
                known[0].remove_row(known[1])
            entries["transform"] = (block, row)
        block.is_linked = True

    def _forget(self, parent: _Node, name: str) -> None:
        """Removes the node of this name, and its entries; `<object>` is the object of the parent."""
        if name == _OBJECT and "object" in parent.entries:
            self._drop(parent.entries.pop("object"))
        node = parent.children.pop(name, None)
        for entry in () if node is None else node.all_entries():
            if isinstance(entry, tuple):
                entry[0].remove_row(entry[1])
            else:
                self._drop(entry)

    def _drop_removals(self) -> None:
        seen = min((client.sent for client in self._clients), default=self._version)
        for name in [name for name, e in self._others.items() if e.is_removal and e.version <= seen]:
            self._drop(self._others.pop(name))


def _transform(path: str, matrix: NDArray[np.float64]) -> Message:
    return encode({"type": "set_transform", "path": path, "matrix": matrix.T.ravel().tolist()})


def joined_path(parts: list[str]) -> str:
    """A path from its parts."""
    return "/" + "/".join(parts)
