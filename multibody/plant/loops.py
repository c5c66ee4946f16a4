"""Loop joints of a continuous plant: adding them, closing them, and the dynamics with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, EventStatus
from merganser.multibody import kernels
from merganser.multibody.dynamics.records import Multipliers
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.dynamics import PlantDynamics
from merganser.multibody.plant.step.sample import contacts_of_step
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Joint
from merganser.multibody.tree.constraints import DEFAULT_STABILIZATION_TIME
from merganser.multibody.tree.forest import directions

Array = NDArray[Any]
_OPEN = 1e-4  # errors and rates with which no simulation starts
_LARGEST_STEP = 0.5  # of one coordinate in one iteration [rad or m]
_RANK_TOLERANCE = 3e-5  # of singular values; the square root of that of the kernels


class LoopJoints:
    """Loop joints; see LoopsFace for the equations.

    Of constraints that follow from others, as five of a revolute joint do in a planar linkage but two, a sufficient set
    is used.

    Args:
        model, views, kinematics, settings, dynamics: of the plant.
    """

    def __init__(
        self,
        model: PlantModel,
        views: StateViews,
        kinematics: PlantKinematics,
        settings: ContactSettings,
        dynamics: PlantDynamics,
    ) -> None:
        self._model, self._tree, self._views, self._kinematics = model, model.tree, views, kinematics
        self._settings, self._dynamics = settings, dynamics

    def add(self, joint: Joint, stabilization_time: float | None = DEFAULT_STABILIZATION_TIME) -> Joint:
        """Adds a joint that closes a loop; see MultibodyTree.AddLoopJoint for arguments and errors.

        Raises:
            RuntimeError: also if the plant is discrete and uses the TAMSI solver.
        """
        self._settings.check_can_constrain("AddLoopJoint", "loop joints")
        return self._tree.AddLoopJoint(joint, stabilization_time)

    def declare(self) -> None:
        """Declares the check before a simulation."""
        if len(self._tree.loop_rows):
            self._model.system.DeclareInitializationPublishEvent(self._check_closed)

    # ------------------------------------------------------------------ errors and forces

    def calc_errors(self, context: Context) -> NDArray[Any]:
        """Returns the errors g of the constraints, zero where loops are closed [m, or sine of an angle].

        Row after row of the loop joints in the order of their indices: displacements of M in F that the joint does
        not allow, then cosines of angles that should be right.

        Returns:
            g, shape [num_rows].
        """
        w = self._kinematics.eval_position(context)
        loops = self._calc_loop_rows(w, w.position)
        return np.array(loops.values["error"])

    def calc_jacobian(self, context: Context) -> NDArray[Any]:
        """Returns K, with which gdot = K v, shape [num_rows, num_velocities]."""
        w = self._kinematics.eval_position(context)
        return self._calc_loop_rows(w, w.position).K.copy()

    def calc_spatial_force(self, context: Context, joint: Joint) -> SpatialForce:
        """Returns the spatial force F_Mo_W of a loop joint on its child body, at the origin of its frame on the child.

        On the parent acts the opposite, at the same place. It follows from the current forces; in a discrete
        plant from those of the step that would come next.

        Raises:
            RuntimeError: the joint is not a loop joint of this plant.
        """
        number = self.number_of("CalcLoopJointSpatialForce", joint)
        w = self._views.workspace(context)
        self._dynamics.advance(context, np.empty_like(w.x))
        if self._model.is_discrete:
            buffers, rows = w.step_buffers, self._dynamics.constraints.make_rows(context)
            contacts, _ = contacts_of_step(buffers, w, buffers.out, buffers.F_applied)
            forces = np.zeros((len(rows), 6)) if contacts is None else np.asarray(contacts.row_forces)
        else:
            rows, values = w.step_buffers.work.multipliers.rows, w.step_buffers.work.multipliers.values
            forces = values["multiplier"][:, np.newaxis] * values["F_W"]
        return SpatialForce(forces[rows["joint"] == number].sum(axis=0))

    def number_of(self, caller: str, joint: Joint) -> int:
        """The number of a loop joint; RuntimeError if this plant has no such loop joint."""
        if joint not in list(self._tree.loop_joints):
            raise RuntimeError(f"{caller}(): {joint!r} is not a loop joint of plant '{self._model.path()}'.")
        return int(joint.index())

    def _loops(self, w: Workspace) -> Multipliers:
        if w.loops is None:
            w.loops = w.make_multipliers(self._tree.loop_rows)
        loops: Multipliers = w.loops
        return loops

    def _calc_loop_rows(self, w: Workspace, position: Array) -> Multipliers:
        loops = self._loops(w)
        w.call(kernels.constraint_rows, w.topology, loops.rows, w.q, position, loops.values, loops.K, loops.order[0])
        return loops

    # ------------------------------------------------------------------ closing

    def close(
        self, context: Context, fixed_joints: Iterable[Joint] = (), tolerance: float = 1e-5, max_iterations: int = 100
    ) -> None:
        """Changes positions and velocities so that loops are closed and stay so.

        Positions change until g = 0, by Newton's method with the smallest change of coordinates in each iteration;
        then velocities by the smallest change that makes K v = 0. Which of several ways to close a loop is found
        depends on where the iteration starts.

        Args:
            context: of this plant, of floats.
            fixed_joints: joints whose coordinates stay; locked joints stay, too.
            tolerance: largest error that counts as closed [m, or sine of an angle]. Iterations go on as long as they
                make errors smaller, so that it matters for loops that cannot close exactly.
            max_iterations: of Newton's method.

        Raises:
            RuntimeError: the loops cannot be closed from here; positions and velocities are as before.
        """
        w = self._views.workspace(context)
        if not w.is_float:
            raise RuntimeError(f"CloseLoops() takes a context of floats, not of {w.dtype}.")
        free = np.ones(len(w.v), bool)
        for joint in fixed_joints:
            self._tree._check_mine("CloseLoops", "fixed_joints", joint)
            free[joint.velocity_start() : joint.velocity_start() + joint.num_velocities()] = False
        for node, locked in zip(w.topology, w.parameters["is_locked"]):
            if locked:
                free[node["v_start"] : node["v_start"] + node["num_v"]] = False
        q, position = w.q.copy(), np.zeros_like(w.position)
        loops = self._close_positions(w, q, position, free, max_iterations)
        self._check_errors(context, loops.values["error"], position, tolerance)
        v = w.v.copy()
        kept = loops.order[0].astype(bool)
        v[free] -= _smallest_solution(loops.K[kept][:, free], loops.K[kept] @ v)
        rates = loops.K[kept] @ v
        if not (np.abs(rates) <= tolerance * max(1.0, float(np.abs(w.v).max(initial=0.0)))).all():
            raise RuntimeError(
                f"CloseLoops(): the velocities of the fixed joints open the loops of plant "
                f"'{self._model.path()}' at rates up to {np.abs(rates).max()}, whatever those of the other "
                "joints are. Fix fewer joints."
            )
        self._views.mutable_q(context)[:] = q
        self._views.mutable_v(context)[:] = v

    def _close_positions(
        self, w: Workspace, q: Array, position: Array, free: Array, max_iterations: int
    ) -> Multipliers:
        """Newton's method on q, in place, from w.q; `position` are its kinematics afterwards."""
        best_q, best = q.copy(), np.inf
        v, qdot = np.zeros_like(w.v), np.zeros_like(q)
        since_best = 0
        for _ in range(max_iterations):
            loops = self._interpret_loop_rows(w, q, position)
            kept = loops.order[0].astype(bool)
            error = float(np.abs(loops.values["error"][kept]).max(initial=0.0))
            since_best = 0 if error < best else since_best + 1
            if error < best:
                best_q, best = q.copy(), error
            if error == 0.0 or not np.isfinite(error) or since_best > (2 if best < 1e-9 else 20):
                break
            v[:] = 0.0
            v[free] = -_smallest_solution(loops.K[kept][:, free], loops.values["error"][kept])
            v *= min(1.0, _LARGEST_STEP / max(float(np.abs(v).max(initial=0.0)), _LARGEST_STEP))
            kernels.velocity_to_qdot.interpreted(w.topology, q, v, qdot)
            q += qdot
            for start in self._model.quaternions:
                q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        q[:] = best_q
        return self._interpret_loop_rows(w, q, position)

    def _interpret_loop_rows(self, w: Workspace, q: Array, position_out: Array) -> Multipliers:
        """The constraints at positions q, by interpreted kernels: for a few calls that is quicker than compiling."""
        loops = self._loops(w)
        kernels.position_kinematics.interpreted(w.topology, w.parameters, q, position_out)
        given = w.topology, loops.rows, q, position_out
        kernels.constraint_rows.interpreted(*given, loops.values, loops.K, loops.order[0])
        return loops

    # ------------------------------------------------------------------ checks

    def _check_closed(self, context: Context, event: Any = None) -> EventStatus:
        """Refuses to start a simulation with open loops; for floats only."""
        w = self._views.workspace(context)
        if not w.is_float:
            return EventStatus.DidNothing()
        position = np.zeros_like(w.position)
        loops = self._interpret_loop_rows(w, w.q, position)
        self._check_errors(context, loops.values["error"], position, _OPEN)
        rates = loops.K @ w.v
        worst = int(np.argmax(np.abs(rates)))
        if not abs(rates[worst]) <= _OPEN:
            joint = self._tree.get_loop_joint(loops.rows["joint"][worst])
            raise RuntimeError(
                f"The velocities of plant '{self._model.path()}' open its loop joint '{joint.name()}' at a rate "
                f"of {rates[worst]}. Call plant.CloseLoops(context) after setting them."
            )
        return EventStatus.Succeeded()

    def _check_errors(self, context: Context, errors: Array, position: Array, tolerance: float) -> None:
        rows = self._tree.loop_rows
        for number, joint in enumerate(self._tree.loop_joints):
            error = np.abs(errors[rows["joint"] == number]).max(initial=0.0)
            place = f"Loop joint '{joint.name()}' of plant '{self._model.path()}'"
            between = f"bodies '{joint.parent_body().name()}' and '{joint.child_body().name()}'"
            if not error <= tolerance:
                raise RuntimeError(
                    f"{place} is open: its frames on {between} miss each other by up to {error} (m, or sine of an "
                    f"angle), allowed are {tolerance}. Set positions nearer to a closed pose and call "
                    "plant.CloseLoops(context); if that cannot close it, the loop does not fit."
                )
            R_WP = position["R_WB"][joint.parent_body()._mobod]
            R_WC = position["R_WB"][joint.child_body()._mobod]
            if any((R_WP @ a_P).dot(R_WC @ a_C) < 0.0 for a_P, a_C in directions(joint)):
                raise RuntimeError(
                    f"{place} is closed the wrong way round: axes on {between} point in opposite directions. Set "
                    "positions nearer to the pose that you want, and call plant.CloseLoops(context)."
                )


def _smallest_solution(K: Array, b: Array) -> Array:
    """The smallest x with K x = b, or else nearest to it; combinations of rows that hardly matter are left out."""
    if not K.size:
        return np.zeros(K.shape[1])
    # Rows of one length, so that metres and radians count alike.
    lengths = np.linalg.norm(K, axis=1)
    lengths[lengths == 0.0] = 1.0
    solution: Array = np.linalg.lstsq(K / lengths[:, np.newaxis], b / lengths, rcond=_RANK_TOLERANCE)[0]
    return solution
