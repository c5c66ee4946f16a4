"""StudyFile: the results of a study on disk, so that one that was cut short can go on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO


class StudyFile:
    """Lines of JSON: one with the number of runs and the final time, then one for each run as it ends.

    A line that was cut off in the middle is dropped. Runs that had failed are not taken over. Numbers come back to the
    last bit; arrays come back as lists.

    Args:
        path: of the file; None for none.
        seeds: of all runs.
        final_time: of all runs [s].

    Attributes:
        outputs: by run, those that the file had.

    Raises:
        ValueError: the file is that of another study, or none.
    """

    def __init__(self, path: str | os.PathLike[str] | None, seeds: list[int], final_time: float) -> None:
        self._path = None if path is None else Path(path)
        self._header = {"merganser_study": 1, "final_time": float(final_time)}
        self._file: TextIO | None = None
        self.outputs: dict[int, Any] = {}
        self._length = 0  # of the lines that are whole [bytes]
        if self._path is not None and self._path.exists():
            self._read(self._path, seeds)

    def _read(self, path: Path, seeds: list[int]) -> None:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                return
            where = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{where}: not a line of a study ({error}); name another file.") from error
            if number == 1:
                if record != self._header:
                    raise ValueError(f"{where}: the file is of another study: {record}; expected {self._header}.")
            elif not (0 <= record["run"] < len(seeds) and record["seed"] == seeds[record["run"]]):
                raise ValueError(
                    f"{where}: run {record['run']} has seed {record['seed']}, which is of another study. Use the same "
                    "generator and as many samples, or name another file."
                )
            elif "error" not in record:
                self.outputs[record["run"]] = record["output"]
            self._length += len(line)

    def add(self, run: int, seed: int, output: Any, error: str | None) -> None:
        """Writes the end of a run, at once."""
        if self._file is None:
            return
        what = {"output": output} if error is None else {"error": error}
        self._write({"run": run, "seed": seed, **what})

    def _write(self, record: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(record, default=_plain) + "\n")
        self._file.flush()

    def __enter__(self) -> StudyFile:
        if self._path is not None:
            self._file = self._path.open("a")
            self._file.truncate(self._length)
            if self._length == 0:
                self._write(self._header)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(
        f"A study with a file takes numbers, arrays and what JSON knows as outputs; got {type(value).__name__}."
    )
