"""DifferentialInverseKinematicsIntegrator: positions of joints that follow the pose of an end effector."""

from __future__ import annotations

import logging
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, DiscreteStateIndex, LeafSystem, Value
from merganser.framework.core.values.arguments import bind_overload, require_types
from merganser.framework.math import RigidTransform
from merganser.multibody.inverse_kinematics.differential import DoDifferentialInverseKinematics
from merganser.multibody.inverse_kinematics.differential_parameters import (
    DifferentialInverseKinematicsParameters,
    DifferentialInverseKinematicsStatus,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant
from merganser.multibody.tree import Frame

Array = NDArray[np.float64]

_logger = logging.getLogger("merganser.multibody.inverse_kinematics")
_FOUND = DifferentialInverseKinematicsStatus.kSolutionFound


class DifferentialInverseKinematicsIntegrator(LeafSystem):
    """Adds up the velocities of `DoDifferentialInverseKinematics`: q[n+1] = q[n] + dt N(q) v(q[n], X_AE).

    Inputs: `X_AE_desired`, the pose to follow; `robot_state` [q; v], from which positions start, if it is connected;
    and `use_robot_state`, a truth value: whether v is computed at the positions of `robot_state` at every step, and not
    at those that were commanded. (`X_WE_desired` is an older name of the first, where A is the world.) Output:
    `joint_positions`. Where no velocities keep to the limits, positions stay, and a warning says so.

    Args:
        robot: finalized; it is shared, not copied.
        frame_A: in which poses are given; by default the world.
        frame_E: the end effector.
        time_step: dt [s].
        parameters: limits and wishes; a copy is not made, but its time step is set.
        robot_context: other parameters of the robot than by default, copied.
        log_only_when_result_state_changes: whether there is a warning only when the status changes; for that the status
            is a second group of discrete state.

    Raises:
        ValueError: the frames are one, the time step is not positive, or the parameters are for another number of
            positions or velocities.
        RuntimeError: the robot is not finalized.
        TypeError: an argument is of another type.
    """

    @overload
    def __init__(
        self,
        robot: MultibodyPlant,
        frame_A: Frame,
        frame_E: Frame,
        time_step: float,
        parameters: DifferentialInverseKinematicsParameters,
        robot_context: Context | None = ...,
        log_only_when_result_state_changes: bool = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        robot: MultibodyPlant,
        frame_E: Frame,
        time_step: float,
        parameters: DifferentialInverseKinematicsParameters,
        robot_context: Context | None = ...,
        log_only_when_result_state_changes: bool = ...,
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        has_A = "frame_A" in kwargs or (len(args) > 2 and isinstance(args[2], Frame))
        names = ["robot", *(["frame_A"] if has_A else []), "frame_E", "time_step", "parameters", "robot_context",
                 "log_only_when_result_state_changes"]  # fmt: skip
        defaults = {"robot_context": None, "log_only_when_result_state_changes": True}
        given = bind_overload("DifferentialInverseKinematicsIntegrator", names, defaults, args, kwargs)
        robot: MultibodyPlant = given["robot"]
        kind = DifferentialInverseKinematicsParameters
        require_types("DifferentialInverseKinematicsIntegrator", parameters=(given["parameters"], kind))
        self._scratch = ScratchPlant(self, robot, given["robot_context"])
        self._frame_A: Frame = given.get("frame_A") or robot.world_frame()
        self._frame_E: Frame = given["frame_E"]
        self._parameters: DifferentialInverseKinematicsParameters = given["parameters"]
        self._check(robot)
        self._parameters.set_time_step(given["time_step"])
        self._X_AE_port = self.DeclareAbstractInputPort("X_AE_desired", Value(RigidTransform()))
        self._X_WE_port = self.DeclareAbstractInputPort("X_WE_desired", Value(RigidTransform()))
        self._state_port = self.DeclareVectorInputPort("robot_state", robot.num_multibody_states())
        self._use_port = self.DeclareAbstractInputPort("use_robot_state", Value(False))
        positions = self.DeclareDiscreteState(robot.num_positions())
        self._status: DiscreteStateIndex | None = None
        if given["log_only_when_result_state_changes"]:
            self._status = self.DeclareDiscreteState(1)
        self.DeclareStateOutputPort("joint_positions", positions)
        self.DeclareInitializationDiscreteUpdateEvent(self._initialize)
        self.DeclarePeriodicDiscreteUpdateEvent(self._parameters.get_time_step(), 0.0, self._integrate)
        self.DeclareForcedDiscreteUpdateEvent(self._integrate)

    def _check(self, robot: MultibodyPlant) -> None:
        where = "DifferentialInverseKinematicsIntegrator"
        require_types(where, frame_A=(self._frame_A, Frame), frame_E=(self._frame_E, Frame))
        if self._frame_A is self._frame_E:
            raise ValueError(f"{where}: frame_A and frame_E are both '{self._frame_E.name()}'; they must differ.")
        expected = robot.num_positions(), robot.num_velocities()
        found = self._parameters.get_num_positions(), self._parameters.get_num_velocities()
        if found != expected:
            raise ValueError(f"{where}: the robot has {expected} positions and velocities; parameters are for {found}.")

    def SetPositions(self, context: Context, positions: ArrayLike) -> None:
        """Sets the positions from which the next ones follow, shape [num_positions].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.get_mutable_discrete_state(0).SetFromVector(positions)

    def ForwardKinematics(self, context: Context) -> RigidTransform:
        """Returns X_AE at the positions in a Context."""
        self.ValidateContext(context)
        robot_context = self._scratch.at_positions(context, context.get_discrete_state(0).CopyToVector())
        return self._scratch.plant.CalcRelativeTransform(robot_context, self._frame_A, self._frame_E)

    def get_parameters(self) -> DifferentialInverseKinematicsParameters:
        """Returns the limits and wishes."""
        return self._parameters

    def get_mutable_parameters(self) -> DifferentialInverseKinematicsParameters:
        """Returns the limits and wishes, for changing them."""
        return self._parameters

    def _initialize(self, context: Context, discrete: Any) -> None:
        """Positions start at those of the robot."""
        if self._state_port.HasValue(context):
            discrete.set_value(0, self._measured(context))

    def _measured(self, context: Context) -> Array:
        return np.asarray(self._state_port.Eval(context)[: self._parameters.get_num_positions()])

    def _desired_pose(self, context: Context) -> RigidTransform:
        if self._X_AE_port.HasValue(context) or not self._X_WE_port.HasValue(context):
            return self._X_AE_port.Eval(context)
        if self._frame_A is not self._scratch.plant.world_frame():
            raise ValueError(
                f"System '{self.GetSystemPathname()}': poses are in frame '{self._frame_A.name()}', not in the world. "
                "Connect input port 'X_AE_desired' in place of 'X_WE_desired'."
            )
        return self._X_WE_port.Eval(context)

    def _integrate(self, context: Context, discrete: Any) -> None:
        X_AE_desired, robot = self._desired_pose(context), self._scratch.plant
        q = context.get_discrete_state(0).CopyToVector()
        if self._use_port.HasValue(context) and self._use_port.Eval(context):
            q = self._measured(context)
        at = self._scratch.at_positions(context, q)
        result = DoDifferentialInverseKinematics(
            robot, at, X_AE_desired, self._frame_A, self._frame_E, self._parameters
        )
        self._warn_of_change(context, result.status)
        if self._status is not None:
            discrete.set_value(self._status, [float(result.status.value)])
        if result.joint_velocities is not None:
            qdot = robot.MapVelocityToQDot(at, result.joint_velocities)
            q = q + self._parameters.get_time_step() * qdot
            for start in robot._model.quaternions:
                q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        discrete.set_value(0, q)

    def _warn_of_change(self, context: Context, status: DifferentialInverseKinematicsStatus) -> None:
        if self._status is None:
            is_news = status is not _FOUND
        else:
            is_news = status.value != int(context.get_discrete_state(self._status)[0])
        if is_news:
            _logger.warning(
                "System '%s': differential inverse kinematics returns %s at time %g s.",
                self.GetSystemPathname(), status.name, context.get_time(),
            )  # fmt: skip
