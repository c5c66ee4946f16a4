"""Expressions as an operation: a program of instructions on registers, run by one compiled function.

The registers stand among the constants: first those that hold numbers, then one for each subtree. An instruction is its
code, the register of its result, then what it needs. Conditions are 1 and 0. Where Python would raise an exception (a
division by zero, a value that is not a number) the program fails. It computes to the last bit what
framework/symbolic/trees.py computes.

On the array of a Context of complex numbers a program computes with values and slopes: real parts as for floats, and
imaginary parts, which are tiny, by the chain rule. So functions that know no complex numbers have derivatives too.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.math.elementary import ELEMENTARY
from merganser.framework.native.compiler.extending import overload, types
from merganser.framework.native.compiler.kernels import device
from merganser.framework.native.memory.tape import FAILED, integers_at

LOAD = 0  # which of time, state, input, parameters; element
SUM = 1  # number of terms, their registers
PRODUCT = 2  # the same
POWER = 3  # base, exponent
FUNCTION = 4  # which, argument
RELATION = 5  # which, left, right
ARCTAN2 = 6  # y, x
MAXIMUM = 7  # two registers
MINIMUM = 8
NOT = 9  # one register
ALL = 10  # number of conditions, their registers
ANY = 11
MOVE = 12  # register
JUMP_UNLESS = 13  # (no result); register of a condition, number of integers to leave out
JUMP = 14  # (no result); number of integers to leave out
STORE = 15  # (element of the output); register

# Of one argument: the elementary functions but for the root, which is a power, and four that have kinks
FUNCTIONS = (*(name for name in ELEMENTARY if name != "sqrt"), "Abs", "sign", "floor", "ceiling")
RELATIONS = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")


@device
def _function(which: int, x: float) -> float:
    """The elementary functions, in the order of FUNCTIONS."""
    if which == 0:
        return math.sin(x)
    if which == 1:
        return math.cos(x)
    if which == 2:
        return math.tan(x)
    if which == 3:
        return math.asin(x)
    if which == 4:
        return math.acos(x)
    if which == 5:
        return math.atan(x)
    if which == 6:
        return math.sinh(x)
    if which == 7:
        return math.cosh(x)
    if which == 8:
        return math.tanh(x)
    if which == 9:
        return math.exp(x)
    if which == 10:
        return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)
    if which == 11:
        return abs(x)
    if which == 12:
        return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
    if not math.isfinite(x):
        return x
    return float(math.floor(x)) if which == 13 else float(math.ceil(x))


@device
def _relation(which: int, a: float, b: float) -> bool:
    """Comparisons, in the order of RELATIONS."""
    if which == 0:
        return a == b
    if which == 1:
        return a != b
    if which == 2:
        return a < b
    if which == 3:
        return a <= b
    return a > b if which == 4 else a >= b


@device
def _power(base: float, exponent: float) -> float:
    if base == 0.0 and exponent < 0.0:
        return math.nan
    return math.sqrt(base) if exponent == 0.5 and base >= 0.0 else math.pow(base, exponent)


@device
def _combined(code: int, r: Any, registers: int, program: Any, at: int) -> float:
    """The result of an instruction for any number of registers: their number and they stand at program[at:]."""
    first = r[registers + program[at + 1]]
    total = first
    for k in range(1, program[at]):
        value = r[registers + program[at + 1 + k]]
        if code == SUM:
            total = total + value
        elif code in (PRODUCT, ALL):
            total = total * value
        else:
            total = max(total, value)
    return total


@device
def _result(code: int, r: Any, registers: int, program: Any, at: int) -> float:
    """The result of an instruction for one or two registers."""
    if code == FUNCTION:
        return _function(program[at], r[registers + program[at + 1]])
    if code == RELATION:
        return 1.0 if _relation(program[at], r[registers + program[at + 1]], r[registers + program[at + 2]]) else 0.0
    a = r[registers + program[at]]
    if code == MOVE:
        return a
    if code == NOT:
        return 1.0 - a
    b = r[registers + program[at + 1]]
    if code == POWER:
        return _power(a, b)
    if code == ARCTAN2:
        return math.atan2(a, b)
    if code == MAXIMUM:
        return b if b > a else a
    return b if b < a else a


@device
def _num_arguments(code: int) -> int:
    """Of an instruction for one or two registers."""
    if code == RELATION:
        return 3
    return 1 if code in (MOVE, NOT) else 2


@device
def _slope_of_function(which: int, x: float, y: float) -> float:
    """The derivative of an elementary function at x, where it is y."""
    if which == 0:
        return math.cos(x)
    if which == 1:
        return -math.sin(x)
    if which == 2:
        return 1.0 + y * y
    if which in (3, 4):
        root = math.sqrt(max(1.0 - x * x, 0.0))
        slope = 1.0 / root if root > 0.0 else math.inf
        return slope if which == 3 else -slope
    if which == 5:
        return 1.0 / (1.0 + x * x)
    if which == 6:
        return math.cosh(x)
    if which == 7:
        return math.sinh(x)
    if which == 8:
        return 1.0 - y * y
    if which == 9:
        return y
    if which == 10:
        return 1.0 / x if x != 0.0 else math.inf
    if which == 11:
        return 1.0 if x >= 0.0 else -1.0
    return 0.0


@device
def _slope_of_power(base: float, exponent: float, power: float, d_base: float, d_exponent: float) -> float:
    slope = 0.0
    if d_base != 0.0:
        slope = exponent * _power(base, exponent - 1.0) * d_base
    if d_exponent != 0.0:
        slope += (math.log(base) if base > 0.0 else math.nan) * power * d_exponent
    return slope


@device
def _slope_of_list(code: int, r: Any, registers: int, slopes: int, program: Any, at: int) -> float:
    """The slope of an instruction for any number of registers; none of conditions."""
    if code in (ALL, ANY):
        return 0.0
    total, slope = r[registers + program[at + 1]], r[slopes + program[at + 1]]
    for k in range(1, program[at]):
        value, d_value = r[registers + program[at + 1 + k]], r[slopes + program[at + 1 + k]]
        if code == SUM:
            slope = slope + d_value
        else:
            slope = slope * value + total * d_value
            total = total * value
    return slope


@device
def _slope(code: int, r: Any, registers: int, slopes: int, program: Any, at: int, result: float) -> float:
    """The slope of an instruction for one or two registers."""
    if code == FUNCTION:
        x, dx = r[registers + program[at + 1]], r[slopes + program[at + 1]]
        return _slope_of_function(program[at], x, result) * dx if dx != 0.0 else 0.0
    if code in (RELATION, NOT):
        return 0.0
    a, da = r[registers + program[at]], r[slopes + program[at]]
    if code == MOVE:
        return da
    b, db = r[registers + program[at + 1]], r[slopes + program[at + 1]]
    if code == POWER:
        return _slope_of_power(a, b, result, da, db)
    if code == ARCTAN2:
        square = a * a + b * b
        return (b * da - a * db) / square if square > 0.0 else math.nan
    if code == MAXIMUM:
        return db if b > a else da
    return db if b < a else da


def has_slopes(number: Any) -> bool:
    """Whether a number is complex, in compiled code."""
    return isinstance(number, complex)


@overload(has_slopes)
def _has_slopes(number: Any) -> Any:
    is_complex = isinstance(number, types.Complex)

    def has_slopes_compiled(number: Any) -> bool:
        return is_complex

    return has_slopes_compiled


def with_slope(value: float, slope: float, number: Any) -> Any:
    """A value with its slope if a number is complex, in compiled code."""
    return complex(value, slope) if has_slopes(number) else value


@overload(with_slope)
def _with_slope(value: float, slope: float, number: Any) -> Any:
    def joined(value: float, slope: float, number: Any) -> Any:
        return complex(value, slope)

    def alone(value: float, slope: float, number: Any) -> Any:
        return value

    return joined if isinstance(number, types.Complex) else alone


def expressions(values: Any, numbers: Any, integers: Any) -> None:
    """A program.

    Integers: failure, registers, offsets of time, state, input, parameters and output, number of integers in the
    program, number of registers, program. Slopes stand behind the registers.
    """
    registers, end, at = integers[1], 9 + integers[7], 9
    slopes = registers + integers[8]
    while at < end:
        code = integers[at]
        if code == JUMP:
            at += 2 + integers[at + 1]
        elif code == JUMP_UNLESS:
            at += 3 + (integers[at + 2] if numbers[registers + integers[at + 1]] == 0.0 else 0)
        elif code == STORE:
            source = integers[at + 2]
            result = with_slope(numbers[registers + source], numbers[slopes + source], values[0])
            values[integers[6] + integers[at + 1]] = result
            at += 3
        else:
            target, slope = integers[at + 1], 0.0
            if code == LOAD:
                loaded = values[integers[2 + integers[at + 2]] + integers[at + 3]]
                value, slope = loaded.real, loaded.imag
                at += 4
            elif code in (SUM, PRODUCT, ALL, ANY):
                value = _combined(code, numbers, registers, integers, at + 2)
                if has_slopes(values[0]):
                    slope = _slope_of_list(code, numbers, registers, slopes, integers, at + 2)
                at += 3 + integers[at + 2]
            else:
                value = _result(code, numbers, registers, integers, at + 2)
                if has_slopes(values[0]) and value == value:
                    slope = _slope(code, numbers, registers, slopes, integers, at + 2, value)
                at += 2 + _num_arguments(code)
            numbers[registers + target] = value
            if has_slopes(values[0]):
                numbers[slopes + target] = slope
            # What else is not a number is a value like any other to Python too.
            if code in (LOAD, POWER, FUNCTION) and value != value:
                integers_at(integers[0])[0] = FAILED
                return
