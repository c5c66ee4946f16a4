"""What an FMU contains: its archive, unpacked within bounds, and its variables."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

MOST_FILES = 20_000
MOST_BYTES = 4 * 2**30  # of all files together, unpacked

_WHOLE_NUMBERS = {
    "Integer", "Enumeration", "Boolean", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64",
}  # fmt: skip
NUMBERS = {"Real", "Float32", "Float64"} | _WHOLE_NUMBERS


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU.

    Attributes:
        name: in the FMU.
        type: as FMI calls it, such as "Float64"; "Real" and "Integer" are those of FMI 2.
        reference: by which the FMU knows it.
        causality, variability: as FMI has them, such as "input" and "continuous".
        size: number of elements.
        start: of the elements, shape [size]; None if the FMU computes it or it is no number.
        units: such as "rad/s", in the syntax of pint, or None.
    """

    name: str
    type: str
    reference: int
    causality: str
    variability: str
    size: int
    start: NDArray[np.float64] | None
    units: str | None

    @property
    def is_number(self) -> bool:
        """Whether it is a number or numbers; truth values count as 0 and 1."""
        return self.type in NUMBERS

    def checked(self, values: Any, where: str) -> NDArray[np.float64]:
        """Numbers for it, shape [size].

        Raises:
            ValueError: there are more or fewer of them, one is not finite, or not whole for a variable of integers.
        """
        given = np.asarray(values, np.float64).reshape(-1)
        if given.size != self.size:
            raise ValueError(f"{where}: variable '{self.name}' has {self.size} elements, got {given.size}.")
        if not np.isfinite(given).all():
            raise ValueError(f"{where}: variable '{self.name}' must be finite, got {given}.")
        if self.type in _WHOLE_NUMBERS and (given != np.round(given)).any():
            raise ValueError(f"{where}: variable '{self.name}' is of type {self.type}, got {given}.")
        return given


class Archive:
    """An FMU, unpacked into a folder that goes with the last object that uses it.

    Args:
        path: of the file .fmu.

    Attributes:
        path: as given.
        folder: where its files are.
        description: as FMPy reads it from modelDescription.xml.
        version: of FMI, 2 or 3.
        has_partials: whether it gives directional derivatives in model exchange.
        variables: by their names.

    Raises:
        ImportError: the extra `fmi` is not installed.
        FileNotFoundError: there is no such file.
        ValueError: it is no FMU of version 2 or 3, its files leave the folder, or there is too much in it.

    Warns:
        UserWarning: its description is not as the standard has it; what other tools accept is used all the same.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            from fmpy import read_model_description
            from fmpy.model_description import ValidationError
        except ImportError as error:
            raise ImportError("FmuSystem needs FMPy. Install the extra: pip install 'merganser[fmi]'.") from error
        self.path = os.path.abspath(os.fspath(path))
        if not os.path.isfile(self.path):
            raise FileNotFoundError(f"FmuSystem: there is no file '{os.fspath(path)}'.")
        self._kept = tempfile.TemporaryDirectory(prefix="merganser-fmu-")
        self.folder = self._kept.name
        self._unpack()
        if not os.path.isfile(os.path.join(self.folder, "modelDescription.xml")):
            raise ValueError(f"'{self.path}' is no FMU: it has no modelDescription.xml.")
        try:
            try:
                self.description: Any = read_model_description(self.folder)
            except ValidationError as error:
                warnings.warn(f"'{self.path}': {error}", stacklevel=3)
                self.description = read_model_description(self.folder, validate=False)
        except Exception as error:
            raise ValueError(f"'{self.path}': modelDescription.xml cannot be read. {error}") from error
        self.version = int(self.description.fmiVersion.split(".")[0])
        if self.version not in (2, 3):
            raise ValueError(f"'{self.path}' is of FMI {self.description.fmiVersion}; 2.0 and 3.0 are known here.")
        # FMPy 0.3.32 knows the attribute by its name in FMI 2 only.
        exchange = ElementTree.parse(os.path.join(self.folder, "modelDescription.xml")).getroot().find("ModelExchange")
        name = "providesDirectionalDerivative" + ("s" if self.version == 3 else "")
        self.has_partials = exchange is not None and exchange.get(name) in ("true", "1")
        self.variables = {each.name: _variable(each) for each in self.description.modelVariables}

    def __deepcopy__(self, memo: dict[int, Any]) -> Archive:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Archive, (self.path,)

    def _unpack(self) -> None:
        """Writes the files; none of them, if one would be written elsewhere or there are too many."""
        root = os.path.realpath(self.folder)
        try:
            with zipfile.ZipFile(self.path) as file:
                members = file.infolist()
                if len(members) > MOST_FILES or sum(member.file_size for member in members) > MOST_BYTES:
                    raise ValueError(
                        f"'{self.path}' has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes unpacked."
                    )
                for member in members:
                    target = os.path.realpath(os.path.join(root, member.filename))
                    is_link = stat.S_ISLNK(member.external_attr >> 16)
                    if is_link or (target != root and not target.startswith(root + os.sep)):
                        raise ValueError(f"'{self.path}': '{member.filename}' is a link or leaves the folder.")
                file.extractall(root)
        except zipfile.BadZipFile as error:
            raise ValueError(f"'{self.path}' is no FMU: it is no zip file. {error}") from error

    def choose(self, what: str, names: Iterable[str], where: str) -> list[Variable]:
        """Variables by their names.

        Raises:
            ValueError: the FMU has none of such a name, or it is no number.
        """
        chosen = []
        for name in names:
            variable = self.variables.get(name)
            if variable is None:
                raise ValueError(f"{where}: the FMU has no variable '{name}' ({what}); it has {self._some_names()}.")
            if not variable.is_number:
                raise ValueError(f"{where}: variable '{name}' ({what}) is of type {variable.type}, not a number.")
            chosen.append(variable)
        return chosen

    def _some_names(self) -> str:
        names = [f"'{name}'" for name in self.variables]
        return ", ".join(names[:20]) + (f" and {len(names) - 20} others" if len(names) > 20 else "")


def _variable(given: Any) -> Variable:
    """A variable as FMPy describes it."""
    size, start = int(np.prod(given.shape or ())), None
    if given.type in NUMBERS and given.start is not None:
        words = given.start if isinstance(given.start, (list, tuple)) else str(given.start).split()
        numbers = [{"true": 1.0, "false": 0.0}.get(str(word).lower(), word) for word in words]
        start = np.array(numbers, np.float64)
        start = np.full(size, start[0]) if start.size == 1 else start
    units = given.unit or (given.declaredType.unit if given.declaredType is not None else None)
    return Variable(
        given.name, given.type, int(given.valueReference), given.causality or "local",
        given.variability or "continuous", size, start, _in_pint(units),
    )  # fmt: skip


def _in_pint(units: str | None) -> str | None:
    """Units as FMI writes them, such as "kg.m2/s", in the syntax of pint: "kg*m**2/s"."""
    if units is None or units in ("", "-"):
        return None
    return re.sub(r"([A-Za-z])(-?\d+)", r"\1**\2", units.replace(".", "*"))


def values_of(variables: Sequence[Variable], numbers: NDArray[Any]) -> list[NDArray[Any]]:
    """What of the numbers of all variables, one after the other, belongs to each."""
    return np.split(numbers, np.cumsum([variable.size for variable in variables])[:-1]) if variables else []
