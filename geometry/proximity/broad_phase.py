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
from merganser.geometry.proximity.layout import HALF_SPACE
from merganser.geometry.proximity.vectors import Array

__all__ = ["CELLS_A_GEOMETRY", "FEW", "find_candidates"]

CELLS_A_GEOMETRY = 4
FEW = 128  # geometries, of which each is tested with each


@device
def _set_box(g: Array, X_WG: Array, i: int, margin: float, boxes: Array) -> None:
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
def _is_finite(X_WG: Array, i: int) -> bool:
    total = 0.0
    for r in range(3):
        total += 0.0 * X_WG[i, r, 0] + 0.0 * X_WG[i, r, 1] + 0.0 * X_WG[i, r, 2] + 0.0 * X_WG[i, r, 3]
    return total == 0.0


@device
def _overlap(boxes: Array, i: int, j: int) -> bool:
    return (
        boxes[i, 0] <= boxes[j, 3]
        and boxes[j, 0] <= boxes[i, 3]
        and boxes[i, 1] <= boxes[j, 4]
        and boxes[j, 1] <= boxes[i, 4]
        and boxes[i, 2] <= boxes[j, 5]
        and boxes[j, 2] <= boxes[i, 5]
    )


@device
def _below_plane(X_WG: Array, i: int, boxes: Array, j: int, margin: float) -> bool:
    """Whether box j, which has half of the margin, comes within the margin of the plane of half space i."""
    height = 0.0
    for r in range(3):
        n = X_WG[i, r, 2]
        center, half = 0.5 * (boxes[j, r] + boxes[j, 3 + r]), 0.5 * (boxes[j, 3 + r] - boxes[j, r])
        height += n * (center - X_WG[i, r, 3]) - abs(n) * half
    return not height > margin  # the box has grown along three axes, so this keeps a little more


@device
def _test_pair(
    geometries: Array,
    frames: Array,
    filtered: Array,
    X_WG: Array,
    boxes: Array,
    i: int,
    j: int,
    margin: float,
    count: int,
    pairs_out: Array,
) -> int:
    """Writes the pair, if these may meet; returns how many there are now."""
    if frames[i] == frames[j] or not _overlap(boxes, i, j):
        return count
    if filtered.shape[0] > 0 and filtered[i, j]:
        return count
    a, b = geometries[i], geometries[j]
    if a.kind == HALF_SPACE and b.kind != HALF_SPACE and not _below_plane(X_WG, i, boxes, j, 0.5 * margin):
        return count
    if b.kind == HALF_SPACE and a.kind != HALF_SPACE and not _below_plane(X_WG, j, boxes, i, 0.5 * margin):
        return count
    if count < pairs_out.shape[0]:
        pairs_out[count, 0], pairs_out[count, 1] = min(i, j), max(i, j)
    return count + 1


