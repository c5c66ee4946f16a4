"""Checks arguments of a plant's functions, and converts them for kernels.

Functions take the model, for messages, and the name of the public function that was called.

The compiled forms of kernels/checked_arrays.py, for vectors of floats that are not contiguous, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.native import Given, bind
from merganser.multibody.kernels import checked_arrays
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import FixedOffsetFrame, Frame, MultibodyForces, RigidBody

_GIVEN = np.zeros(4)[::2]  # for a type that has any stride
_ROOM = np.zeros(2)
_PLACES = np.zeros(2, np.int64)


class _CheckedCode:
    """Each function is loaded, or compiled, when it is first used; its arguments must be arrays of the right dtype."""

    is_finite: Callable[[Any], bool]
    write_checked: Callable[[Any, Any, Any], bool]
    subtract_checked: Callable[[Any, Any], bool]

    _EXAMPLES = {
        "is_finite": (_GIVEN,),
        "write_checked": (_PLACES, _ROOM, _GIVEN),
        "subtract_checked": (_ROOM, _GIVEN),
    }

    def __getattr__(self, name: str) -> Any:
        if name not in self._EXAMPLES:
            raise AttributeError(name)
        code = bind(getattr(checked_arrays, name), *map(Given, self._EXAMPLES[name]))
        setattr(self, name, code)
        return code


checked = _CheckedCode()


Array = NDArray[Any]
_NDARRAY, _FLOAT, _POINT = np.ndarray, np.dtype(np.float64), (3,)
_SMALLEST_COSINE = 1e-3  # of a pitch angle

# X_BB as a matrix [R p], for each type of scalar; never written.
_IDENTITY = {np.dtype(scalar): np.eye(3, 4).astype(scalar) for scalar in (np.float64, np.complex128, object)}


# ---------------------------------------------------------------------- vectors


def checked_vector(model: PlantModel, caller: str, values: ArrayLike, size: int, dtype: Any) -> Array:
    """`values` as an array of shape [size], checked to be finite numbers.

    Args:
        model: of the plant.
        caller: name of the function for messages.
        values: what was given; a row or column will do.
        size: how many there should be.
        dtype: scalar type of the result.
    """
    array = np.ascontiguousarray(values)
    if array.dtype is not dtype and array.dtype != dtype:
        array = as_scalars(model, caller, array, dtype)
    if array.shape != (size,):
        array = sized_vector(model, caller, array, size)
    if array.dtype.kind in "fc" and not math.isfinite(abs(array.dot(array))) and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(
            f"{caller}(): element {bad} of the vector for plant '{model.path()}' is {array[bad]}; all must be finite."
        )
    return array


def sized_vector(model: PlantModel, caller: str, values: ArrayLike, size: int) -> Array:
    """`values` as an array of shape [size]."""
    array = np.asarray(values)
    if array.size != size or (array.ndim > 1 and 1 not in array.shape):
        raise ValueError(
            f"{caller}(): plant '{model.path()}' expects a vector of size {size}, got an array of shape {array.shape}."
        )
    return array.reshape(size)


def as_scalars(model: PlantModel, caller: str, array: Array, dtype: Any) -> Array:
    """An array as one of another scalar type."""
    if array.dtype.kind == "c" and np.dtype(dtype).kind == "f":
        raise TypeError(f"{caller}(): plant '{model.path()}' was given complex numbers, but computes with floats here.")
    try:
        return array.astype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"{caller}(): plant '{model.path()}' expects a vector of numbers, got {array!r}.") from None


# ---------------------------------------------------------------------- points


def checked_points(model: PlantModel, caller: str, name: str, given: ArrayLike, w: Workspace) -> Array:
    """Positions of n points as kernels take them, checked to be finite, shape [3 n].

    Args:
        model: of the plant.
        caller: name of the function for messages.
        name: of the argument.
        given: shape [3] or [3, n].
        w: the workspace, for the scalar type.
    """
    points: Any = given
    if w.is_float and type(points) is _NDARRAY and points.dtype is _FLOAT and points.flags.c_contiguous:
        flat = points if points.shape == _POINT else points.reshape(-1)  # as it often is: 1 us less
        if points.ndim in (1, 2) and points.shape[0] == 3 and checked.is_finite(flat):
            return flat
    points = np.asarray(given)
    if points.ndim not in (1, 2) or points.shape[0] != 3:
        raise ValueError(f"{caller}(): {name} must have shape [3] or [3, n], got {points.shape}.")
    flat = np.ascontiguousarray(points).reshape(-1)
    if flat.dtype is not w.dtype and flat.dtype != w.dtype:
        flat = as_scalars(model, caller, flat, w.dtype)
    if flat.dtype.kind in "fc" and not math.isfinite(abs(flat.dot(flat))) and not np.isfinite(flat).all():
        raise ValueError(f"{caller}(): {name} must be finite, got {points.tolist()}.")
    return flat


def checked_point(model: PlantModel, caller: str, name: str, given: ArrayLike, w: Workspace) -> Array:
    """The position of one point, checked in the same way, shape [3]."""
    p: Any = given
    if w.is_float and type(p) is _NDARRAY and p.dtype is _FLOAT and p.shape == _POINT and checked.is_finite(p):
        return p if p.flags.c_contiguous else p.copy()  # as it often is: 1 us less than what follows
    points = checked_points(model, caller, name, given, w)
    if len(points) != 3:
        raise ValueError(f"{caller}(): {name} must be one point, shape [3], got shape {np.shape(given)}.")
    return points


# ---------------------------------------------------------------------- elements and forces


def mobod_of(model: PlantModel, caller: str, body: RigidBody) -> int:
    """The mobilized body that a body of the plant is."""
    if not isinstance(body, RigidBody):
        raise TypeError(f"{caller}() takes a RigidBody, got {type(body).__name__}.")
    if body._tree is not model.tree or body._mobod is None:
        model.tree._check_mine(caller, "it", body)
        model.require_finalized(f"{caller}()")
    assert body._mobod is not None
    return body._mobod


def place_of(model: PlantModel, caller: str, w: Workspace, frame_F: Frame) -> tuple[int, Array]:
    """A frame as kernels take it: the mobod of its body B, and X_BF as a matrix [R p], shape [3, 4]."""
    try:
        return w.places[frame_F]
    except (KeyError, TypeError):
        pass
    if not isinstance(frame_F, Frame):
        raise TypeError(f"{caller}() takes frames, got a {type(frame_F).__name__}. A body has body_frame().")
    model.tree._check_mine(caller, "it", frame_F)
    X_BF = w.frames["X_BF"][frame_F._slot] if isinstance(frame_F, FixedOffsetFrame) else _IDENTITY[w.dtype]
    mobod = frame_F.body()._mobod
    assert mobod is not None
    place = w.places[frame_F] = mobod, X_BF
    return place


def check_forces(model: PlantModel, caller: str, forces: MultibodyForces) -> None:
    """As the tree does, in less time if they fit."""
    if not isinstance(forces, MultibodyForces) or model.force_sizes != (len(forces._F_Bo_W), len(forces._tau)):
        model.tree._check_forces(caller, forces)


def check_pitches(model: PlantModel, what: str, w: Workspace) -> None:
    """Refuses states in which roll, pitch and yaw have no rates: where the cosine of the pitch is below 1e-3."""
    for position, name in model.pitches.items():
        if w.dtype != object and abs(math.cos(w.q[position].real)) < _SMALLEST_COSINE:
            raise RuntimeError(
                f"{what} of plant '{model.path()}' is singular: joint '{name}' is at a pitch of "
                f"{w.q[position].real} rad, where the rates of roll, pitch and yaw are not defined. Keep the "
                "pitch away from a quarter turn, or use a QuaternionFloatingJoint, which has no such place."
            )
