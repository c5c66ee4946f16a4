"""Work arrays of contact surfaces, and what they remember from one call to the next."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import Capacity, Growth
from merganser.framework.native import device
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import FLOAT, INTEGER, ArrayOf
from merganser.geometry.proximity.mesh_distance import DEEPEST

Array = NDArray[Any]

MOST_CLIPPED = 24  # corners while clipping: each plane may add half as many where rounding makes a polygon wavy
_MOST_PLANES = 5  # that make one face of a tetrahedron: the one of the slice, and four that clip it
_FIRST_PAIRS, _FIRST_ELEMENTS = 16, 512

counts_dtype = np.dtype(
    [
        ("half", np.int64),  # of the memory, in which the last call has written
        ("num_known", np.int64),  # pairs of geometries in it
        ("wanted_pairs", np.int64),  # for which there should have been places
        ("wanted_elements", np.int64),
        ("follows", np.int64),  # 1 if faces are known already and their numbers are found once more, else 0
    ]
)

known_dtype = np.dtype(
    [
        ("a", np.int64),  # rows of the geometries
        ("b", np.int64),
        ("begin", np.int64),  # of its elements in Buffers.elements
        ("end", np.int64),
        ("slack", np.float64),  # how far things may have moved since [m]
        ("place", np.float64, 12),  # of one against the other then, see Buffers.place
    ]
)


class Buffers(NamedTuple):
    """Work arrays; T is the scalar of the poses.

    The memory has two halves: a call reads what the last one has written, and writes the other half.

    Attributes:
        poses: X_VO, of the other geometry O in the frame of geometry V, and X_WV: rotation row by row, then position;
            of T, shape [2, 12].
        pose: R_VO, p_VO and |R_VO| in real numbers, shape [21].
        place: R_VO and p_VO; where one is a half space, its normal in the other, and its offset in the place of p_VO;
            shape [12].
        element: corners of an element of O, in three columns, and below them its planes, in V, in real numbers, shape
            [8, 4].
        triangle: corners of a triangle of O in V, of T, shape [3, 3].
        polygons: corners, of T, shape [2, .., 3].
        distances: of the corners from each plane that makes a face, of T, shape [5, ..].
        levels: the same in real numbers, by which decisions fall: the same memory, or that of the buffers followed.
        stack: nodes to be looked at, shape [.., 2].
        counts: one record of counts_dtype, shape [1].
        known: pairs of geometries whose elements are remembered, records of known_dtype, shape [2, ..].
        elements: of V and O, which may meet, shape [2, .., 2].
    """

    poses: Annotated[Array, ArrayOf(FLOAT, 2)]
    pose: Annotated[Array, ArrayOf(FLOAT)]
    place: Annotated[Array, ArrayOf(FLOAT)]
    element: Annotated[Array, ArrayOf(FLOAT, 2)]
    triangle: Annotated[Array, ArrayOf(FLOAT, 2)]
    polygons: Annotated[Array, ArrayOf(FLOAT, 3)]
    distances: Annotated[Array, ArrayOf(FLOAT, 2)]
    levels: Annotated[Array, ArrayOf(FLOAT, 2)]
    stack: Annotated[NDArray[np.int64], ArrayOf(INTEGER, 2)]
    counts: Annotated[Array, ArrayOf(counts_dtype)]
    known: Annotated[Array, ArrayOf(known_dtype, 2)]
    elements: Annotated[NDArray[np.int64], ArrayOf(INTEGER, 3)]


def make_buffers() -> Buffers:
    """Returns work arrays for poses of float64, which remember nothing."""
    return _make_buffers(np.float64, None)


def make_followers(values: Buffers) -> Buffers:
    """Returns work arrays for poses of complex128; what they clip follows what was last decided in those of values."""
    return _make_buffers(np.complex128, values.distances)


def _make_buffers(scalar: Any, levels: Array | None) -> Buffers:
    distances = np.zeros((_MOST_PLANES, MOST_CLIPPED), scalar)
    return Buffers(
        np.zeros((2, 12), scalar), np.zeros(21), np.zeros(12), np.zeros((8, 4)), np.zeros((3, 3), scalar),
        np.zeros((2, MOST_CLIPPED, 3), scalar), distances, distances if levels is None else levels,
        np.zeros((4 * DEEPEST, 2), np.int64), np.zeros(1, counts_dtype), np.zeros((2, _FIRST_PAIRS), known_dtype),
        np.zeros((2, _FIRST_ELEMENTS, 2), np.int64),
    )  # fmt: skip


@device
def lacks_memory(buffers: Buffers) -> bool:
    """Whether the last call had more to remember than there were places."""
    counts = buffers.counts[0]
    wants_more: bool = (
        counts["wanted_pairs"] > buffers.known.shape[1] or counts["wanted_elements"] > buffers.elements.shape[1]
    )
    return wants_more


def capacities_of(buffers: Buffers) -> list[Capacity]:
    """What of such arrays grows with what is to be remembered; all is forgotten then."""
    counts, known, elements = buffers.counts, buffers.known, buffers.elements
    capacities = []
    for wanted, array in (("wanted_pairs", known), ("wanted_elements", elements)):
        growths = [Growth(each, int(each is array), 1, is_emptied=True) for each in (known, elements)]
        growths.append(Growth(counts, 0, is_emptied=True))
        capacities.append(Capacity([address_of_array(counts[wanted])], array.shape[1], growths))
    return capacities


def with_memory(buffers: Buffers) -> Buffers:
    """Such arrays with places for twice as much as the last call wanted to remember; they remember nothing."""
    num_pairs, num_elements = int(buffers.counts[0]["wanted_pairs"]), int(buffers.counts[0]["wanted_elements"])
    return buffers._replace(
        counts=np.zeros(1, counts_dtype),
        known=np.zeros((2, max(2 * num_pairs, _FIRST_PAIRS)), known_dtype),
        elements=np.zeros((2, max(2 * num_elements, _FIRST_ELEMENTS), 2), np.int64),
    )
