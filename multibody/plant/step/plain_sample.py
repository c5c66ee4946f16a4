"""What samples of the dynamics are made of, and as plain values for files of contexts (context/context_file.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.plain_values import Loading
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.ids import GeometryId
from merganser.geometry.proximity.layout import contact_dtype
from merganser.multibody.plant.step.contact_arrays import (
    NUM_FORCE_VALUES,
    ContactSample,
    DeformableSample,
    SurfaceSample,
)

__all__ = ["check_sample", "float_sample", "plain_sample", "sample_of", "settled"]

Array = NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]
_F_APPLIED = 3  # among the arrays of a sample


def check_sample(record: Any, shapes: Shapes) -> None:
    """Raises TypeError if something is no DynamicsSample of a plant, or None.

    Args:
        record: what may be one, of whichever scalar type.
        shapes: as of `sample_of`.
    """
    if record is None:
        return
    is_one = isinstance(record, tuple) and len(record) == len(shapes)
    is_one = is_one and all(isinstance(a, np.ndarray) and a.shape == shape for a, shape in zip(record[:-1], shapes))
    if not (is_one and isinstance(record[-1], (ContactSample, type(None)))):
        raise TypeError(
            "The abstract state of a plant is what the last step of a plant like it has left, or None; got "
            f"{type(record).__name__}."
        )


def settled(record: tuple[Any, ...]) -> tuple[Any, ...]:
    """A DynamicsSample with arrays of AutoDiffXd in place of those in lanes, and all forces among the former."""
    *arrays, contacts = record
    if contacts is None or contacts.F_Bo_W is None:
        return record
    arrays[_F_APPLIED] = contacts.F_Bo_W.merged()
    return (*arrays, contacts.merged()._replace(F_Bo_W=None))


def float_sample(record: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """A DynamicsSample of floats: of an AutoDiffXd only the value counts.

    Raises:
        RuntimeError: it has expressions of variables.
    """
    if record is None or all(array.dtype != object for array in record[:-1]):
        return record
    *arrays, contacts = settled(record)
    if contacts is not None:
        names = "forces", "tau", "tau_joints", "row_forces"
        contacts = contacts._replace(**{name: cast_array(getattr(contacts, name), float) for name in names})
        if contacts.surfaces is not None:
            of_surfaces = "corners", "faces", "forces"
            values = {name: cast_array(getattr(contacts.surfaces, name), float) for name in of_surfaces}
            contacts = contacts._replace(surfaces=contacts.surfaces._replace(**values))
    return (*(cast_array(array, float) for array in arrays), contacts)


def plain_sample(record: tuple[Any, ...] | None) -> list[Any] | None:
    """What is kept of a DynamicsSample, see sampling.py; None before the first step."""
    if record is None:
        return None
    *arrays, contacts = settled(record)
    if contacts is None:
        return [*arrays, None]
    surfaces = None if contacts.surfaces is None else list(contacts.surfaces)
    of_deformables = None if contacts.deformables is None else list(contacts.deformables)
    records = contacts.contacts.tobytes()
    *plain, _ = contacts._replace(contacts=records, surfaces=surfaces, deformables=of_deformables)
    return [*arrays, plain]


def sample_of(plain: Any, shapes: Shapes, loading: Loading) -> tuple[Any, ...] | None:
    """Makes a sample again.

    Args:
        plain: from `plain_sample`; may be damaged.
        shapes: of all arrays that every sample of the plant has; the last two are gravity's, and that of all
            generalized forces.
        loading: of the Context.

    Raises:
        Exception: of any type, if it is none of this plant.
    """
    if plain is None:
        return None
    *arrays, contacts = plain
    *shapes_of_arrays, shape_of_tau = shapes
    if len(arrays) != len(shapes_of_arrays):
        raise ValueError(f"a sample has {len(shapes_of_arrays)} arrays, the file {len(arrays)}")
    scalars = (np.dtype(float), loading.scalar)
    for array, shape in zip(arrays, shapes_of_arrays):
        _check(array, shape, *scalars)
    if contacts is None:
        return (*arrays, None)
    ids, bodies, geometries, records, forces, tau, tau_joints, row_forces, statistics, surfaces, deformables = contacts
    _check_ids(ids)
    found: Array = np.frombuffer(records, contact_dtype).copy()
    _check(bodies, (len(ids),), np.dtype(np.int64))
    _check(geometries, (len(found), 2), np.dtype(np.int64))
    if geometries.size and not 0 <= geometries.min() <= geometries.max() < len(ids):
        raise ValueError(f"there are contacts of others than its {len(ids)} geometries")
    _check(forces, (len(found), NUM_FORCE_VALUES), *scalars)
    for forces_of_joints in (tau, tau_joints):
        _check(forces_of_joints, shape_of_tau, *scalars)
    _check(row_forces, (len(row_forces), 6), *scalars)
    if not isinstance(statistics, (tuple, type(None))):
        raise TypeError("the statistics of a step are a tuple")
    of_surfaces = None if surfaces is None else _surfaces_of(surfaces, len(ids), scalars)
    of_deformables = None if deformables is None else _deformables_of(deformables)
    of_all = forces, tau, tau_joints, row_forces, statistics, of_surfaces, of_deformables
    return (*arrays, ContactSample(ids, bodies, geometries, found, *of_all))


def _check_ids(ids: Any) -> None:
    if not (isinstance(ids, list) and all(isinstance(id, GeometryId) for id in ids)):
        raise TypeError("a sample lists the identifiers of geometries")


def _deformables_of(plain: list[Any]) -> DeformableSample:
    """The contacts of deformable bodies of a sample; errors as above."""
    ids, pairs, corners, faces, owners, sources, forces = plain
    _check_ids(ids)
    _check_faces(corners, faces, owners, np.dtype(float))
    _check(pairs, (len(pairs), 2), np.dtype(np.int64))
    _check(sources, (len(sources),), np.dtype(np.int64))
    _check(forces, (len(sources), NUM_FORCE_VALUES), np.dtype(float))
    _check_indices((pairs, len(ids)), (owners[:, 0], len(pairs)), (sources, len(faces)))
    return DeformableSample(ids, pairs, corners, faces, owners, sources, forces)


def _check_faces(corners: Any, faces: Any, owners: Any, *scalars: Any) -> None:
    _check(faces, (len(faces), FACE_NUMBERS), *scalars)
    _check(corners, (len(faces), MOST_CORNERS, 4), *scalars)
    _check(owners, (len(faces), 4), np.dtype(np.int64))
    if owners.size and not 3 <= owners[:, 1].min() <= owners[:, 1].max() <= MOST_CORNERS:
        raise ValueError(f"a face has not 3 to {MOST_CORNERS} corners")


def _check_indices(*of_arrays: tuple[Array, int]) -> None:
    for indices, size in of_arrays:
        if indices.size and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(f"an index of its contact surfaces is none of {size}")


def _surfaces_of(plain: list[Any], num_geometries: int, scalars: tuple[Any, ...]) -> SurfaceSample:
    """The contact surfaces of a sample; errors as above."""
    pairs, corners, faces, owners, sources, forces, is_triangle, is_compliant = plain
    integer = np.dtype(np.int64)
    _check(pairs, (len(pairs), 2), integer)
    _check_faces(corners, faces, owners, *scalars)
    _check(sources, (len(sources),), integer)
    _check(forces, (len(sources), NUM_FORCE_VALUES), *scalars)
    _check(is_compliant, (num_geometries,), np.dtype(np.bool_))
    _check_indices((pairs, num_geometries), (owners[:, 0], len(pairs)), (sources, len(faces)))
    return SurfaceSample(pairs, corners, faces, owners, sources, forces, bool(is_triangle), is_compliant)


def _check(array: Any, shape: tuple[int, ...], *dtypes: Any) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype not in dtypes:
        raise ValueError(f"expected an array of {dtypes[-1]} and shape {shape}")
