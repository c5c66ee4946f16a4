"""Fingerprints of functions: by which one sees whether compiled code of a function still is what its source says.

Numba takes the values of all that a function refers to into its code: of globals, of what modules and classes hold, of
cells and of defaults. All of these belong to the fingerprint, and so do the functions that it calls.
"""

from __future__ import annotations

import builtins
import enum
import hashlib
import sys
import types as python_types
from typing import Any

import numpy as np

from merganser.framework.native.compiler.code_files import package_of, source_hash
from merganser.framework.native.compiler.extending import Later

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
# What these offer is known by its name: it changes with their versions only.
_LIBRARIES = ("builtins", "math", "cmath", "operator", "numpy", "numba")


def fingerprint(function: Any) -> str | None:
    """Hash of the code of a function and of everything that it refers to.

    Returns:
        None if something may change unnoticed, such as a list; or if numba could not take the function from the disk,
        for which it imports the modules of all functions by their names.
    """
    digest = _Digest()
    try:
        digest.add_function(function)
    except _UnknownError:
        return None
    return digest.hexdigest()


class _UnknownError(Exception):
    """Raised for a value that may change unnoticed."""


class _Digest:
    """A hash that values are added to, each with all that it refers to."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(f"numpy {np.__version__}".encode())
        self._seen: set[Any] = set()

    def hexdigest(self) -> str:
        """The hash."""
        return self._hash.hexdigest()

    def add_function(self, function: Any) -> None:
        """Adds a function of Python."""
        # Whether the module of a function can be imported by its name; numba does so to load compiled code
        if function.__module__ not in sys.modules:
            raise _UnknownError
        self._add("function", function.__module__)
        package = package_of(function)
        if package:  # whatever it refers to is part of its package
            self._add(function.__qualname__, source_hash(package))
        elif self._is_new(function):
            names = self._add_code(function.__code__)
            for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                self._add_value(value, names)
            for cell in function.__closure__ or ():
                self._add_value(_content(cell), names)
            for name in names:
                if name in function.__globals__:
                    self._add("global", name)
                    self._add_value(function.__globals__[name], names)

    def _add(self, *texts: str) -> None:
        for text in texts:
            self._hash.update(f"{len(text)} {text}".encode())

    def _is_new(self, *key: Any) -> bool:
        """Whether a value is added for the first time; there may be circles."""
        ids = tuple(map(id, key))
        is_new = ids not in self._seen
        self._seen.add(ids)
        return is_new

    def _add_code(self, code: Any) -> tuple[str, ...]:
        """Adds compiled Python, and returns all names of globals and attributes in it."""
        self._add("code", code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_freevars)))
        names = list(code.co_names)
        for constant in code.co_consts:
            if hasattr(constant, "co_code"):
                names += self._add_code(constant)
            else:
                self._add("constant", repr(constant))
        return tuple(dict.fromkeys(names))

    def _add_value(self, value: Any, names: tuple[str, ...]) -> None:
        """Adds a value that a function refers to; of a module or class, what has one of the names."""
        if isinstance(value, (python_types.ModuleType, type)):
            # Adds what a module or a class has of these names
            self._add("space", getattr(value, "__module__", ""), value.__name__)
            if not _is_of_library(value) and self._is_new(value, names):
                for name in names:
                    if hasattr(value, name):
                        self._add("attribute", name)
                        self._add_value(getattr(value, name), names)
            return
        self._add(str(getattr(value, "targetoptions", "")))  # of a function that numba compiles
        value = getattr(value, "py_func", getattr(value, "interpreted", value))
        self._add(type(value).__qualname__)
        if isinstance(value, enum.Enum):
            self._add(value.name)
            self._add_value(value.value, names)
        elif isinstance(value, (*_CONSTANTS, np.dtype)) or _is_numba_type(value):
            self._add(repr(value))
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self._add(repr((value.dtype, value.shape, value.flags.c_contiguous, value.flags.f_contiguous)))
            self._add(value.tobytes().hex())
        elif isinstance(value, tuple):
            self._add(repr((len(value), getattr(value, "_fields", None))))
            for item in value:
                self._add_value(item, names)
        elif _is_of_library(value) or isinstance(value, (python_types.BuiltinFunctionType, np.ufunc)):
            self._add(f"{getattr(value, '__module__', None)}.{value.__name__}")
        elif isinstance(value, python_types.FunctionType):
            self.add_function(value)
        elif isinstance(value, Later):
            self._add(value.fingerprint_rest())
            self.add_function(value.source)
        else:
            raise _UnknownError


def _is_numba_type(value: Any) -> bool:
    if "numba" not in sys.modules:
        return False
    from numba import types

    kinds: Any = types
    return isinstance(value, kinds.Type)


def _is_of_library(value: Any) -> bool:
    module = value.__name__ if isinstance(value, python_types.ModuleType) else getattr(value, "__module__", None)
    is_named = isinstance(getattr(value, "__name__", None), str)
    return is_named and (str(module).split(".")[0] in _LIBRARIES or getattr(builtins, value.__name__, None) is value)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        raise _UnknownError from None
