"""DifferentialInverseKinematicsSystem: velocities of joints for motions of frames, by a recipe."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BusValue, Context, Diagram, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.values.arguments import checked_number, require_types
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import DiscreteTimeIntegrator, Selector, SelectorParams, WrapToSystem
from merganser.multibody.inverse_kinematics import differential_ingredients as ingredients
from merganser.multibody.inverse_kinematics.differential import pose_difference
from merganser.multibody.inverse_kinematics.differential_ingredients import Goal, Problem
from merganser.multibody.inverse_kinematics.inequality_least_squares import least_squares_within
from merganser.multibody.inverse_kinematics.joint_limits import DofMask
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.parsing import GetScopedFrameByName
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

Array = NDArray[np.float64]

_logger = logging.getLogger("merganser.multibody.inverse_kinematics")
_SMALL = 1e-7  # weight of |v|^2, relative to the costs, by which the shortest of many optima is found


class DifferentialInverseKinematicsSystem(LeafSystem):
    """Gives velocities of the active joints with which goal frames follow their desired motion.

    They minimize the sum of the costs of a recipe within its constraints (`differential_ingredients.py` has the
    equations); where nothing fulfils the constraints, they are zero, and a warning says so. It has no state; its output
    is meant to be taken every `time_step`.

    Inputs: `position` and `nominal_posture`, of the whole plant; and either `desired_cartesian_poses` or
    `desired_cartesian_velocities`, each a BusValue of RigidTransform or SpatialVelocity, relative to and expressed in
    the task frame, by scoped names of frames. Output: `commanded_velocity`, of the active degrees of freedom.

    Args:
        recipe: costs and constraints.
        task_frame: scoped name of the frame T.
        collision_checker: has a function plant(), and CalcRobotClearance(q, influence_distance) if the recipe has a
            CollisionConstraint; a RobotDiagram will do without one.
        active_dof: the degrees of freedom that are commanded.
        time_step: dt [s].
        K_VX: velocities towards poses are K_VX (X_TG_desired - X_TG) / dt.
        Vd_TG_limit: the magnitudes of the elements of these are at most those of this one.

    Raises:
        RuntimeError: there is no such frame, or velocities of the plant are not rates of its positions.
        ValueError: the mask has another size, or a number is out of range.
        TypeError: an argument is of another type.
    """

    Ingredient = ingredients.Ingredient
    Recipe = ingredients.Recipe
    LeastSquaresCost = ingredients.LeastSquaresCost
    JointCenteringCost = ingredients.JointCenteringCost
    CartesianPositionLimitConstraint = ingredients.CartesianPositionLimitConstraint
    CartesianVelocityLimitConstraint = ingredients.CartesianVelocityLimitConstraint
    CollisionConstraint = ingredients.CollisionConstraint
    JointVelocityLimitConstraint = ingredients.JointVelocityLimitConstraint

    def __init__(
        self,
        recipe: ingredients.Recipe,
        task_frame: str,
        collision_checker: Any,
        active_dof: DofMask,
        time_step: float,
        K_VX: float,
        Vd_TG_limit: SpatialVelocity,
    ) -> None:
        super().__init__()
        where = "DifferentialInverseKinematicsSystem"
        require_types(
            where,
            recipe=(recipe, ingredients.Recipe),
            task_frame=(task_frame, str),
            active_dof=(active_dof, DofMask),
            Vd_TG_limit=(Vd_TG_limit, SpatialVelocity),
        )
        if not hasattr(collision_checker, "plant"):
            raise TypeError(
                f"{where}: collision_checker must have a function plant(), as a RobotDiagram has; given "
                f"{collision_checker!r}."
            )
        plant: MultibodyPlant = collision_checker.plant()
        self._scratch = ScratchPlant(self, plant, None)
        if not plant.IsVelocityEqualToQDot():
            path = plant.GetSystemPathname()
            raise RuntimeError(f"{where}: velocities of plant '{path}' must be rates of positions.")
        n = plant.num_positions()
        if active_dof.size() != n:
            raise ValueError(f"{where}: the plant has {n} positions, active_dof is for {active_dof.size()}.")
        self._recipe, self._collision_checker, self._active_dof = recipe, collision_checker, active_dof
        self._active = np.array(active_dof.GetSelectedToFullIndex(), int)
        self._frame_T = GetScopedFrameByName(plant, task_frame)
        self._time_step = checked_number(time_step, f"{where}: time_step")
        self._K_VX = checked_number(K_VX, f"{where}: K_VX")
        self._Vd_TG_limit = Vd_TG_limit
        if not (0.0 < self._time_step < np.inf and 0.0 < self._K_VX < np.inf):
            raise ValueError(f"{where}: time_step and K_VX must be positive, got {time_step} s and {K_VX}.")
        if not (np.asarray(Vd_TG_limit.get_coeffs()) >= 0.0).all():
            raise ValueError(f"{where}: Vd_TG_limit must not be negative, got {Vd_TG_limit.get_coeffs().tolist()}.")
        self._q = self.DeclareVectorInputPort("position", n)
        self._nominal = self.DeclareVectorInputPort("nominal_posture", n)
        self._poses = self.DeclareAbstractInputPort("desired_cartesian_poses", Value(BusValue()))
        self._velocities = self.DeclareAbstractInputPort("desired_cartesian_velocities", Value(BusValue()))
        inputs = {self.all_input_ports_ticket()}
        self.DeclareVectorOutputPort("commanded_velocity", active_dof.count(), self._calc_velocity, inputs)

    def recipe(self) -> ingredients.Recipe:
        """Returns the costs and constraints."""
        return self._recipe

    def task_frame(self) -> Frame:
        """Returns the frame T."""
        return self._frame_T

    def plant(self) -> MultibodyPlant:
        """Returns the plant."""
        return self._scratch.plant

    def collision_checker(self) -> Any:
        """Returns what knows the plant and distances."""
        return self._collision_checker

    def active_dof(self) -> DofMask:
        """Returns the degrees of freedom that are commanded."""
        return self._active_dof

    def time_step(self) -> float:
        """Returns dt [s]."""
        return self._time_step

    def K_VX(self) -> float:
        """Returns the gain from poses to velocities."""
        return self._K_VX

    def Vd_TG_limit(self) -> SpatialVelocity:
        """Returns the limit of velocities towards poses."""
        return self._Vd_TG_limit

    def get_input_port_position(self) -> InputPort:
        """Returns the port of the positions of the plant."""
        return self._q

    def get_input_port_nominal_posture(self) -> InputPort:
        """Returns the port of the posture that is wished for."""
        return self._nominal

    def get_input_port_desired_cartesian_poses(self) -> InputPort:
        """Returns the port of poses of frames in T."""
        return self._poses

    def get_input_port_desired_cartesian_velocities(self) -> InputPort:
        """Returns the port of velocities of frames in T."""
        return self._velocities

    def get_output_port_commanded_velocity(self) -> OutputPort:
        """Returns the port of the velocities of the active degrees of freedom."""
        return self.get_output_port(0)

    def _calc_velocity(self, context: Context, output: Any) -> None:
        q = np.asarray(self._q.Eval(context))
        if not np.isfinite(q).all():
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}', input port 'position': positions must be finite, got "
                f"{q.tolist()}. In a DifferentialInverseKinematicsController, set where they start with "
                "set_initial_position()."
            )
        nominal = np.asarray(self._nominal.Eval(context)) if self._nominal.HasValue(context) else q
        goals = self._goals(context, self._scratch.at_positions(context, q))
        problem = Problem(goals, q, nominal, self._active_dof, self._time_step, self._collision_checker)
        for index in range(self._recipe.num_ingredients()):
            self._recipe.ingredient(index).add_to(problem)
        v = self._solve(problem)
        if v is None:
            _logger.warning(
                "System '%s': no velocities fulfil the constraints at time %g s; they are zero.",
                self.GetSystemPathname(), context.get_time(),
            )  # fmt: skip
            v = np.zeros(len(self._active))
        output.SetFromVector(v)

    def _goals(self, context: Context, plant_context: Context) -> list[Goal]:
        """The goal frames and their desired velocities."""
        ports = [port for port in (self._poses, self._velocities) if port.HasValue(context)]
        bus: Any = ports[0].Eval(context) if len(ports) == 1 else ()
        if len(bus) == 0:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' needs frames to move on exactly one of its input ports "
                f"'desired_cartesian_poses' and 'desired_cartesian_velocities'; {len(ports)} are connected."
            )
        kind = RigidTransform if ports[0] is self._poses else SpatialVelocity
        plant, T, found = self.plant(), self._frame_T, []
        for name in bus:
            wanted = bus.Find(name)
            if not isinstance(wanted, kind):
                raise TypeError(
                    f"System '{self.GetSystemPathname()}', input port '{ports[0].get_name()}': '{name}' must be a "
                    f"{kind.__name__}, got {type(wanted).__name__}."
                )
            G = GetScopedFrameByName(plant, name)
            X_TG = plant.CalcRelativeTransform(plant_context, T, G)
            J = plant.CalcJacobianSpatialVelocity(plant_context, JacobianWrtVariable.kQDot, G, np.zeros(3), T, T)
            found.append(Goal(name, X_TG.translation(), J[:, self._active], self._velocity(X_TG, wanted)))
        return found

    def _velocity(self, X_TG: RigidTransform, wanted: Any) -> Array:
        """Vd_TG."""
        if isinstance(wanted, SpatialVelocity):
            return np.asarray(wanted.get_coeffs())
        limit = np.asarray(self._Vd_TG_limit.get_coeffs())
        return np.clip(self._K_VX / self._time_step * pose_difference(X_TG, wanted), -limit, limit)

    def _solve(self, problem: Problem) -> Array | None:
        n = len(self._active)
        A = np.vstack([np.zeros((0, n)), *(cost[0] for cost in problem.costs)])
        b = np.concatenate([np.zeros(0), *(cost[1] for cost in problem.costs)])
        G = np.vstack([np.zeros((0, n)), *(row[0] for row in problem.rows)])
        h = np.concatenate([np.zeros(0), *(row[1] for row in problem.rows)])
        s = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(1)
        if len(A) < n or s.min(initial=np.inf) <= _SMALL * s.max():  # of many optima the shortest
            A, b = np.vstack([A, _SMALL * max(s.max(), 1.0) * np.eye(n)]), np.append(b, np.zeros(n))
        return least_squares_within(A, b, G, h)


class _PositionIntegrator(DiscreteTimeIntegrator):
    """An integrator whose initial positions are unknown until they are set."""

    def SetDefaultState(self, context: Context, state: Any) -> None:
        """Sets positions to NaN."""
        group = state.get_mutable_discrete_state().get_mutable_vector(0)
        group.SetFromVector(np.full(group.size(), np.nan))


class DifferentialInverseKinematicsController(Diagram):
    """A `DifferentialInverseKinematicsSystem` whose velocities are added up, q[n+1] = q[n] + dt v[n].

    Inputs: `estimated_state` [q; v] of the plant, of which the positions that are not active are taken;
    `desired_poses`; `nominal_posture`. Outputs: `commanded_position` and `commanded_velocity`, of the active degrees of
    freedom. Set where positions start with `set_initial_position`; until then they are not numbers.

    Args:
        differential_inverse_kinematics: the system; it may have no other controller.
        planar_rotation_dof_indices: which commanded positions are kept within +-pi.

    Raises:
        IndexError: there is no such position.
        TypeError: the system is of another type.
    """

    def __init__(
        self,
        differential_inverse_kinematics: DifferentialInverseKinematicsSystem,
        planar_rotation_dof_indices: Sequence[int],
    ) -> None:
        super().__init__()
        system, kind = differential_inverse_kinematics, DifferentialInverseKinematicsSystem
        require_types("DifferentialInverseKinematicsController", differential_inverse_kinematics=(system, kind))
        self._system, mask = system, system.active_dof()
        count = mask.count()
        builder = DiagramBuilder()
        builder.AddSystem(system)
        self._integrator = builder.AddSystem(_PositionIntegrator(count, system.time_step()))
        merging = _merging(mask.GetFullToSelectedIndex(), system.plant().num_multibody_states())
        merge = builder.AddSystem(Selector(merging))
        wrap = builder.AddSystem(WrapToSystem(count))
        for index in planar_rotation_dof_indices:
            wrap.set_interval(index, -math.pi, math.pi)
        builder.Connect(merge.get_output_port(), system.get_input_port_position())
        builder.Connect(system.get_output_port_commanded_velocity(), self._integrator.get_input_port())
        builder.Connect(self._integrator.get_output_port(), wrap.get_input_port())
        builder.Connect(self._integrator.get_output_port(), merge.get_input_port(0))
        builder.ExportInput(merge.get_input_port(1), "estimated_state")
        builder.ExportInput(system.get_input_port_desired_cartesian_poses(), "desired_poses")
        builder.ExportInput(system.get_input_port_nominal_posture(), "nominal_posture")
        builder.ExportOutput(wrap.get_output_port(), "commanded_position")
        builder.ExportOutput(system.get_output_port_commanded_velocity(), "commanded_velocity")
        builder.BuildInto(self)

    def set_initial_position(self, context: Context, value: ArrayLike) -> None:
        """Sets where positions start, shape [num_positions] of the plant; those that are not active do not count.

        Raises:
            ValueError: wrong size.
        """
        mine = self.GetMutableSubsystemContext(self._integrator, context)
        self._integrator.set_integral_value(mine, self._system.active_dof().GetFromArray(np.asarray(value, float)))

    def differential_inverse_kinematics(self) -> DifferentialInverseKinematicsSystem:
        """Returns the system."""
        return self._system

    def get_mutable_differential_inverse_kinematics(self) -> DifferentialInverseKinematicsSystem:
        """Returns the system."""
        return self._system


def _merging(places: Sequence[int | None], num_states: int) -> SelectorParams:
    """Active positions from the first input, the others from the second."""
    selections = [
        SelectorParams.OutputSelection(input_port_index=int(place is None), input_offset=i if place is None else place)
        for i, place in enumerate(places)
    ]
    count = sum(place is not None for place in places)
    return SelectorParams(
        inputs=[SelectorParams.InputPortParams(size=count), SelectorParams.InputPortParams(size=num_states)],
        outputs=[SelectorParams.OutputPortParams(selections=selections)],
    )
