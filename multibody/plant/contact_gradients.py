"""Contact, joint limits, constraints and PD controllers of plants of AutoDiffXd.

A step is solved with the values of all numbers, as in a plant of floats; derivatives follow from the implicit function
theorem (contact/derivatives.py). Poses come with their derivatives through the wired ports, contact points with theirs
from geometry/proximity/manifold_derivatives.py. Forces of continuous plants are functions, and run over lanes as all
else does (scalar_workspaces.py).

    values of q, v, v*, poses --start_step, solver--> v+                          on floats
    lanes of the same --held_problem--> A, J, laws --held_impulses at v+--> dr     over lanes
    H dv+ = -dr
    v+ + i dv+ --held_impulses, held_results--> next state, forces                 over lanes

Properties of materials live in the SceneGraph and are floats there: there are no derivatives by them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.proximity.manifold_derivatives import contact_lanes_dtype, differentiate_manifolds
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.derivatives import (
    constraint_lanes_dtype,
    contact_pair_lanes_dtype,
    dense_hessian,
    dense_jacobian,
    drive_lanes_dtype,
    held_impulses,
    held_problem,
    held_results,
    row_lanes_dtype,
)
from merganser.multibody.contact.layout import CONTACT, LAGGED, TAMSI
from merganser.multibody.contact.penalty import limit_forces, penalty_forces
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.contact.plant_problem import find_limits
from merganser.multibody.contact.plant_step import start_step
from merganser.multibody.contact.regularization import LAW_SIZE
from merganser.multibody.contact.workspace import HESSIAN_SIZE, integer_workspace_size
from merganser.multibody.kernels import generalized_forces, layout
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.plant.contact_arrays import (
    NOTHING_TOUCHES,
    ContactModelArrays,
    ContactRoom,
    ContactSample,
    Touching,
    sample_of_contacts,
)
from merganser.multibody.plant.derivative_lanes import STEP, LaneRecords, split_lanes
from merganser.multibody.plant.float_model import FloatModel
from merganser.multibody.plant.gradient_code import may_use_compiled

__all__ = ["ContactGradients"]

Array = NDArray[Any]

_BALANCED = 1e-6  # residual of a velocity with which it has been solved by a law [N s]
_MOST_STEPS = 4  # of Newton's method beyond the solver's tolerance
_EXACT = 1e-13  # change of the velocities, relative, that is rounding


class _Values:
    """The values of an AutoDiffWorkspace, in the place of a workspace of floats.

    Attributes:
        q, v, x: state.
        position: kinematics at q.
        scratch: of kernels.
        parameters: records.
        drives: PD controllers with what they are to do; None without.
        settings: with which the solver was called last.
    """

    def __init__(self, model: FloatModel, w: Any) -> None:
        self.model, self.parameters = model, model.parameters
        self.x = w.lanes_of(w.x).lanes[0].real.copy()
        self.q, self.v = self.x[: len(w.q)], self.x[len(w.q) :]
        self.position = _values_of(w.lanes_of(w.position).lanes[0], layout.position_dtype())
        self.scratch = np.zeros(len(w.topology), layout.scratch_dtype(np.float64))
        self.drives: Any = None
        self.settings: Any = None

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel as Workspace.call() does."""
        if kernel not in (start_step, find_limits, make_contact_pairs):
            self.settings = arguments[0]
        return self.model.call(kernel, *arguments)


class _Drives(NamedTuple):
    """PD controllers as PlantContact takes them."""

    controllers: Any
    values: Array


class _Lanes(NamedTuple):
    """What held_problem() writes: records and numbers in lanes, see there."""

    is_locked: LaneRecords
    counts: LaneRecords
    matrix: LaneRecords
    free_matrix: LaneRecords
    constraints: LaneRecords
    rows: LaneRecords
    jacobian: LaneRecords
    free_jacobian: LaneRecords
    law: LaneRecords


