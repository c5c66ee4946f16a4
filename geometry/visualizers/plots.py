"""Plots of signals beside the scene: their last samples, of which each page gets those that it lacks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.arguments import checked_number
from merganser.geometry.visualizers.encoding import Message, encode
from merganser.geometry.visualizers.scene import Client, Entry, Scene

PLOT = "plot "  # begins the names of what the scene knows of plots
_CAPACITY = 4096  # samples of a plot that are kept
_SHOWN = 6  # signals that are drawn at first


class _Samples(Entry):
    """The last samples of a plot, each with the version of the scene at which it came."""

    __slots__ = ("_samples", "_start", "names", "title")

    def __init__(self, title: str, names: list[str]) -> None:
        super().__init__(Message(b""))
        self.title, self.names = title, names
        self._samples: deque[tuple[int, float, NDArray[np.float32]]] = deque(maxlen=_CAPACITY)
        self._start = 0  # version of the first one since time has last gone back

    def add(self, time: float, values: NDArray[np.float32], version: int) -> None:
        """Adds a sample; those of a later time are of a run before, and go."""
        if self._samples and time < self._samples[-1][1]:
            self._samples.clear()
        if not self._samples:
            self._start = version
        self._samples.append((version, time, values))

    def message(self) -> Message:
        return self._message_since(0)

    def news(self, client: Client) -> list[Message]:
        return [self._message_since(client.seen)]

    def _message_since(self, version: int) -> Message:
        new = []
        for sample in reversed(self._samples):
            if sample[0] <= version:
                break
            new.append(sample)
        values = [sample[2] for sample in new[::-1]]
        command = {
            "type": "add_samples", "title": self.title, "is_start": version < self._start,
            "times": [sample[1] for sample in new[::-1]],
            "values": np.concatenate(values) if values else np.zeros(0, np.float32),
        }  # fmt: skip
        return encode(command)


class Plots:
    """All plots, by their titles; may be used from any thread.

    Args:
        scene: what clients get.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._plots: dict[str, _Samples] = {}

    def set(
        self, title: str, names: Sequence[str], shown: Sequence[str] | None = None, span: float = 10.0,
        is_folded: bool = False,
    ) -> None:  # fmt: skip
        """Adds a plot of signals over time to the page, or begins it again; beyond pydrake.

        Args:
            title: its heading.
            names: of the signals; users of the page choose which are drawn.
            shown: those that are drawn at first; None for the first six.
            span: how much time is seen [s].
            is_folded: whether the plot is closed at first.

        Raises:
            TypeError: the title or a name is not a string.
            ValueError: two signals have one name, `signals` is empty, or the span is not positive; no signal has a
                name of `shown`.
        """
        signals = list(names)
        if not all(isinstance(each, str) for each in (title, *signals)):
            raise TypeError(f"Meshcat.set_plot() takes a title and names of signals; given {title!r} and {names!r}.")
        if not signals or len(set(signals)) < len(signals):
            raise ValueError(f"Meshcat.set_plot(): plot '{title}' needs signals of different names; given {signals}.")
        span = checked_number(span, "Meshcat.set_plot(): the span")
        if not 0.0 < span < np.inf:
            raise ValueError(f"Meshcat.set_plot(): the span must be positive and finite [s]; given {span}.")
        unknown = [name for name in shown or () if name not in signals]
        if unknown:
            raise ValueError(f"Meshcat.set_plot(): plot '{title}' has no signal '{unknown[0]}'. It has {signals}.")
        chosen = signals[:_SHOWN] if shown is None else list(shown)
        command = {
            "type": "set_plot", "title": title, "names": signals, "span": span, "is_folded": is_folded,
            "is_shown": [name in chosen for name in signals],
        }  # fmt: skip
        with self._lock:
            self._plots[title] = _Samples(title, signals)
            self._scene.remove_other(f"remove {PLOT}{title}")
            self._scene.set_other(f"{PLOT}{title}", encode(command))
            self._scene.put_other(f"{PLOT}samples {title}", self._plots[title])

    def add(self, title: str, time: float, values: ArrayLike) -> None:
        """Adds a sample to a plot; one of an earlier time than the last begins the plot again. Beyond pydrake.

        Args:
            title: of the plot.
            time: simulated time [s].
            values: of all signals, shape [len(names)].

        Raises:
            RuntimeError: there is no such plot.
            ValueError: there are more or fewer values than signals.
        """
        with self._lock:
            samples = self._plots.get(title)
            if samples is None:
                raise RuntimeError(f"Meshcat has no plot '{title}'. Call set_plot() first. It has {list(self._plots)}.")
            row = np.array(values, dtype=np.float32).ravel()
            if len(row) != len(samples.names):
                raise ValueError(f"Meshcat: plot '{title}' has {len(samples.names)} signals; given {len(row)} values.")
            self._scene.change_other(samples, lambda version: samples.add(float(time), row, version))

    def delete(self, title: str) -> None:
        """Removes a plot from the page, if there is one of this title; beyond pydrake."""
        with self._lock:
            if self._plots.pop(title, None) is not None:
                self._scene.remove_other(f"{PLOT}samples {title}")
                self._scene.remove_other(f"{PLOT}{title}", encode({"type": "delete_plot", "title": title}))

    def delete_all(self) -> None:
        """Removes all plots."""
        for title in list(self._plots):
            self.delete(title)
