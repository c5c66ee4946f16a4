"""Clouds of points, what they know of these, and means and planes of points that are near each other."""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

_CHUNK = 1 << 16  # points whose neighbors are gathered at a time: some 30 MB for 20 neighbors


class Cells:
    """The cells of a grid in which points lie; each cell [i, i + 1) x [j, j + 1) x [k, k + 1) times its size.

    Args:
        points: positions, shape [n, 3]; those that are not finite lie in no cell.
        size: length of the edges of a cell.
    """

    def __init__(self, points: Array, size: float) -> None:
        self._inside = np.flatnonzero(np.isfinite(points).all(axis=1))
        cells = np.floor(points[self._inside].astype(np.float64) / size)
        occupied, cell = np.unique(cells, axis=0, return_inverse=True)
        self._cell = cell.reshape(-1)
        self._num_cells = len(occupied)

    def mean(self, values: Array) -> Array:
        """The mean of the finite values in each cell; NaN in cells without any.

        Args:
            values: one row for each point, shape [n, 3].

        Returns:
            One row for each cell that has a point, in the order of i, j, k, shape [num_cells, 3].
        """
        rows = values[self._inside].astype(np.float64)
        finite = np.isfinite(rows).all(axis=1)
        cell, rows = self._cell[finite], rows[finite]
        sums = [np.bincount(cell, rows[:, axis], minlength=self._num_cells) for axis in range(rows.shape[1])]
        counts = np.bincount(cell, minlength=self._num_cells)
        with np.errstate(invalid="ignore"):
            return np.stack(sums, axis=1) / counts[:, None]


def normals_of_neighbors(points: Array, radius: float, num_closest: int) -> tuple[Array, Array]:
    """Fits a plane to each point Q and its nearest neighbors.

    The normal is the direction in which the neighbors scatter least: the eigenvector of the least eigenvalue of

        sum of (p_MQ)(p_MQ)^T over neighbors Q, with M their mean.                              (1)

    Args:
        points: positions, shape [n, 3]; those that are not finite have no neighbors.
        radius: neighbors are not farther away than this.
        num_closest: how many neighbors count, at most, the point itself among them.

    Returns:
        The normals, shape [n, 3], of any sign, NaN where there are fewer than two neighbors; and how many neighbors
        there are, shape [n].
    """
    from scipy.spatial import cKDTree

    normals, counts = np.full(points.shape, np.nan), np.zeros(len(points), dtype=np.int64)
    finite = np.flatnonzero(np.isfinite(points).all(axis=1))
    if finite.size == 0:
        return normals, counts
    known = points[finite].astype(np.float64)
    tree = cKDTree(known)
    for start in range(0, len(known), _CHUNK):
        rows = finite[start : start + _CHUNK]
        _, neighbors = tree.query(
            known[start : start + _CHUNK],
            k=min(num_closest, len(known)),
            distance_upper_bound=np.nextafter(radius, np.inf),  # it is less than that
        )
        neighbors = neighbors.reshape(len(rows), -1)
        is_neighbor = neighbors < len(known)
        counts[rows] = is_neighbor.sum(axis=1)
        p_Q = known[np.where(is_neighbor, neighbors, 0)]
        weight = is_neighbor[:, :, None]
        p_MQ = np.where(weight, p_Q - (p_Q * weight).sum(axis=1, keepdims=True) / counts[rows][:, None, None], 0.0)
        _, directions = np.linalg.eigh(np.swapaxes(p_MQ, 1, 2) @ p_MQ)  # (1)
        normals[rows] = np.where(counts[rows][:, None] < 2, np.nan, directions[:, :, 0])
    return normals, counts


class BaseField(enum.IntEnum):
    """Something that a point cloud knows of each point; combined by `|`."""

    kNone = 0
    kXYZs = 2
    kNormals = 4
    kRGBs = 8

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


_ALL = sum(BaseField)


class Fields:
    """A set of fields: `Fields(BaseField.kXYZs | BaseField.kRGBs)`; it never changes.

    Args:
        base_fields: BaseFields, combined by `|`.

    Raises:
        RuntimeError: there is no such combination.
    """

    __slots__ = ("_base_fields",)

    def __init__(self, base_fields: int) -> None:
        number = operator.index(base_fields)
        if number & ~_ALL:
            known = ", ".join(f"{field.name} = {field.value}" for field in BaseField)
            raise RuntimeError(f"Fields({number}) is no combination of BaseFields ({known}).")
        self._base_fields = number

    def base_fields(self) -> int:
        """The BaseFields, combined by `|`."""
        return self._base_fields

    def has_base_fields(self) -> bool:
        """Whether there are any."""
        return self._base_fields != 0

    def __or__(self, other: Fields) -> Fields:
        return Fields(self._base_fields | other._base_fields) if isinstance(other, Fields) else NotImplemented

    def __and__(self, other: Fields) -> Fields:
        return Fields(self._base_fields & other._base_fields) if isinstance(other, Fields) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._base_fields == other._base_fields if isinstance(other, Fields) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Fields(base_fields={self._base_fields})"


Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_XYZS, _NORMALS, _RGBS = BaseField.kXYZs, BaseField.kNormals, BaseField.kRGBs
_TYPES: dict[BaseField, tuple[type[Any], float]] = {  # of a field's numbers, and what they are before they are set
    _XYZS: (np.float32, np.nan),
    _NORMALS: (np.float32, np.nan),
    _RGBS: (np.uint8, 0),
}