class ContactGradients:
    """What holds a plant of AutoDiffXd together, in one Context.

    Args:
        plant: of AutoDiffXd.
        model: its arrays.
        w: workspace of the Context.

    Attributes:
        room: arrays of a step on floats.
        F_Bo_W: forces on the bodies in the last step but gravity and those of joints, shape [num_mobods, 6].
    """

    def __init__(self, plant: Any, model: ContactModelArrays, w: Any) -> None:
        self._plant, self._w = plant, w
        self.room = ContactRoom(model, len(w.topology), len(w.v))
        self.F_Bo_W: Array = w.zeros_F
        self._model: FloatModel | None = None

    # ------------------------------------------------------------------ the discrete step

    def hold(self, context: Any, result: Array) -> bool:
        """Makes of the next state without contact, limits and constraints the one with them.

        Args:
            context: of the plant.
            result: the former, and receives the latter.

        Returns:
            Whether there was anything to hold; if not, nothing has changed.

        Raises:
            RuntimeError: no solution was found, or something that touches has no derivatives.
        """
        plant, w, room = self._plant, self._w, self.room
        values = self._values()
        touching, pairs = self._find_contacts(context, values) if plant._may_touch else (NOTHING_TOUCHES, None)
        v_star = w.lanes_of(result[len(w.q) :].copy())
        x_star = np.concatenate([values.q, v_star.lanes[0].real])
        num_limits, limits = 0, room.model.limits
        if len(limits):
            star = x_star[len(values.q) :]
            num_limits = values.call(find_limits, limits, plant.time_step(), values.q, values.v, star)
        links = plant._links_at_work(context, room) if plant._has_constraints else room.links
        if not (len(touching.contact_pairs) or num_limits or len(links)):
            return False
        drive_lanes = self._set_drives(values)
        drives = plant._drives_of_problem(values, room)
        most = _most(room, len(touching.contact_pairs), len(links), len(drives))
        room.reserve(len(touching.contact_pairs), most[0] - len(touching.contact_pairs), most[1])
        arguments = plant._start_step_arguments(values, room, touching.contact_pairs, links, drives, x_star)
        values.call(start_step, *arguments)
        counts = tuple(room.counts.tolist()[:3])
        plant._call_solver(context, values, room, x_star[len(values.q) :], *counts)
        self._follow(values, touching, pairs, links, drive_lanes, v_star, most, result)
        return True

    def _values(self) -> _Values:
        """The values of the workspace, for kernels on floats."""
        w = self._w
        parameters = w.lanes_of(w.parameters).lanes[0]
        if self._model is None:
            self._model = FloatModel(w.topology, parameters)
        else:  # with the code that it has bound
            for name in parameters.dtype.names:
                self._model.parameters[name] = parameters[name].real
        return _Values(self._model, w)

    def _set_drives(self, values: _Values) -> LaneRecords:
        """Hands the values of the PD controllers on; returns their records in lanes."""
        w = self._w
        if w.drives is None:
            return LaneRecords(np.zeros((1, 0), drive_lanes_dtype), 0)
        split = split_lanes(w.drives.values)
        controllers = w.drives.controllers
        values.drives = _Drives(controllers, split.lanes[0].real)
        records = np.zeros(split.lanes.shape[:2], drive_lanes_dtype)
        records["v"] = controllers.velocities
        records["p"], records["d"], records["limit"] = controllers.p, controllers.d, controllers.limits
        records["error"], records["v_desired"] = -split.lanes[..., ERROR], split.lanes[..., VELOCITY_TARGET]
        records["feedforward"] = split.lanes[..., FEEDFORWARD]
        return LaneRecords(records, split.num_derivatives)

    def _follow(
        self, values: _Values, touching: Touching, pairs: LaneRecords | None, links: Array, drives: LaneRecords,
        v_star: Any, most: tuple[int, int, int], result: Array,
    ) -> None:  # fmt: skip
        """Writes the next state and the sample of the step, with derivatives, from the velocities on floats."""
        plant, w, room = self._plant, self._w, self.room
        num_constraints, num_rows = room.counts.tolist()[:2]
        num_v, trees, settings = len(w.v), room.model.trees, values.settings
        pairs = _no_pairs() if pairs is None else pairs
        p = _room_for_problem(room, num_v, most)
        work = np.zeros(integer_workspace_size(len(trees), num_constraints, 0), np.int64)
        star = LaneRecords(v_star.lanes, v_star.num_derivatives)
        status = w.call(
            held_problem, room.model.plant_trees, settings, plant._choices.near_rigid_threshold, room.model.limits,
            links, num_constraints, num_rows, w.parameters, pairs, drives, w.q, w.v, star, w.position, w.scratch,
            LaneRecords(work[np.newaxis], 0), *(_numbers(most[1]) for _ in range(2)), _numbers(num_v), *p,
        )  # fmt: skip
        assert status == 0, "Constraints are told by values, which are the same."
        size = num_constraints, num_rows
        is_tamsi = self._laws(values, p, star, size, room.v_next)
        impulses, hessian, residual = self._impulses(values, p, star, size, is_tamsi, room.v_next)
        v_next = LaneRecords(room.v_next[np.newaxis].astype(np.complex128), 0)
        if residual.num_derivatives:
            H = self._matrix_of(p, size, hessian, is_tamsi)
            # The solver ends within a tolerance; derivatives are those of the solution itself, some steps further.
            v = room.v_next
            for _ in range(_MOST_STEPS):
                rest = np.linalg.solve(H, residual.lanes[0].real)
                if np.abs(rest).max() <= _EXACT * np.abs(v).max():
                    break
                v = v - rest
                _, hessian, residual = self._impulses(values, p, star, size, is_tamsi, v)
                H = self._matrix_of(p, size, hessian, is_tamsi)
            dv = -np.linalg.solve(H, residual.lanes.imag.T / STEP).T
            v_next = LaneRecords(np.ascontiguousarray(room.v_next + 1j * STEP * dv), residual.num_derivatives)
            impulses, _, _ = self._impulses(values, p, star, size, is_tamsi, v_next)
        num_contacts = len(touching.contact_pairs)
        tau, tau_joints = np.empty(num_v, object), np.empty(num_v, object)
        forces, self.F_Bo_W = np.empty((num_contacts, NUM_FORCE_VALUES), object), np.empty_like(w.zeros_F)
        F_applied = w.F_applied if w.has_applied_forces else w.zeros_F
        w.call(
            held_results, room.model.plant_trees, links, plant.time_step(), w.q, v_next, F_applied, w.position, pairs,
            p.constraints, p.rows, p.jacobian, p.counts, impulses, result, self.F_Bo_W, tau, tau_joints, forces,
        )  # fmt: skip
        w.contact_sample = sample_of_contacts(room, touching, forces, tau, tau_joints, room.statistics.item())
        num_drives = drives.lanes.shape[1]
        if num_drives:
            of_drives = LaneRecords(impulses.lanes[:, num_rows - num_drives : num_rows], impulses.num_derivatives)
            w.net_actuation[values.drives.controllers.inputs] = of_drives.merged() / plant.time_step()

    def _impulses(
        self, values: _Values, p: _Lanes, star: LaneRecords, size: tuple[int, int], is_tamsi: Array, v_next: Any
    ) -> tuple[LaneRecords, LaneRecords, LaneRecords]:
        """Impulses, slopes and residual at velocities, of so many constraints and rows."""
        trees, settings, num_v = self.room.model.trees, values.settings, len(self._w.v)
        law = int(settings["approximation"])
        most = p.rows.lanes.shape[1]
        results = _numbers(most), _numbers(HESSIAN_SIZE * most), _numbers(num_v)
        self._w.call(
            held_impulses, settings, trees, np.arange(len(trees)), *size, np.flatnonzero(~is_tamsi),
            LAGGED if law == TAMSI else law, np.flatnonzero(is_tamsi), v_next, star, p.matrix, p.constraints, p.rows,
            p.jacobian, p.free_matrix, p.free_jacobian, p.law, _numbers(num_v), _numbers(most), *results,
        )  # fmt: skip
        return results

    def _laws(self, values: _Values, p: _Lanes, star: LaneRecords, size: tuple[int, int], v_next: Array) -> Array:
        """Of each constraint, whether it follows the law of TAMSI: not on islands that were solved by LAGGED."""
        is_tamsi = np.full(size[0], values.settings["approximation"] == TAMSI)
        if not is_tamsi.any() or not self.room.statistics["num_fallbacks"]:
            return is_tamsi
        residuals = [
            self._impulses(values, p, star, size, choice, v_next)[2].lanes[0].real
            for choice in (is_tamsi, ~is_tamsi)
        ]
        is_worse = np.abs(residuals[0]) > np.abs(residuals[1])
        of_velocity, trees = self.room.model.tree_of_velocity, p.constraints.lanes[0][: size[0]]
        worse: set[int] = set(of_velocity[is_worse & (np.abs(residuals[0]) > _BALANCED)].tolist())
        connected = [{int(c["tree_0"]), int(c["tree_1"])} - {-1} for c in trees]
        while any(group & worse and not group <= worse for group in connected):  # islands fall back as one
            for group in connected:
                if group & worse:
                    worse |= group
        return np.array([not group & worse for group in connected])

    def _matrix_of(self, p: _Lanes, size: tuple[int, int], hessian: LaneRecords, is_tamsi: Array) -> Array:
        """H of the implicit function theorem."""
        trees, num_v = self.room.model.trees, len(self._w.v)
        constraints = p.constraints.lanes[0][: size[0]]
        J, free_J = (
            dense_jacobian(trees, constraints, numbers.lanes[0].real, size[1], num_v)
            for numbers in (p.jacobian, p.free_jacobian)
        )
        ignores_slip = is_tamsi & (constraints["kind"] == CONTACT)
        G = hessian.lanes[0].real
        return dense_hessian(trees, constraints, p.free_matrix.lanes[0].real, J, free_J, G, ignores_slip)

    # ------------------------------------------------------------------ geometry

    def _find_contacts(self, context: Any, values: _Values) -> tuple[Touching, LaneRecords | None]:
        """What touches, and its contact pairs in lanes; None if nothing does."""
        plant, room = self._plant, self.room
        query = plant._query_object(context)
        queries = query.proximity_queries()
        if room.layout is not queries.layout or room.penetration_allowance != plant._choices.penetration_allowance:
            plant._read_materials(room, queries.layout, query.inspector())
        X_WG, dX_WG = queries.poses(query.world_poses())
        engine = queries.engine
        candidates = engine.find_candidates(X_WG, is_sorted=False).copy()
        candidates, contacts = engine.contact_manifolds(X_WG, 0.0, candidates)
        if not len(contacts):
            return NOTHING_TOUCHES, None
        contacts = contacts.copy()
        if room.has_foreign_geometry:
            plant._refuse_foreign_contacts(room, query.inspector(), candidates, contacts)
        room.reserve_contact_pairs(len(contacts))
        model = room.materials, room.model.tree_of_mobod
        count = values.call(make_contact_pairs, *model, candidates, contacts, room.contact_pairs)
        touching = Touching(candidates, contacts, room.contact_pairs[:count])
        if not count:
            return NOTHING_TOUCHES, None
        num_derivatives = 0 if dX_WG is None else dX_WG.shape[-1]
        lanes = self._follow_contacts(context, query, X_WG, dX_WG if num_derivatives else None, candidates, contacts)
        pairs = LaneRecords(np.zeros((1, len(contacts)), contact_pair_lanes_dtype), 0)
        self._w.call(make_contact_pairs, *model, candidates, LaneRecords(lanes, num_derivatives), pairs)
        return touching, LaneRecords(np.ascontiguousarray(pairs.lanes[:, :count]), num_derivatives)

    def _follow_contacts(
        self, context: Any, query: Any, X_WG: Array, dX_WG: Array | None, candidates: Array, contacts: Array
    ) -> Array:
        """Contacts in lanes, as records of contact_lanes_dtype."""
        if dX_WG is None:
            lanes = np.zeros((1, len(contacts)), contact_lanes_dtype)
            for name in contacts.dtype.names or ():
                lanes[name] = contacts[name]
            return lanes
        queries = query.proximity_queries()
        try:
            return differentiate_manifolds(queries.engine, X_WG, dX_WG, candidates, contacts, STEP, _may_compile)
        except LookupError as error:
            ids = queries.layout.geometry_ids
            first, second = (query.inspector().GetName(ids[row]) for row in candidates[error.args[0]].tolist())
            raise RuntimeError(
                f"Plant '{self._plant.GetSystemPathname()}' has no derivatives at time "
                f"{float(context.store.flat[0].real)} s: the contact normal of geometries '{first}' and '{second}' "
                "jumps there. Move them a little, or take finite differences of a plant of floats."
            ) from None

    # ------------------------------------------------------------------ continuous time

    def add_limit_forces(self) -> None:
        """Adds the forces of joints beyond their limits to those of the workspace."""
        w, model = self._w, self.room.model
        if len(model.limits):
            w.call(limit_forces, model.limits, *model.limit_springs(), w.q, w.v, w.tau)

    def find_penalty_forces(self, context: Any) -> tuple[ContactSample | None, Array]:
        """What touches in continuous time, and the forces on the bodies, shape [num_mobods, 6]."""
        plant, w, room = self._plant, self._w, self.room
        plant._eval_velocity(context)
        touching, pairs = self._find_contacts(context, self._values())
        F_Bo_W: Array = w.zeros_F.copy()
        if pairs is None:
            return None, F_Bo_W
        forces, tau = np.empty((len(touching.contact_pairs), NUM_FORCE_VALUES), object), w.zeros_v.copy()
        w.call(penalty_forces, plant._choices.stiction_tolerance, w.position, w.velocity, pairs, F_Bo_W, forces)
        w.call(generalized_forces, w.topology, w.position, F_Bo_W, np.empty_like(w.zeros_F), tau)
        return sample_of_contacts(room, touching, forces, tau, w.zeros_v.copy()), F_Bo_W


