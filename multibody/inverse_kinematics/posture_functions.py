"""Functions of the positions of a plant, as costs and constraints of programs have them.

A function takes x, which begins with q, shape [num_positions]. It gives values and derivatives by closed forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.core.inside import scalar_of
from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.evaluators import DIFFERENCE, ClosedFormEvaluator
from merganser.framework.optimization.solvers.damped_steps import call
from merganser.geometry import QueryObject
from merganser.multibody.inverse_kinematics.posture_rows import (
    NUM_GAPS,
    NUM_VALUES,
    TRACE,
    curve_postures,
    measure_dtype,
    measure_postures,
)
from merganser.multibody.kernels.layout import position_dtype
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, Frame

Array = NDArray[np.float64]


class PostureFunction(ClosedFormEvaluator):
    """A function of q, and possibly of further variables; sets a Context of the plant to each q."""

    _plant: MultibodyPlant
    _context: Context

    def _take(self, plant: MultibodyPlant, plant_context: Context, *frames: Frame) -> tuple[Frame, ...]:
        """Notes the plant and its Context, or copies of floats of those of AutoDiffXd; returns frames of that plant.

        Raises:
            TypeError: the plant or the Context is none, or of expressions.
            RuntimeError: a frame is of another plant.
        """
        name = type(self).__name__
        if not isinstance(plant, MultibodyPlant) or scalar_of(plant).__name__ == "Expression":
            raise TypeError(f"{name}: plant must be a MultibodyPlant of numbers, got {type(plant).__name__}.")
        if not isinstance(plant_context, Context):
            raise TypeError(f"{name}: plant_context must be a Context, got {type(plant_context).__name__}.")
        plant.ValidateContext(plant_context)
        for frame in frames:
            if frame.GetParentPlant() is not plant:
                raise RuntimeError(f"{name}: frame '{frame.name()}' is not of plant '{plant.get_name()}'.")
        if scalar_of(plant) is not float:
            plant, plant_context = _copies_of_floats(plant, plant_context)
        self._plant, self._context, self._num_positions = plant, plant_context, plant.num_positions()
        return tuple(plant.get_frame(frame.index()) for frame in frames)

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Values and derivatives where the Context is at q, shapes [num_outputs] and [num_outputs, num_vars]."""
        raise NotImplementedError

    def _move_to(self, x: Array) -> None:
        """Sets the Context to q unless it is there already, which keeps its caches."""
        q = x[: self._num_positions]
        if self._workspace().q.tobytes() != q.tobytes():
            self._plant.SetPositions(self._context, q)

    def _workspace(self) -> Any:
        """The arrays of the plant in the Context."""
        return self._plant._views.workspace(self._context)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        self._move_to(x)
        return self._at(x)

    def is_thread_safe(self) -> bool:
        """No: it moves its Context."""
        return False


class MeasuredPosture(PostureFunction):
    """A function of q made of measures of two frames, see posture_rows.py; by default their values themselves."""

    _measures: NDArray[Any]  # records
    _last: tuple[bytes, Array, Array] = b"", np.zeros((0, 0)), np.zeros((0, 0, 0))  # a posture and its measures
    _works: tuple[NDArray[Any], ...]  # of the kernels

    def _measure(self, kind: int, frame_A: Frame, frame_B: Frame, **given: Any) -> None:
        """Adds a measure of two frames of the plant.

        Args:
            kind: of posture_rows.py.
            frame_A, frame_B: Abar and Bbar.
            given: fields of the record; R_A and R_B for the rotations of A in Abar and of B in Bbar.
        """
        measure = np.zeros(1, measure_dtype)
        for end, frame in (("A", frame_A), ("B", frame_B)):
            measure[f"mobod_{end}"] = frame.body()._mobod
            measure[f"slot_{end}"] = frame._slot if isinstance(frame, FixedOffsetFrame) else -1
            measure[f"X_{end}"] = np.eye(3, 4)
            if f"R_{end}" in given:
                measure[f"X_{end}"][0, :, :3] = given.pop(f"R_{end}").matrix()
        measure["kind"] = kind
        for name, value in given.items():
            measure[name] = value
        self._set_measures([self._measures, measure] if "_measures" in vars(self) else [measure])

    def _set_measures(self, parts: list[NDArray[Any]]) -> None:
        # In 1 us; np.concatenate() takes 85 for records with many fields.
        measures = np.frombuffer(bytearray().join(map(bytes, parts)), measure_dtype)
        values, gaps = np.array(NUM_VALUES)[measures["kind"]], np.array(NUM_GAPS)[measures["kind"]]
        self._num_values = int(values.sum())
        measures["row"] = np.cumsum(values) - values
        measures["gap_row"] = self._num_values + np.cumsum(gaps) - gaps
        self._measures, self._num_rows = measures, self._num_values + int(gaps.sum())
        rows, n, num_v = self._num_rows, self._num_positions, self._plant.num_velocities()
        shapes: tuple[Any, ...] = (5, 3, 4), (rows, 6), (6 + rows, num_v), n, num_v
        position = np.zeros(len(self._workspace().topology), position_dtype())
        self._works = position, *[np.zeros(shape) for shape in shapes]
        traces = measures[measures["kind"] == TRACE]
        self._rows_of_traces: list[int] = traces["row"].tolist()
        self._limits_of_gaps = np.repeat(np.where(traces["constant"] > 0.0, np.inf, traces["limit"]), 3)

    def _measured(self, q: Array) -> tuple[Array, Array]:
        """Values and then gaps at N postures, and their derivatives, shapes [N, num_rows] and [N, num_rows, num_q]."""
        values = np.empty((len(q), self._num_rows))
        J = np.empty((len(q), self._num_rows, self._num_positions))
        call(measure_postures, *self._model(), np.ascontiguousarray(q), *self._works, values, J)
        return values, J

    def _model(self) -> tuple[Any, ...]:
        """What the kernels take of the plant and its Context, and the measures."""
        w = self._workspace()
        return w.topology, w.parameters, w.frames, self._measures

    def _curvature(self, x: Array, weights: Array) -> Array:
        if len(x) != 1 or not self._is_plain():
            return super()._curvature(x, weights[:, : self.num_outputs()])
        H = np.empty((1, x.shape[1], x.shape[1]))
        of_one = np.empty((1, self._num_rows)), np.empty((1, self._num_rows, self._num_positions))
        weights = np.ascontiguousarray(weights[0])
        call(curve_postures, *self._model(), weights, DIFFERENCE, x.copy(), *self._works, *of_one, H[0])
        return H

    def _at(self, x: Array) -> tuple[Array, Array]:
        values, J = self._measured(x[np.newaxis, : self._num_positions])
        self._last = x.tobytes(), values, J
        return values[0, : self._num_values], J[0, : self._num_values]

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        if not self._is_plain():
            return super()._stacked(x)
        values, J = self._measured(x)
        return values[:, : self._num_values], J[:, : self._num_values]

    def _has_curvature(self) -> bool:
        return True

    def _gapped_rows(self) -> list[int]:
        return self._rows_of_traces

    def _gaps(self, x: Array) -> tuple[Array, Array]:
        last, values, J = self._last
        if x.tobytes() != last:
            values, J = self._measured(x[np.newaxis])
        return values[0, self._num_values :], J[0, self._num_values :]

    def _gap_bounds(self) -> Array:
        return self._limits_of_gaps

    def _merge_key(self) -> Any:
        return (MeasuredPosture, id(self._plant), id(self._context)) if self._is_plain() else None

    def _is_plain(self) -> bool:
        """Whether this is the measures, as functions of q alone."""
        return type(self)._at is MeasuredPosture._at and self.num_vars() == self._num_positions

    def _merged(self, others: list[Any]) -> MergedPostures:
        return MergedPostures(self, others)


