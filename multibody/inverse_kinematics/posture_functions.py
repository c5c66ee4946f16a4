"""Functions of the positions of a plant, as costs and constraints of programs have them.

A function takes x, which begins with q, shape [num_positions]. It gives values and derivatives by closed forms, from
the Jacobians of the plant's kernels:

    dp/dq = J_p(q),   dR/dq_i = [w_i]x R,   w_i column i of the Jacobian of the angular velocity for qdot     (1)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.core.inside import diagram_around, scalar_of
from merganser.framework.math import RotationMatrix
from merganser.framework.optimization.evaluators.closed_form import ClosedFormEvaluator
from merganser.geometry import QueryObject
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

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
        if (self._plant.GetPositions(self._context) != q).any():
            self._plant.SetPositions(self._context, q)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        self._move_to(x)
        return self._at(x)

    def is_thread_safe(self) -> bool:
        """No: it moves its Context."""
        return False

    # ------------------------------------------------------------------ kinematics

    def _point(self, frame_A: Frame, frame_B: Frame, p_BQ: Any) -> tuple[Array, Array]:
        """p_AQ [m] and its derivatives by q, shapes [3] and [3, num_positions]."""
        p_AQ = self._plant.CalcPointsPositions(self._context, frame_B, p_BQ, frame_A).ravel()
        return p_AQ, self._plant.CalcJacobianPositionVector(self._context, frame_B, p_BQ, frame_A, frame_A)

    def _rotation(self, frame_A: Frame, frame_B: Frame) -> tuple[Array, Array]:
        """R_AB and w_AB_A for each rate of q, shapes [3, 3] and [3, num_positions]: (1)."""
        R_AB = self._plant.CalcRelativeRotationMatrix(self._context, frame_A, frame_B).matrix()
        by_q = JacobianWrtVariable.kQDot
        return R_AB, self._plant.CalcJacobianAngularVelocity(self._context, by_q, frame_B, frame_A, frame_A)

    def _cosine_between(self, frame_A: Frame, a_A: Array, frame_B: Frame, b_B: Array) -> tuple[float, Array]:
        """a . b for unit vectors a of A and b of B, and its derivatives by q, shape [num_positions]."""
        R_AB, w = self._rotation(frame_A, frame_B)
        b_A = R_AB @ b_B
        return float(a_A @ b_A), np.cross(b_A, a_A) @ w

    def _trace(
        self, frame_Abar: Frame, R_AbarA: RotationMatrix, frame_Bbar: Frame, R_BbarB: RotationMatrix
    ) -> tuple[float, Array]:
        """trace(R_AB) = 1 + 2 cos(theta) and its derivatives by q, shape [num_positions]."""
        R, w = self._rotation(frame_Abar, frame_Bbar)
        M = R @ R_BbarB.matrix() @ R_AbarA.matrix().T
        # trace([w]x M) = -w . m with the axial vector m of M.
        m = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
        return float(np.trace(M)), -m @ w


def _copies_of_floats(plant: MultibodyPlant, context: Context) -> tuple[MultibodyPlant, Context]:
    """The plant as one of floats, in such a diagram if it is in one, and a Context of it with the same values."""
    top: Any = plant
    of_top, path = context, []
    while of_top.parent is not None:
        path.append(top.get_name())
        top, of_top = diagram_around(top), of_top.parent
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
