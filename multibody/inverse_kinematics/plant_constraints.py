"""Constraints on every posture of a plant: limits, unit quaternions, locked joints, and constraints between bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import Binding, Constraint, MathematicalProgram
from merganser.multibody.dynamics.records import Multipliers
from merganser.multibody.inverse_kinematics.posture_constraints import UnitQuaternionConstraint
from merganser.multibody.inverse_kinematics.posture_functions import PostureFunction
from merganser.multibody.kernels import constraint_rows
from merganser.multibody.plant import MultibodyPlant

Array = NDArray[Any]

_NUM_POSTURES = 3  # at which it is asked which rows can change, beside the first one


def AddUnitQuaternionConstraintOnPlant(
    plant: MultibodyPlant, q_vars: NDArray[Any], prog: MathematicalProgram
) -> list[Binding]:
    """Keeps the quaternions of joints among the positions at length 1, each number in [-1, 1].

    Where the program has no guess of a quaternion, it gets [1, 0, 0, 0].

    Args:
        plant: a finalized plant.
        q_vars: variables for its positions, shape [num_positions].
        prog: to which constraints are added.

    Returns:
        The constraints on their lengths; bounds of their elements are added, too.
    """
    bindings = []
    for start in plant._model.quaternions:
        quaternion = q_vars[start : start + 4]
        prog.AddBoundingBoxConstraint(-1.0, 1.0, quaternion)
        bindings.append(prog.AddConstraint(UnitQuaternionConstraint(), quaternion))
        if np.isnan(prog.GetInitialGuess(quaternion)).any():
            prog.SetInitialGuess(quaternion, [1.0, 0.0, 0.0, 0.0])
    return bindings


def fix_locked_joints(
    plant: MultibodyPlant, q: NDArray[Any], prog: MathematicalProgram, plant_context: Context
) -> list[Binding]:
    """Fixes joints that are locked in a Context at their positions there."""
    values, bindings = plant.GetPositions(plant_context), []
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if joint.num_positions() and joint.is_locked(plant_context):
            part = slice(joint.position_start(), joint.position_start() + joint.num_positions())
            bindings.append(prog.AddBoundingBoxConstraint(values[part], values[part], q[part]))
    return bindings


class PlantRowsConstraint(PostureFunction, Constraint):
    """g(q) = 0 for all rows of the constraints of a plant that are switched on, and of its loop joints.

    With gdot = K v = K N+(q) qdot, dg/dq = K N+. Rows: kernels/constraints/. Those that no velocity can change, such as
    motions out of the plane of a planar linkage, are left out; at a dead centre alone a row is not one of them.

    Args:
        plant: a finalized plant.
        plant_context: of the plant; it is moved.
    """

    def __init__(self, plant: MultibodyPlant, plant_context: Context) -> None:
        self._take(plant, plant_context)
        plant, plant_context = self._plant, self._context
        w = plant._kinematics.eval_position(plant_context)
        self._rows = w.make_multipliers(plant._constraints.make_rows(plant_context))
        self._chosen = self._changeable_rows() if len(self._rows.rows) else np.zeros(0, np.int64)
        nothing = np.zeros(len(self._chosen))
        Constraint.__init__(self, plant.num_positions(), nothing, nothing, "constraints of the plant")

    def _changeable_rows(self) -> Array:
        """The rows that some velocity can change, here or in another posture."""
        plant, context, rng = self._plant, self._context, np.random.default_rng(0)
        here = plant.GetPositions(context)
        can_change = self._update().order[0] != 0
        try:
            for _ in range(_NUM_POSTURES):
                q = here + rng.uniform(-1.0, 1.0, here.size)
                for start in plant._model.quaternions:
                    q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
                plant.SetPositions(context, q)
                can_change |= self._update().order[0] != 0
        finally:
            plant.SetPositions(context, here)
        return np.flatnonzero(can_change)

    def _update(self) -> Multipliers:
        """Evaluates the rows in the Context."""
        w, arrays = self._plant._kinematics.eval_position(self._context), self._rows
        w.call(constraint_rows, w.topology, arrays.rows, w.q, w.position, arrays.values, arrays.K, arrays.order[0])
        return arrays

    def _at(self, x: Array) -> tuple[Array, Array]:
        arrays = self._update()
        to_v = self._plant.MakeQDotToVelocityMap(self._context).toarray()
        return np.array(arrays.values["error"][self._chosen]), arrays.K[self._chosen] @ to_v


def AddMultibodyPlantConstraints(
    plant: MultibodyPlant, q: NDArray[Any], prog: MathematicalProgram, plant_context: Context | None = None
) -> list[Binding]:
    """Adds all that a plant keeps to by itself: joint limits, unit quaternions, locked joints, and its constraints.

    Couplers, distances (as rigid rods), balls, welds, loop joints and constraints of kinds that a program brings are
    kept exactly, by one constraint with all their rows.

    Args:
        plant: a finalized plant.
        q: variables for its positions, shape [num_positions].
        prog: to which constraints are added.
        plant_context: of the plant; it is moved as the program is solved. By default, a new one.

    Returns:
        The constraints that have been added.

    Raises:
        ValueError: q has another size.
    """
    if len(q) != plant.num_positions():
        raise ValueError(
            f"AddMultibodyPlantConstraints(): plant '{plant.get_name()}' has {plant.num_positions()} positions; q has "
            f"{len(q)} variables."
        )
    bindings = [prog.AddBoundingBoxConstraint(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits(), q)]
    bindings += AddUnitQuaternionConstraintOnPlant(plant, q, prog)
    if plant_context is not None:
        bindings += fix_locked_joints(plant, q, prog, plant_context)
    context = plant.CreateDefaultContext() if plant_context is None else plant_context
    rows = PlantRowsConstraint(plant, context)
    if rows.num_constraints():
        bindings.append(prog.AddConstraint(rows, q))
    return bindings
