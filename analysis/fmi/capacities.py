"""What grows in the memory of an FMU: arrays whose places are for what a plant finds, such as contacts.

An operation that finds more than there are places for fails, and has noted how many it needs (`Capacity`). Then the
FMU takes larger memory, and calls it again, as the Simulator does (binary/memory.c). With capacities c, an array has

    length = (length in the image) + sum over capacities of per_place * (c - c in the image)
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.core.context.native_code import Capacity, Growth
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import Blocks, Image

_WORD = 8  # bytes
_MOST_DIMENSIONS = 3  # of arrays that grow


@dataclass
class GrowingArray:
    """An array in an image.

    Attributes:
        growth: of it.
        place: where it is in the image.
        per_place: by numbers of capacities, how much longer it becomes for one more place.
        words: where words are that are its address.
    """

    growth: Growth
    place: int
    per_place: dict[int, int] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Along the axis that grows."""
        return int(self.growth.array.shape[self.growth.axis])

    @property
    def item_size(self) -> int:
        """How many bytes it takes for each of its length."""
        array, axis = self.growth.array, self.growth.axis
        return int(array.itemsize * np.prod(array.shape[:axis] + array.shape[axis + 1 :], dtype=np.int64))


class Capacities:
    """All that grows in an image.

    Args:
        image: the image.
        blocks: from which it has been made.
        given: capacities of operations, each with the path of the system that has it.

    Attributes:
        num_places: of each capacity.
        owners: paths of the systems.
        found: where code leaves how many places it needs, each with the number of the capacity.
        arrays: that grow.

    Raises:
        RuntimeError: an array shares its memory with others, or something is known of it but its address and shape.
    """

    def __init__(self, image: Image, blocks: Blocks, given: Iterable[tuple[str, Sequence[Capacity]]]) -> None:
        self.num_places: list[int] = []
        self.owners: list[str] = []
        self.found: list[tuple[int, int]] = []
        arrays: dict[int, GrowingArray] = {}
        for owner, capacities in given:
            for capacity in capacities:
                number = len(self.num_places)
                self.num_places.append(capacity.num_places)
                self.owners.append(owner)
                self.found += [(image.place_of(each), number) for each in capacity.found if image.has(each)]
                for growth in capacity.growths:
                    address = address_of_array(growth.array)
                    if image.has(address):
                        known = arrays.setdefault(address, GrowingArray(growth, image.place_of(address)))
                        known.per_place[number] = growth.per_place
                        _check_alone(growth.array, blocks)
        self.arrays = sorted(arrays.values(), key=lambda array: array.place)
        self._find_words(image)

    def _find_words(self, image: Image) -> None:
        starts, content = [array.place for array in self.arrays], image.content + bytes(_MOST_DIMENSIONS * _WORD)
        for place in image.addresses:
            value, *shape = np.frombuffer(content, np.int64, 1 + _MOST_DIMENSIONS, place).tolist()
            number = bisect.bisect_right(starts, value) - 1
            array = self.arrays[max(number, 0)] if starts else None
            if number < 0 or array is None or value >= array.place + max(array.growth.array.nbytes, 1):
                continue
            if value != array.place or shape[array.growth.axis] != array.length:
                raise RuntimeError("ExportFmu: an array that grows with contacts is known by a part of it only.")
            array.words.append(place)


def _check_alone(array: Any, blocks: Blocks) -> None:
    block = blocks.find(address_of_array(array))
    if block is None or (block.start, block.end - block.start) != (address_of_array(array), array.nbytes):
        raise RuntimeError("ExportFmu: an array that grows with contacts shares its memory with others.")
