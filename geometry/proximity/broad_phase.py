"""Pairs of geometries whose bounding boxes overlap, through a grid.

The cells of a uniform grid are as wide as the largest geometry that is not *large*; each such geometry lies in the cell
of the center of its box, so that it can only meet those of its own and of the 26 cells around it (Ericson 2005,
Real-Time Collision Detection, sec. 7.1). Large ones, a floor say, are few and are tested with all others. The grid has
at most some cells for each geometry, whatever the extent of the scene, so that time and memory stay linear in their
number. A few geometries are tested each with each, which takes less time than a grid. A geometry whose pose is not
finite meets nothing, and has no cell.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import FloatTable, Integers, IntegerTable, Poses
from merganser.framework.native.memory.simd import any_of
from merganser.geometry.proximity.layout import HALF_SPACE, Geometries, Pose, Shape
from merganser.geometry.proximity.vectors import Array, Vector3, rotated, rotated_back

CELLS_A_GEOMETRY = 4
FEW = 128  # geometries, of which each is tested with each


@device
def set_box(g: Shape, X_WG: Poses, i: int, margin: float, boxes: FloatTable) -> None:
    """Row i of boxes: least x, y, z, greatest x, y, z [m]; NaN, which overlaps nothing, if the pose is not finite."""
    if not _is_finite(X_WG, i):
        for r in range(6):
            boxes[i, r] = math.nan
        return
    for r in range(3):
        if g.kind == HALF_SPACE:
            boxes[i, r], boxes[i, 3 + r] = -math.inf, math.inf
            continue
        center = X_WG[i, r, 0] * g.center_0 + X_WG[i, r, 1] * g.center_1 + X_WG[i, r, 2] * g.center_2 + X_WG[i, r, 3]
        half = abs(X_WG[i, r, 0]) * g.half_0 + abs(X_WG[i, r, 1]) * g.half_1 + abs(X_WG[i, r, 2]) * g.half_2
        half = min(half, g.bound) + g.radius + 0.5 * margin
        # Rounding must not lose a pair.
        half += 1e-15 * (abs(center) + half)
        boxes[i, r], boxes[i, 3 + r] = center - half, center + half


@inlined
def _is_finite(X_WG: Poses, i: int) -> bool:
    total = 0.0
    for r in range(3):
        total += 0.0 * X_WG[i, r, 0] + 0.0 * X_WG[i, r, 1] + 0.0 * X_WG[i, r, 2] + 0.0 * X_WG[i, r, 3]
    return total == 0.0


@device
def height_above_plane(X_WG: Poses, i: int, boxes: FloatTable, j: int) -> float:
    """How far box j is above the plane of half space i [m]; negative if it reaches below."""
    height = 0.0
    for r in range(3):
        n = X_WG[i, r, 2]
        center, half = 0.5 * (boxes[j, r] + boxes[j, 3 + r]), 0.5 * (boxes[j, 3 + r] - boxes[j, r])
        height += n * (center - X_WG[i, r, 3]) - abs(n) * half
    return height


@device
def _reaches_below(X_WG: Poses, i: int, boxes: FloatTable, j: int, margin: float) -> bool:
    """Whether box j, which has half of the margin, comes within the margin of the plane of half space i."""
    # The box has grown along three axes, so this keeps a little more.
    return any_of(height_above_plane(X_WG, i, boxes, j) <= margin)


@inlined
def box_gap(boxes: FloatTable, i: int, j: int) -> float:
    """The greatest distance of two boxes along an axis of the world [m]; not positive if they overlap."""
    x = max(boxes[i, 0] - boxes[j, 3], boxes[j, 0] - boxes[i, 3])
    y = max(boxes[i, 1] - boxes[j, 4], boxes[j, 1] - boxes[i, 4])
    z = max(boxes[i, 2] - boxes[j, 5], boxes[j, 2] - boxes[i, 5])
    return max(x, max(y, z))


@inlined
def turned_box_gap(a: Shape, b: Shape, X_AB: Pose) -> float:
    """The greatest distance of two geometries, rounding included, along an axis of the box of one of them [m].

    The distance of their surfaces is not less, whatever the rounding; of half spaces there is no box.
    C. Ericson, Real-Time Collision Detection (2005), sec. 4.4.1.
    """
    half_a, half_b = (a.half_0, a.half_1, a.half_2), (b.half_0, b.half_1, b.half_2)
    # From the center of the box of A to that of B: d in A, e in B.
    d = rotated(X_AB, (b.center_0, b.center_1, b.center_2))
    d = d[0] + X_AB[9] - a.center_0, d[1] + X_AB[10] - a.center_1, d[2] + X_AB[11] - a.center_2
    e = rotated_back(X_AB, d)
    x = max(abs(d[0]) - _reach(X_AB, 0, 1, half_b) - half_a[0], abs(e[0]) - _reach(X_AB, 0, 3, half_a) - half_b[0])
    y = max(abs(d[1]) - _reach(X_AB, 3, 1, half_b) - half_a[1], abs(e[1]) - _reach(X_AB, 1, 3, half_a) - half_b[1])
    z = max(abs(d[2]) - _reach(X_AB, 6, 1, half_b) - half_a[2], abs(e[2]) - _reach(X_AB, 2, 3, half_a) - half_b[2])
    size = abs(d[0]) + abs(d[1]) + abs(d[2]) + a.bound + b.bound + a.radius + b.radius
    return max(x, max(y, z)) - a.radius - b.radius - 1e-12 * size


@inlined
def _reach(X_AB: Pose, first: int, step: int, half: Vector3) -> float:
    """How far a box of these half extents reaches along an axis, whose cosines with its own axes are in X_AB."""
    return abs(X_AB[first]) * half[0] + abs(X_AB[first + step]) * half[1] + abs(X_AB[first + 2 * step]) * half[2]


@device
def _is_excluded(filtered: Array, i: int, j: int) -> bool:
    """Whether geometry j is in a span of geometry i: an odd number of its ends are not beyond j."""
    first, last = filtered[i], filtered[i + 1]
    begin = first
    while first < last:
        middle = (first + last) // 2
        if filtered[middle] <= j:
            first = middle + 1
        else:
            last = middle
    return (first - begin) % 2 == 1


@device
def _test_pair(
    geometries: Geometries,
    frames: Array,
    filtered: Array,
    X_WG: Poses,
    boxes: FloatTable,
    i: int,
    j: int,
    margin: float,
    count: int,
    pairs_out: Array,
) -> int:
    """Writes the pair, if these may meet; returns how many there are now."""
    if frames[i] == frames[j] or not any_of(box_gap(boxes, i, j) <= 0.0):
        return count
    if filtered.shape[0] > 0 and _is_excluded(filtered, i, j):
        return count
    a, b = geometries[i], geometries[j]
    if a.kind == HALF_SPACE and b.kind != HALF_SPACE and not _reaches_below(X_WG, i, boxes, j, 0.5 * margin):
        return count
    if b.kind == HALF_SPACE and a.kind != HALF_SPACE and not _reaches_below(X_WG, j, boxes, i, 0.5 * margin):
        return count
    if count < pairs_out.shape[0]:
        pairs_out[count, 0], pairs_out[count, 1] = min(i, j), max(i, j)
    return count + 1


@kernel
def find_candidates(
    # Model:
    geometries: Geometries,  # geometry_dtype, shape [n]
    frames: Integers,  # int64, shape [n]
    filtered: Integers,  # see ProximityArrays
    # In:
    X_WG: Poses,  # shape [n, 4, 4]
    margin: float,  # pairs that are this far apart count [m]
    # Work:
    boxes_work: FloatTable,  # float64, shape [n, 6]
    grid_work: Integers,  # int64, shape [CELLS_A_GEOMETRY n + 2 n + 2]
    # Out:
    pairs_out: IntegerTable,  # int64, shape [capacity, 2]
) -> int:
    """Pairs (i, j), i < j, sorted if there are few; returns how many there are, even if they do not fit.

    In `grid_work` stand where the geometries of each cell begin, then the geometries cell by cell, then the cell of
    each geometry, -1 for large ones.
    """
    n = geometries.shape[0]
    for i in range(n):
        set_box(geometries[i], X_WG, i, margin, boxes_work)
    if n <= FEW:
        return _test_all(geometries, frames, filtered, X_WG, boxes_work, margin, pairs_out)
    num_cells_max = CELLS_A_GEOMETRY * n
    starts, order = grid_work[: num_cells_max + 2], grid_work[num_cells_max + 2 : num_cells_max + 2 + n]
    cell_of = grid_work[num_cells_max + 2 + n : num_cells_max + 2 + 2 * n]
    low, high, widest = _set_large_apart(geometries, margin, boxes_work, cell_of)
    count = 0
    for i in range(n):
        if cell_of[i] < 0:
            for j in range(n):
                if j > i or (j < i and cell_of[j] >= 0):
                    count = _test_pair(geometries, frames, filtered, X_WG, boxes_work, i, j, margin, count, pairs_out)
    if not high[0] >= low[0]:
        return count
    width, nx, ny, nz = _size_grid(low, high, widest, num_cells_max)
    _fill_grid(boxes_work, low, width, nx, ny, nz, starts, order, cell_of)
    for cell in range(nx * ny * nz):
        x, y, z = cell % nx, (cell // nx) % ny, cell // (nx * ny)
        for k in range(starts[cell], starts[cell + 1]):
            i = order[k]
            for other in range(14):  # this cell and half of those around it: each pair of cells once
                dx, dy, dz = (other + 13) % 3 - 1, ((other + 13) // 3) % 3 - 1, (other + 13) // 9 - 1
                if not (0 <= x + dx < nx and 0 <= y + dy < ny and 0 <= z + dz < nz):
                    continue
                near = cell + dx + nx * (dy + ny * dz)
                first = k + 1 if near == cell else starts[near]
                for m in range(first, starts[near + 1]):
                    j = order[m]
                    count = _test_pair(geometries, frames, filtered, X_WG, boxes_work, i, j, margin, count, pairs_out)
    return count


@kernel
def find_candidates_of_few(
    # Model: as above
    geometries: Geometries,
    frames: Integers,
    filtered: Integers,
    # In:
    X_WG: Poses,
    margin: float,
    # Work:
    boxes_work: FloatTable,
    grid_work: Integers,  # not used
    # Out:
    pairs_out: IntegerTable,
) -> int:
    """Does the same where there are few; in lanes, of which some are moved so that a pair meets."""
    for i in range(geometries.shape[0]):
        set_box(geometries[i], X_WG, i, margin, boxes_work)
    return _test_all(geometries, frames, filtered, X_WG, boxes_work, margin, pairs_out)


@inlined
def _test_all(
    geometries: Geometries, frames: Array, filtered: Array, X_WG: Poses, boxes: FloatTable, margin: float,
    pairs_out: Array,
) -> int:  # fmt: skip
    """Tests each geometry with each."""
    count = 0
    for i in range(geometries.shape[0]):
        for j in range(i + 1, geometries.shape[0]):
            if any_of(box_gap(boxes, i, j) <= 0.0):
                count = _test_pair(geometries, frames, filtered, X_WG, boxes, i, j, margin, count, pairs_out)
    return count


@inlined
def _set_large_apart(
    geometries: Geometries, margin: float, boxes: FloatTable, cell_of_out: Array
) -> tuple[Vector3, Vector3, float]:
    """Writes -1 for geometries that are four times as large as the geometric mean, 0 for the others.

    Returns:
        The least and the greatest coordinates of the centers of the others, and the greatest width of one [m].
    """
    total, num_finite = 0.0, 0
    for i in range(geometries.shape[0]):
        if geometries[i].kind != HALF_SPACE:
            total += math.log(max(geometries[i].bound + geometries[i].radius, 1e-12))
            num_finite += 1
    limit = 4.0 * math.exp(total / num_finite) + margin if num_finite > 0 else 0.0
    low_x, low_y, low_z, widest = math.inf, math.inf, math.inf, 0.0
    high_x, high_y, high_z = -math.inf, -math.inf, -math.inf
    for i in range(geometries.shape[0]):
        g = geometries[i]
        is_large = g.kind == HALF_SPACE or g.bound + g.radius > limit or not _is_in_grid(boxes, i)
        cell_of_out[i] = -1 if is_large else 0
        if not is_large:
            x, y, z = _center(boxes, i)
            low_x, low_y, low_z = min(low_x, x), min(low_y, y), min(low_z, z)
            high_x, high_y, high_z = max(high_x, x), max(high_y, y), max(high_z, z)
            for r in range(3):
                widest = max(widest, boxes[i, 3 + r] - boxes[i, r])
    return (low_x, low_y, low_z), (high_x, high_y, high_z), widest


@inlined
def _is_in_grid(boxes: FloatTable, i: int) -> bool:
    """Whether a box is finite, so that its center and its width can be counted in cells."""
    return bool(0.0 * (boxes[i, 0] + boxes[i, 1] + boxes[i, 2] + boxes[i, 3] + boxes[i, 4] + boxes[i, 5]) == 0.0)


@inlined
def _center(boxes: FloatTable, i: int) -> Vector3:
    return 0.5 * (boxes[i, 0] + boxes[i, 3]), 0.5 * (boxes[i, 1] + boxes[i, 4]), 0.5 * (boxes[i, 2] + boxes[i, 5])


@inlined
def _size_grid(low: Vector3, high: Vector3, widest: float, num_cells_max: int) -> tuple[float, int, int, int]:
    """The width of the cells [m], and how many there are along x, y and z."""
    width = max(widest * (1.0 + 1e-9), 1e-9)
    # In numbers with a point: integers overflow in scenes of a few thousand kilometres.
    wide_x, wide_y, wide_z = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    while (wide_x / width + 1.0) * (wide_y / width + 1.0) * (wide_z / width + 1.0) > num_cells_max:
        width *= 1.3
    if wide_x + wide_y + wide_z < math.inf:
        return width, int(wide_x / width) + 1, int(wide_y / width) + 1, int(wide_z / width) + 1
    return width, 1, 1, 1


@inlined
def _fill_grid(
    boxes: FloatTable, low: Vector3, width: float, nx: int, ny: int, nz: int, starts: Array, order: Array,
    cell_of: Array,
) -> None:  # fmt: skip
    """Writes the cell of each geometry, the geometries cell by cell, and where those of each cell begin and end."""
    n, num_cells = cell_of.shape[0], nx * ny * nz
    for c in range(num_cells + 1):
        starts[c] = 0
    for i in range(n):
        if cell_of[i] >= 0:
            cell = 0
            if num_cells > 1:
                center = _center(boxes, i)
                x, y = int((center[0] - low[0]) / width), int((center[1] - low[1]) / width)
                z = int((center[2] - low[2]) / width)
                cell = min(x, nx - 1) + nx * (min(y, ny - 1) + ny * min(z, nz - 1))
            cell_of[i] = cell
            starts[cell + 1] += 1
    for c in range(num_cells):
        starts[c + 1] += starts[c]
    end = starts[num_cells]
    # From the back, so that within a cell the geometries keep their order; afterwards entry c + 1 is where c begins.
    for k in range(n):
        cell = cell_of[n - 1 - k]
        if cell >= 0:
            starts[cell + 1] -= 1
            order[starts[cell + 1]] = n - 1 - k
    for c in range(num_cells):
        starts[c] = starts[c + 1]
    starts[num_cells] = end
