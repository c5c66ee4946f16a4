"""A host of FMUs of FMI 3.0 for tests: it loads the library by ctypes alone."""

from __future__ import annotations

import ctypes
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
OK, ERROR = 0, 3


class FmuFile:
    """An FMU for linux64, unpacked into a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        folder = path.with_suffix("")
        if not folder.exists():  # a library that is loaded must not change
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        self.root = ElementTree.parse(folder / "modelDescription.xml").getroot()
        self.library = next((folder / "binaries" / "x86_64-linux").iterdir())
        self.functions = ctypes.CDLL(str(self.library))
        variables = list(self.root.iter("Float64"))
        self.numbers = {each.get("name"): int(each.get("valueReference")) for each in variables}
        self.inputs = [each.get("name") for each in variables if each.get("causality") == "input"]

    def co_simulation(self, uses_events: bool = False, may_return_early: bool = False) -> FmuInstance:
        """An instance for co-simulation."""
        return FmuInstance(self, "CoSimulation", uses_events, may_return_early)

    def model_exchange(self) -> FmuInstance:
        """An instance for model exchange."""
        return FmuInstance(self, "ModelExchange")


class FmuInstance:
    """An instance; functions are called by their names without "fmi3", and return the status."""

    def __init__(self, file: FmuFile, kind: str, uses_events: bool = False, may_return_early: bool = False) -> None:
        self.file, self.messages, self.outlook = file, [], (False, False, False, 0.0)
        self._log = LOG(lambda environment, status, category, text: self.messages.append(text.decode()))
        create = getattr(file.functions, f"fmi3Instantiate{kind}")
        create.restype = ctypes.c_void_p
        token = file.root.get("instantiationToken").encode()
        others = [uses_events, may_return_early, None, 0] if kind == "CoSimulation" else []
        after = [None] if kind == "CoSimulation" else []
        self.address = create(b"one", token, None, False, False, *map(_argument, others), None, self._log, *after)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.file.functions, f"fmi3{name}")
        return lambda *arguments: function(ctypes.c_void_p(self.address), *map(_argument, arguments))

    def start(self, time: float = 0.0) -> FmuInstance:
        """Passes the initialization."""
        assert self.EnterInitializationMode(False, 0.0, time, False, 0.0) == OK
        assert self.ExitInitializationMode() == OK
        return self

    def get(self, *names: str) -> np.ndarray:
        """The values of variables."""
        values = np.full(len(names), np.nan)
        assert self.GetFloat64(self._references(names), len(names), values, len(names)) == OK, self.messages
        return values

    def set(self, **values: float) -> None:
        """Sets variables."""
        status = self.SetFloat64(self._references(values), len(values), np.array([*values.values()]), len(values))
        assert status == OK, self.messages

    def step(self, time: float, size: float) -> int:
        """Takes a step of co-simulation; `outlook` is: whether there is an event, an end, an early return; the time."""
        flags, last = np.zeros(3, np.bool_), np.zeros(1)
        status = int(self.DoStep(time, size, True, flags[:1], flags[1:2], flags[2:], last))
        self.outlook = (*map(bool, flags), float(last[0]))
        return status

    def _references(self, names: Any) -> np.ndarray:
        return np.array([self.file.numbers[name] for name in names], np.uint32)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_size_t(value) if isinstance(value, int) else value