class PointCloud:
    """Points, each with a position, a normal or a color, or several of them.

    Positions and normals are NaN until they are set, colors black.

    Args:
        new_size: number of points. Or another PointCloud, to be copied.
        fields: what is known of each point.
        other: the other PointCloud, by name.

    Raises:
        RuntimeError: the size is negative, or there are no fields.
    """

    __slots__ = ("__weakref__", "_fields", "_rows", "_size")

    C = np.uint8
    D = np.float32
    T = np.float32
    kDefaultValue = float("nan")

    @overload
    def __init__(self, new_size: int = 0, fields: Fields = ...) -> None: ...
    @overload
    def __init__(self, other: PointCloud, /) -> None: ...
    @overload
    def __init__(self, *, other: PointCloud) -> None: ...
    def __init__(self, new_size: Any = 0, fields: Fields | None = None, *, other: PointCloud | None = None) -> None:
        other = new_size if isinstance(new_size, PointCloud) else other
        self._rows: dict[BaseField, NDArray[Any]] = {}  # of shape [size, 3]
        self._size = 0
        self._fields = Fields(BaseField.kNone)
        if other is not None:
            if not isinstance(other, PointCloud) or fields is not None:
                raise TypeError(f"PointCloud(other) takes one PointCloud; given {other!r} and {fields!r}.")
            self.SetFrom(other)
            return
        fields = Fields(_XYZS) if fields is None else _checked_fields(fields)
        if not fields.has_base_fields():
            raise RuntimeError("A PointCloud needs a field: Fields(BaseField.kXYZs), for example.")
        self._size = _checked_size(new_size)
        self.SetFields(fields)

    @staticmethod
    def IsDefaultValue(value: float) -> bool:
        """Whether a coordinate has not been set: it is NaN."""
        return bool(np.isnan(value))

    @staticmethod
    def IsInvalidValue(value: float) -> bool:
        """Whether a coordinate is NaN or infinite."""
        return not bool(np.isfinite(value))

    # ------------------------------------------------------------------ sizes and fields

    def fields(self) -> Fields:
        """What is known of each point."""
        return self._fields

    def size(self) -> int:
        """The number of points."""
        return self._size

    def resize(self, new_size: int) -> None:
        """Changes the number of points: drops the last ones, or appends points of which nothing is set.

        Raises:
            RuntimeError: the size is negative.
        """
        size = _checked_size(new_size)
        kept = min(size, self._size)
        for field, rows in self._rows.items():
            self._rows[field] = _new_rows(field, size)
            self._rows[field][:kept] = rows[:kept]
        self._size = size

    def SetFields(self, new_fields: Fields, skip_initialize: bool = False) -> None:
        """Changes what is known of each point; fields that stay keep their values.

        Args:
            new_fields: the fields from now on.
            skip_initialize: allows that values of new fields are anything; here they are NaN or black all the same.
        """
        wanted = _checked_fields(new_fields).base_fields()
        rows = {field: self._rows.get(field) for field in _TYPES if wanted & field}
        self._rows = {field: _new_rows(field, self._size) if known is None else known for field, known in rows.items()}
        self._fields = Fields(wanted)

    def SetFrom(self, other: PointCloud) -> None:
        """Takes the points, the number and the fields of another cloud."""
        self._rows = {field: rows.copy() for field, rows in other._rows.items()}
        self._size, self._fields = other._size, other._fields

    # ------------------------------------------------------------------ positions

    def has_xyzs(self) -> bool:
        """Whether the cloud knows the positions of its points."""
        return _XYZS in self._rows

    def xyzs(self) -> Floats:
        """The positions, to be read only, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return _read_only(self._of(_XYZS, "xyzs").T)

    def mutable_xyzs(self) -> Floats:
        """The positions, to be written to, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return self._of(_XYZS, "mutable_xyzs").T

    def xyz(self, i: int) -> Floats:
        """The position of point i, to be read only, shape [3].

        Raises:
            RuntimeError: the cloud does not know it.
            IndexError: there is no such point.
        """
        return _read_only(self._row(_XYZS, "xyz", i))

    def mutable_xyz(self, i: int) -> Floats:
        """The position of point i, to be written to, shape [3]; see `xyz`."""
        return self._row(_XYZS, "mutable_xyz", i)

    # ------------------------------------------------------------------ normals

    def has_normals(self) -> bool:
        """Whether the cloud knows the normals of its points."""
        return _NORMALS in self._rows

    def normals(self) -> Floats:
        """The normals, to be read only, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return _read_only(self._of(_NORMALS, "normals").T)

    def mutable_normals(self) -> Floats:
        """The normals, to be written to, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return self._of(_NORMALS, "mutable_normals").T

    def normal(self, i: int) -> Floats:
        """The normal of point i, to be read only, shape [3].

        Raises:
            RuntimeError: the cloud does not know it.
            IndexError: there is no such point.
        """
        return _read_only(self._row(_NORMALS, "normal", i))

    def mutable_normal(self, i: int) -> Floats:
        """The normal of point i, to be written to, shape [3]; see `normal`."""
        return self._row(_NORMALS, "mutable_normal", i)

    # ------------------------------------------------------------------ colors

    def has_rgbs(self) -> bool:
        """Whether the cloud knows the colors of its points."""
        return _RGBS in self._rows

    def rgbs(self) -> Bytes:
        """Red, green and blue from 0 to 255, to be read only, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return _read_only(self._of(_RGBS, "rgbs").T)

    def mutable_rgbs(self) -> Bytes:
        """Red, green and blue from 0 to 255, to be written to, shape [3, size].

        Raises:
            RuntimeError: the cloud does not know them.
        """
        return self._of(_RGBS, "mutable_rgbs").T

    def rgb(self, i: int) -> Bytes:
        """The color of point i, to be read only, shape [3].

        Raises:
            RuntimeError: the cloud does not know it.
            IndexError: there is no such point.
        """
        return _read_only(self._row(_RGBS, "rgb", i))

    def mutable_rgb(self, i: int) -> Bytes:
        """The color of point i, to be written to, shape [3]; see `rgb`."""
        return self._row(_RGBS, "mutable_rgb", i)

    # ------------------------------------------------------------------ clouds from this one

    def Crop(self, lower_xyz: ArrayLike, upper_xyz: ArrayLike) -> PointCloud:
        """Returns the points inside of a box along the axes, its faces included.

        Args:
            lower_xyz: the corner with the smallest coordinates, shape [3].
            upper_xyz: the corner with the largest coordinates, shape [3].

        Raises:
            RuntimeError: the cloud has no positions; a lower coordinate is larger than the upper one.
            TypeError: a corner is not three numbers.
        """
        rows = self._of(_XYZS, "Crop")
        lower, upper = _vector("Crop", "lower_xyz", lower_xyz), _vector("Crop", "upper_xyz", upper_xyz)
        if not (lower <= upper).all():
            given = f"given {lower.tolist()} and {upper.tolist()}"
            raise RuntimeError(f"PointCloud.Crop(): lower_xyz must not be above upper_xyz anywhere; {given}.")
        return self._selected(np.all((rows >= lower) & (rows <= upper), axis=1))

    def VoxelizedDownSample(self, voxel_size: float, parallelize: Any = False) -> PointCloud:
        """Returns one point for each cell of a grid in which there are points: the means of what is in it.

        Args:
            voxel_size: length of the edges of a cell [m]; the corners of cells are whole multiples of it.
            parallelize: taken as pydrake takes it; makes no difference.

        Returns:
            A cloud of the same fields, cells in ascending order of x, y, z. Points whose position is not finite are
            left out, as are values that are not finite; mean normals have length one.

        Raises:
            RuntimeError: the cloud has no positions; the size is not positive.
        """
        rows = self._of(_XYZS, "VoxelizedDownSample")
        if not (voxel_size > 0 and np.isfinite(voxel_size)):
            raise RuntimeError(f"PointCloud.VoxelizedDownSample(): voxel_size must be positive; given {voxel_size}.")
        cells = Cells(rows, float(voxel_size))
        means = {field: cells.mean(values) for field, values in self._rows.items()}
        if _NORMALS in means:
            with np.errstate(invalid="ignore"):
                means[_NORMALS] /= np.linalg.norm(means[_NORMALS], axis=1, keepdims=True)
        sample = PointCloud(len(means[_XYZS]), self._fields)
        for field, mean in means.items():
            sample._rows[field][:] = mean
        return sample

    def EstimateNormals(self, radius: float, num_closest: int, parallelize: Any = False) -> bool:
        """Sets the normals of planes fitted to each point and its nearest neighbors; of any sign.

        Args:
            radius: neighbors are not farther away than this [m].
            num_closest: how many neighbors count, at most, the point itself among them.
            parallelize: taken as pydrake takes it; makes no difference.

        Returns:
            Whether all points have at least three neighbors. Those that have two get a normal to the line through
            them, others NaN.

        Raises:
            RuntimeError: the cloud has no positions; the radius is not positive; `num_closest` is less than 3.
        """
        rows = self._of(_XYZS, "EstimateNormals")
        if not radius > 0:
            raise RuntimeError(f"PointCloud.EstimateNormals(): radius must be positive; given {radius}.")
        if operator.index(num_closest) < 3:
            raise RuntimeError(f"PointCloud.EstimateNormals(): num_closest must be at least 3; given {num_closest}.")
        normals, counts = normals_of_neighbors(rows, float(radius), num_closest)
        self.SetFields(self._fields | Fields(_NORMALS))
        self._rows[_NORMALS][:] = normals
        return bool((counts >= 3).all())

    def FlipNormalsTowardPoint(self, p_CP: ArrayLike) -> None:
        """Turns those normals around that point away from a point P.

        Args:
            p_CP: position of P in the frame C of the cloud [m], shape [3]; of a camera, for example.

        Raises:
            RuntimeError: the cloud has no positions or no normals.
            TypeError: `p_CP` is not three numbers.
        """
        rows = self._of(_XYZS, "FlipNormalsTowardPoint")
        normals = self._of(_NORMALS, "FlipNormalsTowardPoint")
        p_QP = _vector("FlipNormalsTowardPoint", "p_CP", p_CP) - rows
        normals[(p_QP * normals).sum(axis=1) < 0] *= -1

    # ------------------------------------------------------------------ helpers

    def _of(self, field: BaseField, function: str) -> NDArray[Any]:
        """The numbers of a field, one row for each point."""
        if field not in self._rows:
            has = " | ".join(f"BaseField.{known.name}" for known in self._rows) or "no fields"
            raise RuntimeError(f"PointCloud.{function}() needs BaseField.{field.name}; this cloud has {has}.")
        return self._rows[field]

    def _row(self, field: BaseField, function: str, i: int) -> NDArray[Any]:
        rows = self._of(field, function)
        if not 0 <= operator.index(i) < self._size:
            raise IndexError(f"PointCloud.{function}({i}): this cloud has {self._size} points.")
        return rows[i]

    def _selected(self, rows: Any) -> PointCloud:
        selected = PointCloud(0, self._fields)
        selected._rows = {field: values[rows] for field, values in self._rows.items()}
        selected._size = int(rows.sum())
        return selected

    def __copy__(self) -> PointCloud:
        return PointCloud(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> PointCloud:
        return PointCloud(self)

    def __repr__(self) -> str:
        return f"<PointCloud of {self._size} points, {self._fields}>"


def Concatenate(clouds: Sequence[PointCloud]) -> PointCloud:
    """Returns all points of several clouds, one cloud after the other.

    Raises:
        RuntimeError: there is no cloud, or they have different fields.
    """
    clouds = list(clouds)
    if not clouds:
        raise RuntimeError("Concatenate() takes at least one PointCloud.")
    first = clouds[0].fields()
    for i, cloud in enumerate(clouds):
        if cloud.fields() != first:
            raise RuntimeError(f"Concatenate(): cloud 0 has {first}, but cloud {i} has {cloud.fields()}.")
    together = PointCloud(clouds[0])
    together._rows = {field: np.concatenate([cloud._rows[field] for cloud in clouds]) for field in together._rows}
    together._size = sum(cloud.size() for cloud in clouds)
    return together


def _checked_fields(fields: Any) -> Fields:
    if not isinstance(fields, Fields):
        raise TypeError(f"The fields of a PointCloud are Fields(BaseField.kXYZs), for example; given {fields!r}.")
    return fields


def _checked_size(size: Any) -> int:
    number = operator.index(size)
    if number < 0:
        raise RuntimeError(f"The size of a PointCloud must not be negative; given {number}.")
    return number


def _new_rows(field: BaseField, size: int) -> NDArray[Any]:
    kind, unset = _TYPES[field]
    return np.full((size, 3), unset, dtype=kind)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _vector(function: str, name: str, value: ArrayLike) -> Floats:
    try:
        vector = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        vector = np.empty(0, dtype=np.float32)
    if vector.shape not in ((3,), (3, 1)):
        raise TypeError(f"PointCloud.{function}(): {name} must be three numbers; given {value!r}.")
    return vector.reshape(3)
