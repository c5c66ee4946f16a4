"""The types of kernels' arguments from the hints of their parameters."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from merganser.framework.native import kernel
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.memory.hinted_types import Floats, IntegerTable, hinted_address, hinted_arguments
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf

spring_dtype = np.dtype([("stiffness", np.float64), ("joint", np.int64)])
Springs = Annotated[NDArray[Any], ArrayOf(spring_dtype)]


class Motor(NamedTuple):
    gains: Floats
    count: int
    springs: Springs


@kernel
def total(motor: Motor, pairs: IntegerTable, one: Annotated[Any, RecordOf(spring_dtype)], h: float, n: int) -> float:
    return float(motor.gains[0] + h * n + one["stiffness"] + pairs.shape[0])


@kernel
def untold(x: NDArray[Any], h: float) -> float:
    return float(x[0] * h)


def _arguments() -> tuple[Any, ...]:
    springs = np.ones(3, spring_dtype)
    return Motor(np.ones(2), 5, springs), np.zeros((4, 2), np.int64), springs[1], 0.5, 3


def test_hints_give_the_types_of_the_arguments() -> None:
    assert tuple(map(type_key, hinted_arguments(total))) == tuple(map(type_key, _arguments()))


def test_code_at_the_hinted_address_is_what_python_calls() -> None:
    assert total(*_arguments()) == 1.0 + 0.5 * 3 + 1.0 + 4
    if hasattr(total, "codes"):
        assert [code.address for code in total.codes.values()] == [hinted_address(total)]


def test_a_hint_that_does_not_say_the_type_is_an_error_that_names_the_parameter() -> None:
    with pytest.raises(TypeError, match=r"untold\(\): parameter 'x': There is no type for"):
        hinted_arguments(untold)
