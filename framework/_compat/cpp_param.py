"""pydrake.common.cpp_param: types as parameters of templates."""

from __future__ import annotations

import ctypes
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Those of ctypes are keys only: programs may give them, as pydrake takes them for the types of C++ that they are.
_CANONICAL: dict[Any, Any] = {
    np.double: float,
    ctypes.c_double: float,
    ctypes.c_float: np.float32,
    np.int32: int,
    ctypes.c_int32: int,
    ctypes.c_int16: np.int16,
    ctypes.c_int64: np.int64,
    ctypes.c_uint8: np.uint8,
    ctypes.c_uint16: np.uint16,
    ctypes.c_uint32: np.uint32,
    ctypes.c_uint64: np.uint64,
    typing.Union: types.UnionType,
}


def pretty_class_name(cls: type, *, use_qualname: bool = False) -> str:
    """Returns the name of a class as a program writes it: `LeafSystem_[AutoDiffXd]`."""
    return cls.__qualname__ if use_qualname else cls.__name__


def get_param_canonical(param: Sequence[Any]) -> tuple[Any, ...]:
    """The types by which templates know the given ones: float for numpy.double, and so on."""
    return tuple(_CANONICAL.get(each, each) if isinstance(each, typing.Hashable) else each for each in param)


def get_param_names(param: Sequence[Any], *, mangle: bool = False) -> tuple[str, ...]:
    """The names of types, as written in the brackets of a template.

    Args:
        param: types, or values.
        mangle: whether characters that names of Python may not have become underscores.
    """
    names = tuple(_name(each) for each in get_param_canonical(param))
    return tuple("".join(c if c.isalnum() else "_" for c in name) for name in names) if mangle else names


def _name(param: Any) -> str:
    origin = typing.get_origin(param)
    if origin is None:
        return param.__name__ if isinstance(param, type) else str(param)
    names = [_name(each) for each in typing.get_args(param)]
    if origin in (typing.Union, types.UnionType):
        is_optional = len(names) == 2 and names[1] == "NoneType"
        return f"typing.Optional[{names[0]}]" if is_optional else f"typing.Union[{','.join(names)}]"
    return f"{_name(origin)}[{','.join(names)}]"


class _Generic:
    """A generic type of Python whose parameters are canonical: `List[np.double]` is `list[float]`."""

    def __init__(self, name: str, made: Callable[[tuple[Any, ...]], Any], num_params: int | None) -> None:
        self._name, self._made, self._num_params = name, made, num_params

    def __getitem__(self, params: Any) -> Any:
        params = params if isinstance(params, tuple) else (params,)
        if self._num_params not in (None, len(params)):
            raise RuntimeError(f"{self._name}[] takes {self._num_params} type(s), got {len(params)}.")
        return self._made(get_param_canonical(params))

    def __repr__(self) -> str:
        return f"<Generic {self._name}>"


Dict = _Generic("Dict", lambda params: types.GenericAlias(dict, params), 2)
List = _Generic("List", lambda params: types.GenericAlias(list, params), 1)
Optional = _Generic("Optional", lambda params: typing.Optional[params[0]], 1)  # noqa: UP045
Union = _Generic("Union", lambda params: typing.Union[params], None)  # noqa: UP007
