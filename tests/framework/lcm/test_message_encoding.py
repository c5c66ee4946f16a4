"""Messages as bytes: closed forms, round trips, and bytes that are no message."""

from __future__ import annotations

import copy
import io
import pickle
import struct
from typing import Any

import numpy as np
import pytest

import merganser.framework.lcm.messages as messages
from merganser.framework.lcm.definitions import parse_structs
from merganser.framework.lcm.message import define_messages
from merganser.framework.lcm.messages import (
    lcmt_drake_signal,
    lcmt_hydroelastic_contact_surface_for_viz,
    lcmt_image,
    lcmt_image_array,
    lcmt_robot_plan,
    lcmt_scope,
)

Table, Outer = define_messages(
    __name__,
    """
    struct inner {
      const int8_t LIMIT = 10, LOW = -0x10;
      const double HALF = 0.5;
      boolean flags[2][n_fixed_is_no_member_so_a_number_stands_here];
    }
    """.replace("n_fixed_is_no_member_so_a_number_stands_here", "3")
    + """
    /* all types */
    struct outer {
      int8_t a; int16_t b; int32_t c; int64_t d;
      float e; double f; byte g; boolean h; string i;  // a comment
      int32_t n, m;
      byte raw[n];
      float grid[n][m];
      inner parts[n];
    }
    """,
    package="test",
)


def filled() -> Any:
    message = Outer()
    message.a, message.b, message.c, message.d = -1, -2, -3, -4
    message.e, message.f, message.g, message.h, message.i = 0.5, -0.25, 255, True, "Grüße"
    message.n, message.m = 2, 3
    message.raw = b"\x00\xff"
    message.grid = np.arange(6.0).reshape(2, 3)
    message.parts = [Table(), Table()]
    message.parts[1].flags = [[True, False, True], [False, True, False]]
    return message


def test_numbers_are_in_order_with_the_most_significant_byte_first() -> None:
    text = "Grüße".encode()
    expected = struct.pack(">bhiqfdB?", -1, -2, -3, -4, 0.5, -0.25, 255, True)
    expected += struct.pack(">i", len(text) + 1) + text + b"\0"
    expected += struct.pack(">ii", 2, 3) + b"\x00\xff" + struct.pack(">6f", *range(6))
    expected += bytes(6) + bytes([1, 0, 1, 0, 1, 0])
    assert filled().encode() == Outer._get_packed_fingerprint() + expected


def test_a_message_comes_back_from_its_bytes() -> None:
    back = Outer.decode(filled().encode())
    assert (back.a, back.d, back.g, back.h, back.i) == (-1, -4, 255, True, "Grüße")
    assert back.raw == b"\x00\xff" and back.grid == [(0.0, 1.0, 2.0), (3.0, 4.0, 5.0)]
    assert back.parts[1].flags == [(True, False, True), (False, True, False)]
    assert back.encode() == filled().encode()
    assert (Table.LIMIT, Table.LOW, Table.HALF) == (10, -16, 0.5)


@pytest.mark.parametrize("name", messages.__all__)
def test_every_new_message_comes_back_from_its_bytes(name: str) -> None:
    made = getattr(messages, name)()
    data = made.encode()
    assert type(made).decode(data).encode() == data
    assert type(pickle.loads(pickle.dumps(made))) is type(made) and copy.deepcopy(made).encode() == data


def test_messages_are_read_one_after_the_other_from_a_file() -> None:
    first, second = lcmt_scope(), lcmt_scope()
    first.size, first.value, second.utime = 1, [0.5], 7
    file = io.BytesIO(first.encode() + second.encode())
    assert lcmt_scope.decode(file).value == (0.5,) and lcmt_scope.decode(file).utime == 7