@kernel
def find_candidates(
    # Model:
    geometries: Array,  # geometry_dtype, shape [n]
    frames: Array,  # int64, shape [n]
    filtered: Array,  # bool, shape [n, n] or [0, 0]
    # In:
    X_WG: Array,  # shape [n, 4, 4]
    margin: float,  # pairs that are this far apart count [m]
    # Work:
    boxes_work: Array,  # float64, shape [n, 6]
    grid_work: Array,  # int64, shape [CELLS_A_GEOMETRY n + 2 n + 2]
    # Out:
    pairs_out: Array,  # int64, shape [capacity, 2]
) -> int:
    """Pairs (i, j), i < j, sorted if there are few; returns how many there are, be there room for them or not.

    In `grid_work` stand where the geometries of each cell begin, then the geometries cell by cell, then the cell of
    each geometry, -1 for large ones.
    """
    n = geometries.shape[0]
    widest = 0.0
    low_x, low_y, low_z = math.inf, math.inf, math.inf
    high_x, high_y, high_z = -math.inf, -math.inf, -math.inf
    for i in range(n):
        _set_box(geometries[i], X_WG, i, margin, boxes_work)
    count = 0
    if n <= FEW:
        for i in range(n):
            low_x, low_y, low_z = boxes_work[i, 0], boxes_work[i, 1], boxes_work[i, 2]
            high_x, high_y, high_z = boxes_work[i, 3], boxes_work[i, 4], boxes_work[i, 5]
            for j in range(i + 1, n):
                # All at once: a branch that is mispredicted takes longer than six comparisons.
                meets = (low_x <= boxes_work[j, 3]) & (boxes_work[j, 0] <= high_x)
                meets &= (low_y <= boxes_work[j, 4]) & (boxes_work[j, 1] <= high_y)
                meets &= (low_z <= boxes_work[j, 5]) & (boxes_work[j, 2] <= high_z)
                if meets:
                    count = _test_pair(geometries, frames, filtered, X_WG, boxes_work, i, j, margin, count, pairs_out)
        return count
    # A geometry is large if it is four times as large as the geometric mean.
    total, num_finite = 0.0, 0
    for i in range(n):
        if geometries[i].kind != HALF_SPACE:
            total += math.log(max(geometries[i].bound + geometries[i].radius, 1e-12))
            num_finite += 1
    limit = 4.0 * math.exp(total / num_finite) + margin if num_finite > 0 else 0.0
    num_cells_max = CELLS_A_GEOMETRY * n
    order, cell_of = num_cells_max + 2, num_cells_max + 2 + n
    for i in range(n):
        g = geometries[i]
        is_large = g.kind == HALF_SPACE or g.bound + g.radius > limit or not _is_in_grid(boxes_work, i)
        grid_work[cell_of + i] = -1 if is_large else 0
        if not is_large:
            x = 0.5 * (boxes_work[i, 0] + boxes_work[i, 3])
            y = 0.5 * (boxes_work[i, 1] + boxes_work[i, 4])
            z = 0.5 * (boxes_work[i, 2] + boxes_work[i, 5])
            low_x, low_y, low_z = min(low_x, x), min(low_y, y), min(low_z, z)
            high_x, high_y, high_z = max(high_x, x), max(high_y, y), max(high_z, z)
            for r in range(3):
                widest = max(widest, boxes_work[i, 3 + r] - boxes_work[i, r])
    for i in range(n):
        if grid_work[cell_of + i] < 0:
            for j in range(n):
                if j > i or (j < i and grid_work[cell_of + j] >= 0):
                    count = _test_pair(geometries, frames, filtered, X_WG, boxes_work, i, j, margin, count, pairs_out)
    if not high_x >= low_x:
        return count
    width = max(widest * (1.0 + 1e-9), 1e-9)
    # In numbers with a point: integers overflow in scenes of a few thousand kilometres.
    wide_x, wide_y, wide_z = high_x - low_x, high_y - low_y, high_z - low_z
    while (wide_x / width + 1.0) * (wide_y / width + 1.0) * (wide_z / width + 1.0) > num_cells_max:
        width *= 1.3
    nx, ny, nz = 1, 1, 1
    if wide_x + wide_y + wide_z < math.inf:
        nx, ny, nz = int(wide_x / width) + 1, int(wide_y / width) + 1, int(wide_z / width) + 1
    num_cells = nx * ny * nz
    for c in range(num_cells + 1):
        grid_work[c] = 0
    for i in range(n):
        if grid_work[cell_of + i] >= 0:
            cell = 0
            if num_cells > 1:
                x = int((0.5 * (boxes_work[i, 0] + boxes_work[i, 3]) - low_x) / width)
                y = int((0.5 * (boxes_work[i, 1] + boxes_work[i, 4]) - low_y) / width)
                z = int((0.5 * (boxes_work[i, 2] + boxes_work[i, 5]) - low_z) / width)
                cell = min(x, nx - 1) + nx * (min(y, ny - 1) + ny * min(z, nz - 1))
            grid_work[cell_of + i] = cell
            grid_work[cell + 1] += 1
    for c in range(num_cells):
        grid_work[c + 1] += grid_work[c]
    # From the back, so that within a cell the geometries keep their order; afterwards entry c is where cell c begins.
    for k in range(n):
        i = n - 1 - k
        cell = grid_work[cell_of + i]
        if cell >= 0:
            grid_work[cell + 1] -= 1
            grid_work[order + grid_work[cell + 1]] = i
    end = _num_in_grid(grid_work, cell_of, n)
    for c in range(num_cells):
        grid_work[c] = grid_work[c + 1]
    grid_work[num_cells] = end
    for cell in range(num_cells):
        x, y, z = cell % nx, (cell // nx) % ny, cell // (nx * ny)
        for k in range(grid_work[cell], grid_work[cell + 1]):
            i = grid_work[order + k]
            for other in range(14):  # this cell and half of those around it: each pair of cells once
                dx, dy, dz = (other + 13) % 3 - 1, ((other + 13) // 3) % 3 - 1, (other + 13) // 9 - 1
                if not (0 <= x + dx < nx and 0 <= y + dy < ny and 0 <= z + dz < nz):
                    continue
                near = cell + dx + nx * (dy + ny * dz)
                first = k + 1 if near == cell else grid_work[near]
                for m in range(first, grid_work[near + 1]):
                    j = grid_work[order + m]
                    count = _test_pair(geometries, frames, filtered, X_WG, boxes_work, i, j, margin, count, pairs_out)
    return count


@inlined
def _is_in_grid(boxes: Array, i: int) -> bool:
    """Whether a box is finite, so that its center and its width can be counted in cells."""
    return bool(0.0 * (boxes[i, 0] + boxes[i, 1] + boxes[i, 2] + boxes[i, 3] + boxes[i, 4] + boxes[i, 5]) == 0.0)


@device
def _num_in_grid(grid_work: Array, cell_of: int, n: int) -> int:
    count = 0
    for i in range(n):
        if grid_work[cell_of + i] >= 0:
            count += 1
    return count
