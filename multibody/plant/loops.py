"""Loop joints of a continuous plant: adding them, closing them, and the dynamics with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import EventStatus
from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.contact import PlantContact
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.plant.loop_arrays import LoopArrays
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import FixedOffsetFrame, Frame, Joint
from merganser.multibody.tree.lookup import TreeLookup
from merganser.multibody.tree.loops import DEFAULT_STABILIZATION_TIME, directions, make_constraint_rows

__all__ = ["PlantLoops"]

Array = NDArray[Any]
_OPEN = 1e-4  # errors and rates with which no simulation starts
_LARGEST_STEP = 0.5  # of one coordinate in one iteration [rad or m]
_RANK_TOLERANCE = 3e-5  # of singular values; the square root of that of the kernels


class PlantLoops(PlantContact):
    """Loop joints. This part of the class is not Drake's, which has no loops of joints.

        M vdot + C v = tau + K^T mu,   K vdot = -k - 2/T gdot - 1/T^2 g

    with the errors g of the constraints, gdot = K v and gddot = K vdot + k, see kernels/loops.py. Of constraints that
    follow from others, as five of a revolute joint do in a planar linkage but two, a sufficient set is used.
    """

    _has_loops: bool

    def AddLoopJoint(self, joint: Joint, stabilization_time: float | None = DEFAULT_STABILIZATION_TIME) -> Joint:
        """Adds a joint that closes a loop; see MultibodyTree.AddLoopJoint for arguments and errors.

        Raises:
            RuntimeError: the plant is discrete.
        """
        if self._time_step > 0.0:
            raise RuntimeError(
                f"AddLoopJoint(): plant '{self.GetSystemPathname()}' is discrete, but loop joints need a continuous "
                "plant: MultibodyPlant(time_step=0.0). In a discrete plant, close the loop by a constraint or a "
                "bushing."
            )
        return self._tree.AddLoopJoint(joint, stabilization_time)

    GetLoopJointByName = from_tree(TreeLookup.GetLoopJointByName)
    HasLoopJointNamed = from_tree(TreeLookup.HasLoopJointNamed)
    get_loop_joint = from_tree(TreeLookup.get_loop_joint)
    num_loop_joints = from_tree(TreeLookup.num_loop_joints)

    def _declare_loops(self) -> None:
        self._declare_constraints()
        has_rows = bool(len(self._tree.loop_rows))
        self._has_loops = has_rows or (self._has_constraints and self._time_step == 0.0)
        if has_rows:
            self.DeclareInitializationPublishEvent(self._check_closed)

    # ------------------------------------------------------------------ errors and forces

    def CalcLoopJointErrors(self, context: Any) -> Array:
        """Returns the errors g of the constraints, zero where loops are closed [m, or sine of an angle].

        Row after row of the loop joints in the order of their indices: displacements of M in F that the joint does
        not allow, then cosines of angles that should be right.

        Returns:
            g, shape [num_rows].
        """
        w = self._eval_position(context)
        loops = self._calc_loop_rows(w, w.position)
        return np.array(loops.constraints["error"])

    def CalcLoopJointJacobian(self, context: Any) -> Array:
        """Returns K, with which gdot = K v, shape [num_rows, num_velocities]."""
        w = self._eval_position(context)
        return self._calc_loop_rows(w, w.position).K.copy()

    def CalcLoopJointSpatialForce(self, context: Any, joint: Joint) -> SpatialForce:
        """Returns the spatial force F_Mo_W of a loop joint on its child body, at the origin of its frame on the child.

        On the parent acts the opposite, at the same place. It follows from the forces at the moment.

        Raises:
            RuntimeError: the joint is no loop joint of this plant.
        """
        number = self._loop_number("CalcLoopJointSpatialForce", joint)
        w = self._advance(context, np.empty_like(self._workspace(context).x))
        constraints = w.held.constraints[w.held.rows["joint"] == number]
        return SpatialForce((constraints["multiplier"][:, np.newaxis] * constraints["F_Mo_W"]).sum(axis=0))

    def _loop_number(self, caller: str, joint: Joint) -> int:
        if joint not in list(self._tree.loop_joints):
            raise RuntimeError(f"{caller}(): {joint!r} is no loop joint of plant '{self.GetSystemPathname()}'.")
        return int(joint.index())

    def _loops(self, w: Workspace) -> LoopArrays:
        if w.loops is None:
            w.loops = LoopArrays(w, self._tree.loop_rows)
        loops: LoopArrays = w.loops
        return loops

    def _calc_loop_rows(self, w: Workspace, position: Array) -> LoopArrays:
        loops = self._loops(w)
        w.call(kernels.loop_rows, w.topology, loops.rows, w.q, position, loops.constraints, loops.K, loops.kept)
        return loops

    def _held(self, context: Any, w: Workspace) -> LoopArrays:
        """The loop joints, and the constraints that are active in the Context, made anew when they change there."""
        known = (
            self._read_parameter(context, self._constraint_status_parameter),
            self._read_parameter(context, self._distance_params_parameter),
        ) if self._has_constraints else ()  # fmt: skip
        if w.held is None or any(a is not b for a, b in zip(known, w.held_parameters)):
            rows = make_constraint_rows(self._active_constraints(context), self._tree)
            w.held = LoopArrays(w, np.concatenate([self._tree.loop_rows, rows]))
            w.held_parameters = known
        held: LoopArrays = w.held
        return held

    def _calc_loop_derivatives(self, context: Any, w: Workspace, model: tuple[Any, ...], result: Array) -> int:
        """Computes the derivatives of the state, as kernels.state_derivatives does without loops and constraints."""
        loops = self._held(context, w)
        status: int = w.call(
            kernels.loop_state_derivatives, *model, loops.rows, w.x, w.tau, w.F_applied, w.position, w.velocity,
            w.scratch, *loops.work, loops.constraints, loops.K, loops.F, result,
        )  # fmt: skip
        return status

    def _set_frame_pose(self, context: Any, frame: FixedOffsetFrame, X_PF: RigidTransform) -> None:
        """Sets the pose of a frame in a Context, but not if a loop joint is at it: those are where the model says."""
        for joint in self._tree.loop_joints:
            for end in (joint.frame_on_parent(), joint.frame_on_child()):
                if any(f is frame for f in _with_ancestors(end)):
                    raise RuntimeError(
                        f"SetPoseInParentFrame(): loop joint '{joint.name()}' of plant '{self.GetSystemPathname()}' is "
                        f"fixed to frame '{frame.name()}', so its pose cannot change in a context. Build the plant "
                        "with the pose that you want."
                    )
        super()._set_frame_pose(context, frame, X_PF)

    # ------------------------------------------------------------------ closing

    def CloseLoops(
        self, context: Any, fixed_joints: Iterable[Joint] = (), tolerance: float = 1e-5, max_iterations: int = 100
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
        w = self._workspace(context)
        if not w.is_float:
            raise RuntimeError(f"CloseLoops() takes a context of floats, not of {w.dtype}.")
        free = self._free_velocities(w, fixed_joints)
        q, position = w.q.copy(), np.zeros_like(w.position)
        loops = self._close_positions(w, q, position, free, max_iterations)
        self._check_errors(context, loops.constraints["error"], position, tolerance)
        v = w.v.copy()
        kept = loops.kept.astype(bool)
        v[free] -= _smallest_solution(loops.K[kept][:, free], loops.K[kept] @ v)
        rates = loops.K[kept] @ v
        if not (np.abs(rates) <= tolerance * max(1.0, float(np.abs(w.v).max(initial=0.0)))).all():
            raise RuntimeError(
                f"CloseLoops(): the velocities of the fixed joints open the loops of plant "
                f"'{self.GetSystemPathname()}' at rates up to {np.abs(rates).max()}, whatever those of the other "
                "joints are. Fix fewer joints."
            )
        self._mutable_q_view(context)[:] = q
        self._mutable_v_view(context)[:] = v

    def _free_velocities(self, w: Workspace, fixed_joints: Iterable[Joint]) -> Array:
        free = np.ones(len(w.v), bool)
        for joint in fixed_joints:
            self._tree._check_mine("CloseLoops", "fixed_joints", joint)
            free[joint.velocity_start() : joint.velocity_start() + joint.num_velocities()] = False
        for node, locked in zip(w.topology, w.parameters["is_locked"]):
            if locked:
                free[node["v_start"] : node["v_start"] + node["num_v"]] = False
        return free

    def _close_positions(self, w: Workspace, q: Array, position: Array, free: Array, max_iterations: int) -> LoopArrays:
        """Newton's method on q, in place, from w.q; `position` are its kinematics afterwards."""
        best_q, best = q.copy(), np.inf
        v, qdot = np.zeros_like(w.v), np.zeros_like(q)
        since_best = 0
        for _ in range(max_iterations):
            loops = self._interpret_loop_rows(w, q, position)
            kept = loops.kept.astype(bool)
            error = float(np.abs(loops.constraints["error"][kept]).max(initial=0.0))
            since_best = 0 if error < best else since_best + 1
            if error < best:
                best_q, best = q.copy(), error
            if error == 0.0 or not np.isfinite(error) or since_best > (2 if best < 1e-9 else 20):
                break
            v[:] = 0.0
            v[free] = -_smallest_solution(loops.K[kept][:, free], loops.constraints["error"][kept])
            v *= min(1.0, _LARGEST_STEP / max(float(np.abs(v).max(initial=0.0)), _LARGEST_STEP))
            kernels.velocity_to_qdot.interpreted(w.topology, q, v, qdot)
            q += qdot
            for start in self._quaternions:
                q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        q[:] = best_q
        return self._interpret_loop_rows(w, q, position)

    def _interpret_loop_rows(self, w: Workspace, q: Array, position_out: Array) -> LoopArrays:
        """The constraints at positions q, by interpreted kernels: for a few calls that is quicker than compiling."""
        loops = self._loops(w)
        kernels.position_kinematics.interpreted(w.topology, w.parameters, q, position_out)
        kernels.loop_rows.interpreted(w.topology, loops.rows, q, position_out, loops.constraints, loops.K, loops.kept)
        return loops

    # ------------------------------------------------------------------ checks

    def _check_closed(self, context: Any, event: Any = None) -> EventStatus:
        """Refuses to start a simulation with open loops; of floats, as others are for derivatives of these."""
        w = self._workspace(context)
        if not w.is_float:
            return EventStatus.DidNothing()
        position = np.zeros_like(w.position)
        loops = self._interpret_loop_rows(w, w.q, position)
        self._check_errors(context, loops.constraints["error"], position, _OPEN)
        rates = loops.K @ w.v
        worst = int(np.argmax(np.abs(rates)))
        if not abs(rates[worst]) <= _OPEN:
            joint = self._tree.get_loop_joint(loops.rows["joint"][worst])
            raise RuntimeError(
                f"The velocities of plant '{self.GetSystemPathname()}' open its loop joint '{joint.name()}' at a rate "
                f"of {rates[worst]}. Call plant.CloseLoops(context) after setting them."
            )
        return EventStatus.Succeeded()

    def _check_errors(self, context: Any, errors: Array, position: Array, tolerance: float) -> None:
        rows = self._tree.loop_rows
        for number, joint in enumerate(self._tree.loop_joints):
            error = np.abs(errors[rows["joint"] == number]).max(initial=0.0)
            place = f"Loop joint '{joint.name()}' of plant '{self.GetSystemPathname()}'"
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


def _with_ancestors(frame: Frame) -> Iterator[Frame]:
    """The frame and those that it is fixed to, one to the other."""
    yield frame
    while isinstance(frame, FixedOffsetFrame):
        frame = frame._frame_P
        yield frame


def _smallest_solution(K: Array, b: Array) -> Array:
    """The smallest x with K x = b, or else nearest to it; combinations of rows that hardly matter are left out."""
    if not K.size:
        return np.zeros(K.shape[1])
    # Rows of one length, so that metres and radians count alike.
    lengths = np.linalg.norm(K, axis=1)
    lengths[lengths == 0.0] = 1.0
    solution: Array = np.linalg.lstsq(K / lengths[:, np.newaxis], b / lengths, rcond=_RANK_TOLERANCE)[0]
    return solution
