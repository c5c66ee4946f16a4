"""Inverse dynamics, mass matrices and poses of one plant at many states: each has the bits that it has alone.

Columns are computed several at a time, as many as a vector register of the processor holds numbers (columns.py), in
threads. Joints of a user's own kinds are computed one column after the other.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch import num_workers
from merganser.framework import Context
from merganser.framework.core.inside import scalar_of
from merganser.framework.native import specialize
from merganser.framework.native.memory.simd import in_all_lanes, in_lanes, num_lanes
from merganser.multibody.batches.columns import Room, inverse_dynamics_columns, mass_matrix_columns, pose_columns
from merganser.multibody.kernels import layout
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.arguments import mobod_of
from merganser.multibody.tree import RigidBody

Array = NDArray[Any]
_WORTH_A_THREAD = 256  # columns


def BatchCalcInverseDynamics(
    plant: MultibodyPlant,
    context: Context,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    parallelize: bool | int = True,
) -> Array:
    """Computes M(q) vdot + C(q, v) v - tau_g(q) at many states: what actuators have to exert where nothing else acts.

    Args:
        plant: of floats.
        context: of it; its parameters and gravity count.
        q, v, vdot: one state a column, shapes [num_positions, N], [num_velocities, N] and [num_velocities, N].
        parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

    Returns:
        Generalized forces, shape [num_velocities, N]; without those of damping and force elements.

    Raises:
        ValueError: sizes do not match.
        RuntimeError: the plant is not finalized, or of another scalar.
    """
    name, num_v = "BatchCalcInverseDynamics", plant.num_velocities()
    given = _columns(name, plant, q=(q, plant.num_positions()), v=(v, num_v), vdot=(vdot, num_v))
    tau = np.empty((num_v, given[0].shape[1]))
    _compute(name, plant, context, inverse_dynamics_columns, True, (), given, tau, parallelize)
    return tau


def BatchCalcMassMatrix(plant: MultibodyPlant, context: Context, q: ArrayLike, parallelize: bool | int = True) -> Array:
    """Computes mass matrices at many positions, shape [N, num_velocities, num_velocities]; see above."""
    name, num_v = "BatchCalcMassMatrix", plant.num_velocities()
    given = _columns(name, plant, q=(q, plant.num_positions()))
    M = np.empty((given[0].shape[1], num_v, num_v))
    _compute(name, plant, context, mass_matrix_columns, False, (), given, M, parallelize)
    return M


def BatchCalcPoses(
    plant: MultibodyPlant,
    context: Context,
    q: ArrayLike,
    bodies: Iterable[RigidBody],
    parallelize: bool | int = True,
) -> Array:
    """Computes poses of bodies in the world at many positions: [R_WB p_WoBo_W], shape [N, num_bodies, 3, 4]."""
    name = "BatchCalcPoses"
    given = _columns(name, plant, q=(q, plant.num_positions()))
    mobods = np.array([mobod_of(plant._model, name, body) for body in bodies], np.int64)
    X_WB = np.empty((given[0].shape[1], len(mobods), 3, 4))
    _compute(name, plant, context, pose_columns, False, (mobods,), given, X_WB, parallelize)
    return X_WB


def _columns(name: str, plant: MultibodyPlant, **arguments: tuple[ArrayLike, int]) -> list[Array]:
    """Arrays of as many columns, of the sizes that are given with them."""
    arrays = {key: np.ascontiguousarray(values, dtype=float) for key, (values, _) in arguments.items()}
    count = next(iter(arrays.values())).shape[-1]
    for key, (_, size) in arguments.items():
        if arrays[key].shape != (size, count):
            raise ValueError(
                f"{name}(): {key} of plant '{plant.GetSystemPathname()}' must have the shape ({size}, N), as many "
                f"columns as q, which has {count}; got {arrays[key].shape}."
            )
    return list(arrays.values())


def _compute(
    name: str, plant: MultibodyPlant, context: Context, kernel: Any, has_gravity: bool, more: tuple[Any, ...],
    columns: list[Array], out: Array, parallelize: bool | int,
) -> None:  # fmt: skip
    """Has a kernel compute all columns."""
    if scalar_of(plant) is not float:
        raise RuntimeError(f"{name}(): plant '{plant.GetSystemPathname()}' must be a plant of floats.")
    plant.ValidateContext(context)
    if kernel is not pose_columns:
        plant._tree.refuse_armature(name)
    w, count = plant._views.workspace(context), columns[0].shape[1]
    model = (w.topology, w.parameters, *((w.gravity,) if has_gravity else ()), *more)
    lanes = 0 if w.topology["code"].any() else num_lanes()
    workers = max(1, min(num_workers(parallelize, name), count // _WORTH_A_THREAD))

    def run(part: range) -> None:
        alone = _caller(kernel, model, columns, out, w, 1)
        together = _caller(kernel, model, columns, out, w, lanes) if lanes > 1 else None
        column = part.start
        while column < part.stop:
            if together is None:
                column = alone(column, part.stop)
            else:
                column = together(column, part.stop)
                column = alone(column, min(part.stop, column + lanes))

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, (range(count * i // workers, count * (i + 1) // workers) for i in range(workers))))


def _caller(
    kernel: Any, model: tuple[Any, ...], columns: list[Array], out: Array, w: Any, width: int
) -> Callable[[int, int], int]:
    room = _make_room(w, width)
    if width > 1:
        model = tuple(map(in_all_lanes, model))
    call = specialize(kernel, *model, 0, 0, *columns, room, out)

    def run(first: int, end: int) -> int:
        reached: int = call(*model, first, end, *columns, room, out)
        return reached

    return run


def _make_room(w: Any, width: int) -> Room:
    """Work arrays for so many columns at a time."""
    num_q, num_v, n = len(w.q), len(w.v), len(w.topology)
    numbers = np.zeros((num_q + 3 * num_v + num_v * num_v, width))
    number = np.dtype(float) if width == 1 else in_lanes(np.dtype(float))

    def records(dtype: np.dtype[Any]) -> Array:
        return np.zeros(n, dtype if width == 1 else in_lanes(dtype))

    ends = np.cumsum([num_q, num_v, num_v, num_v])
    parts = np.split(numbers.reshape(-1).view(number).reshape(-1), ends)
    position = records(layout.position_dtype())
    poses = position.view(np.float64).reshape(n, -1, width)
    q, v, a, tau, M = parts
    return Room(
        numbers, q, v, a, tau, M.reshape(num_v, num_v), np.zeros((n, 6), number), position,
        records(layout.velocity_dtype()), records(layout.scratch_dtype()), poses,
    )  # fmt: skip
