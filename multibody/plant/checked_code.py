"""The compiled forms of kernels/checked_arrays.py, for vectors of floats that are not contiguous, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native import Given, bind
from merganser.multibody.kernels import checked_arrays

__all__ = ["checked"]

_GIVEN = np.zeros(4)[::2]  # for a type that has any stride
_ROOM = np.zeros(2)
_PLACES = np.zeros(2, np.int64)


class _CheckedCode:
    """Each function is loaded, or compiled, when it is first used; its arguments must be arrays of the right dtype."""

    is_finite: Callable[[Any], bool]
    write_checked: Callable[[Any, Any, Any], bool]
    subtract_checked: Callable[[Any, Any], bool]

    _EXAMPLES = {
        "is_finite": (_GIVEN,),
        "write_checked": (_PLACES, _ROOM, _GIVEN),
        "subtract_checked": (_ROOM, _GIVEN),
    }

    def __getattr__(self, name: str) -> Any:
        if name not in self._EXAMPLES:
            raise AttributeError(name)
        code = bind(getattr(checked_arrays, name), *map(Given, self._EXAMPLES[name]))
        setattr(self, name, code)
        return code


checked = _CheckedCode()