def test_arrays_are_sent_as_far_as_their_length_says() -> None:
    message = lcmt_scope()
    message.size, message.value = 2, [1.0, 2.0, 3.0]
    assert lcmt_scope.decode(message.encode()).value == (1.0, 2.0)


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"size": 3, "value": [1.0]}, "lcmt_scope.value: it has 1 elements where its length is 3"),
        ({"size": -1}, "lcmt_scope.value: its length size is -1"),
        ({"size": 1, "value": ["x"]}, "lcmt_scope.value"),
        ({"utime": 1.5}, "lcmt_scope.utime"),
        ({"utime": 1 << 63}, "lcmt_scope.utime"),
        ({"size": 1 << 40}, "lcmt_scope.size"),
        ({"value": None, "size": 1}, "lcmt_scope.value"),
    ],
)
def test_what_cannot_be_sent_is_named(changes: dict[str, Any], culprit: str) -> None:
    message = lcmt_scope()
    for name, value in changes.items():
        setattr(message, name, value)
    with pytest.raises(ValueError, match=culprit):
        message.encode()


def test_integers_of_an_array_that_are_too_large_are_refused() -> None:
    surface = lcmt_hydroelastic_contact_surface_for_viz()
    surface.poly_data, surface.poly_data_int_count = np.array([3, 0, 1, 1 << 32]), 4
    with pytest.raises(ValueError, match=r"poly_data: one of its elements is beyond the range of int32"):
        surface.encode()


def test_members_that_a_message_does_not_have_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        lcmt_scope().vaule = [1.0]


def test_bytes_of_another_type_are_refused_by_their_fingerprint() -> None:
    with pytest.raises(ValueError, match="no lcmt_scope: they begin with 0x"):
        lcmt_scope.decode(lcmt_drake_signal().encode())
    with pytest.raises(ValueError, match="These 3 bytes are no lcmt_scope"):
        lcmt_scope.decode(b"abc")


def test_bytes_that_follow_a_message_are_refused() -> None:
    with pytest.raises(ValueError, match="followed by 1 others"):
        lcmt_scope.decode(lcmt_scope().encode() + b"x")


@pytest.mark.parametrize("size", [-5, 1 << 30, (1 << 31) - 1])
@pytest.mark.parametrize("kind", [lcmt_scope, lcmt_image_array, lcmt_robot_plan])
def test_lengths_that_the_bytes_do_not_account_for_take_no_memory(kind: Any, size: int) -> None:
    data = bytearray(kind().encode())
    at = {lcmt_scope: 16, lcmt_image_array: len(data) - 4, lcmt_robot_plan: 16}[kind]
    data[at : at + 4] = struct.pack(">i", size)
    with pytest.raises(ValueError, match=r"its length|elements take at least"):
        kind.decode(bytes(data))


def test_rows_without_elements_are_limited() -> None:
    data = bytearray(Outer().encode())
    end = len(data)
    data[end - 8 : end] = struct.pack(">ii", (1 << 31) - 1, 0)  # rows, and elements of each
    with pytest.raises(ValueError, match="outer"):
        Outer.decode(bytes(data))


def test_damaged_messages_raise_value_errors_only() -> None:
    random = np.random.default_rng(5)
    image = lcmt_image()
    image.data, image.size = bytes(range(50)), 50
    array = lcmt_image_array()
    array.images, array.num_images = [image, image], 2
    for message in (filled(), array):
        data = message.encode()
        for cut in range(len(data)):
            with pytest.raises(ValueError):
                type(message).decode(data[:cut])
        for _ in range(1000):
            damaged = bytearray(data)
            for at in random.integers(8, len(data), size=3):
                damaged[at] = random.integers(256)
            try:
                again = type(message).decode(bytes(damaged))
            except ValueError:
                continue
            again.encode()


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("struct a { int32_t x }", "'}' where ';' is expected"),
        ("struct a { double x[n]; }", "'n' where a number, or an integer member from above"),
        ("struct a { int32_t 3x; }", "where a name is expected"),
        ("struct a { int32_t x; int32_t x; }", "different names"),
        ("struct a { }", "needs members"),
        ("struct a { int32_t x;", "ends within a struct"),
        ("enum a { }", "'enum' where 'struct' is expected"),
        ("struct a { const int32_t X = y; int32_t x; }", "the value of 'X' is expected"),
    ],
)
def test_definitions_that_are_none_are_refused_where_they_go_wrong(text: str, culprit: str) -> None:
    with pytest.raises(ValueError, match=culprit.replace("[", r"\[")):
        parse_structs(text)


def test_types_must_be_defined_before_they_occur() -> None:
    with pytest.raises(ValueError, match=r"drake.a.x: there is no type 'drake.b' above"):
        define_messages(__name__, "struct a { b x; }")