class MergedPostures(MeasuredPosture, Constraint):
    """Several constraints of measures of one plant at one q, as one."""

    def __init__(self, first: MeasuredPosture, all: list[Any]) -> None:
        self._plant, self._context, self._num_positions = first._plant, first._context, first._num_positions
        self._set_measures([each._measures for each in all])
        lower, upper = (np.concatenate([each._numbers()[k] for each in all]) for k in range(2))
        Constraint.__init__(self, self._num_positions, lower, upper)


def _copies_of_floats(plant: MultibodyPlant, context: Context) -> tuple[MultibodyPlant, Context]:
    """The plant as one of floats, in such a diagram if it is in one, and a Context of it with the same values."""
    top: Any = plant
    of_top, path = context, []
    while of_top.parent is not None:
        path.append(top.get_name())
        top, of_top = top._sys_parent, of_top.parent
    copied = top.ToScalarType[float]()
    root = copied.CreateDefaultContext()
    root.SetTimeStateAndParametersFrom(of_top)
    for name in reversed(path):
        copied = copied.GetSubsystemByName(name)
    return copied, copied.GetMyMutableContextFromRoot(root)


def finite_vector(what: str, given: Any, size: int = 3) -> Array:
    """A vector of finite numbers, shape [size].

    Raises:
        ValueError: its size or values are wrong; `what` names it.
    """
    vector = np.array(given, dtype=np.float64).ravel()
    if vector.size != size or not np.isfinite(vector).all():
        raise ValueError(f"{what} must be {size} finite numbers, got {given}.")
    return vector


def unit_vector(what: str, given: Any) -> Array:
    """A vector of three numbers, made one of length 1.

    Raises:
        ValueError: its length is 0.
    """
    vector = finite_vector(what, given)
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise ValueError(f"{what} must have a direction, got {given}.")
    return vector / length


def query_of(plant: MultibodyPlant, plant_context: Context, where: str) -> QueryObject:
    """Queries on the geometries of a plant.

    Args:
        plant: the plant.
        plant_context: of the plant, in that of the diagram with the SceneGraph.
        where: what asks, for messages.

    Raises:
        RuntimeError: the plant is not registered with a SceneGraph, or plant_context is not in that of a diagram.
    """
    if not plant.geometry_source_is_registered():
        raise RuntimeError(
            f"{where}: plant '{plant.GetSystemPathname()}' is not registered with a SceneGraph. Build it with "
            "AddMultibodyPlantSceneGraph()."
        )
    port = plant.get_geometry_query_input_port()
    if not port.HasValue(plant_context):
        raise RuntimeError(
            f"{where}: input port '{port.get_name()}' of plant '{plant.GetSystemPathname()}' has no value in "
            "plant_context. Take the Context of the plant from that of the diagram with the SceneGraph."
        )
    query: QueryObject = port.Eval(plant_context)
    return query
