"""Images of memory: which words are addresses, which are offsets, and which are neither."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import Blocks, Image, UnknownAddressError, far_numbers, offset_in

EIGHT = 8  # bytes of a number


def image_of(flat: np.ndarray, words: np.ndarray, *others: np.ndarray) -> tuple[Image, np.ndarray]:
    """An image, and the words in it."""
    start = address_of_array(words)
    image = Image(Blocks([[flat, words, *others]]), flat, [start], {})
    place = image.place_of(start)
    return image, np.frombuffer(image.content, np.uint8)[place : place + words.nbytes].view(np.int64)


def test_addresses_and_offsets_lead_to_the_same_numbers_in_the_image():
    flat, numbers = far_numbers(5), np.arange(3.0)
    offset = offset_in(flat, numbers)
    words = np.array([address_of_array(numbers), offset, offset + 1, 7])
    image, (address, moved, second, small) = image_of(flat, words, numbers)
    content = np.frombuffer(image.content, np.uint8)
    for place in (address, image.place_of(address_of_array(flat)) + EIGHT * moved):
        assert (content[place : place + numbers.nbytes].view(float) == numbers).all()
    assert second == moved + 1 and small == 7 and len(image.addresses) == 1


def test_offsets_count_elements_of_the_array_that_they_begin_in():
    numbers, flat = np.arange(3.0), far_numbers(5)
    inner = far_numbers(4, np.complex128)
    words = np.array([offset_in(flat, inner), offset_in(inner, flat)])
    image, (to_inner, to_flat) = image_of(flat, words, inner, numbers)
    places = [image.place_of(address_of_array(array)) for array in (flat, inner)]
    assert places[0] + EIGHT * to_inner == places[1] and places[1] + 2 * EIGHT * to_flat == places[0]


def test_a_bit_mask_that_would_lead_to_an_array_or_a_library_is_no_offset():
    flat, numbers = far_numbers(5), np.arange(100_000.0)
    mapped = [int(line.split("-")[0], 16) for line in open("/proc/self/maps") if " r" in line]  # noqa: SIM115
    targets = np.array([address_of_array(numbers) + 8, *mapped])
    masks = (targets - address_of_array(flat)) // EIGHT
    _, found = image_of(flat, masks, numbers)
    assert (found == masks).all()


def test_an_offset_to_an_array_that_is_not_known_is_refused():
    flat, unknown = far_numbers(5), np.zeros(100_000)
    with pytest.raises(UnknownAddressError, match="No array is known at the address"):
        image_of(flat, np.array([offset_in(flat, unknown)]))


def test_an_address_of_memory_that_no_array_is_known_to_be_in_is_refused():
    flat, unknown = far_numbers(5), np.zeros(100_000)
    with pytest.raises(UnknownAddressError, match=r"word at 8 of an array of 16 bytes .* belongs to no array"):
        image_of(flat, np.array([0, address_of_array(unknown) + 800]))