def _values_of(records: Array, dtype: Any) -> Array:
    """The real parts of records of complex numbers."""
    values = np.zeros(records.shape, dtype)
    for name in dtype.names:
        values[name] = records[name].real
    return values


def _most(room: ContactRoom, num_pairs: int, num_links: int, num_drives: int) -> tuple[int, int, int]:
    """The most constraints, rows and numbers of the Jacobian that there may be."""
    num_limits = 2 * len(room.model.limits)
    rows = 3 * num_pairs + num_limits + 6 * num_links + num_drives
    return num_pairs + num_limits + num_links + num_drives, rows, 2 * rows * room.model.most_velocities


def _room_for_problem(room: ContactRoom, num_v: int, most: tuple[int, int, int]) -> _Lanes:
    constraints, rows, jacobian = most
    return _Lanes(
        is_locked=LaneRecords(np.zeros((1, num_v), np.int64), 0),
        counts=LaneRecords(np.zeros((1, 5), np.int64), 0),
        matrix=_numbers(room.model.matrix_size),
        free_matrix=_numbers(room.model.matrix_size),
        constraints=LaneRecords(np.zeros((1, constraints), constraint_lanes_dtype), 0),
        rows=LaneRecords(np.zeros((1, rows), row_lanes_dtype), 0),
        jacobian=_numbers(jacobian),
        free_jacobian=_numbers(jacobian),
        law=_numbers(LAW_SIZE * rows),
    )


def _numbers(size: int) -> LaneRecords:
    """Room for numbers in lanes."""
    return LaneRecords(np.zeros((1, size), np.complex128), 0)


def _no_pairs() -> LaneRecords:
    return LaneRecords(np.zeros((1, 0), contact_pair_lanes_dtype), 0)


def _may_compile(kernel: Any, *arguments: Any) -> bool:
    return may_use_compiled(kernel, len(arguments[2]), *arguments)
