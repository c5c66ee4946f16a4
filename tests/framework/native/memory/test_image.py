"""Images of memory: which words are addresses, which are offsets, and which are neither."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import Blocks, Image, UnknownAddressError, far_numbers

EIGHT = 8  # bytes of a number


def image_of(flat: np.ndarray, words: np.ndarray, *others: np.ndarray) -> tuple[Image, np.ndarray]:
    """An image, and the words in it."""
    start = address_of_array(words)
    image = Image(Blocks([[flat, words, *others]]), flat, [start], {})
    place = image.place_of(start)
    return image, np.frombuffer(image.content, np.uint8)[place : place + words.nbytes].view(np.int64)


def test_addresses_and_offsets_lead_to_the_same_numbers_in_the_image():
    flat, numbers = far_numbers(5), np.arange(3.0)
    offset = (address_of_array(numbers) - address_of_array(flat)) // EIGHT
    image, (address, moved, small) = image_of(flat, np.array([address_of_array(numbers), offset, 7]), numbers)
    content = np.frombuffer(image.content, np.uint8)
    for place in (address, image.place_of(address_of_array(flat)) + EIGHT * moved):
        assert (content[place : place + numbers.nbytes].view(float) == numbers).all()
    assert small == 7 and len(image.addresses) == 1


def test_a_bit_mask_is_no_offset_to_what_is_around_the_arrays_of_other_models():
    flat, *others = arrays = [far_numbers(100) for _ in range(6)]
    edges = [address_of_array(other) + far for other in others for far in (-(1 << 32), 1 << 12, 1 << 32)]
    masks = np.array([(edge - address_of_array(flat)) // EIGHT for edge in edges])
    assert (np.abs(masks) >= 1 << 29).all()
    _, found = image_of(flat, masks, *arrays)
    assert (found == masks).all()


def test_an_address_of_memory_that_no_array_is_known_to_be_in_is_refused():
    flat, unknown = far_numbers(5), np.zeros(100_000)
    with pytest.raises(UnknownAddressError, match=r"word at 8 of an array of 16 bytes .* belongs to no array"):
        image_of(flat, np.array([0, address_of_array(unknown) + 800]))


def test_what_is_around_a_far_array_can_not_be_read():
    array = far_numbers(1000, np.complex128)
    array[:] = 1j
    assert (array == 1j).all()
    start, end = address_of_array(array), address_of_array(array) + array.nbytes
    closed = []
    for line in open("/proc/self/maps"):  # noqa: SIM115  # of this process
        span, access = line.split()[:2]
        low, high = (int(text, 16) for text in span.split("-"))
        if low < end + (1 << 33) and high > start - (1 << 33):
            closed.append((low, high, access))
    assert [access for *_, access in closed] == ["---p", "rw-p", "---p"]
    assert closed[1][0] == start and 0 <= closed[1][1] - end < 4096
