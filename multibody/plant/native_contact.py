"""What the operation of steps with controllers, contact and limits needs, see ../contact/step_operation.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import is_at_hand, kernel_address
from merganser.framework.native.addresses import address_of_array
from merganser.geometry.proximity.broad_phase import CELLS_A_GEOMETRY, find_candidates
from merganser.geometry.proximity.layout import contact_dtype, work_dtype
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.multibody import kernels
from merganser.multibody.contact import contact_velocities, tamsi_contact_velocities
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.geometry_poses import geometry_poses
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.contact.plant_layout import drive_dtype
from merganser.multibody.contact.plant_step import next_state, start_step
from merganser.multibody.kernels import checked_arrays
from merganser.multibody.kernels import operation_fields as o
from merganser.multibody.plant.contact_arrays import ContactRoom, ContactSample, Touching, conclude_step
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.multibody.plant.multibody_plant import MultibodyPlant

__all__ = ["HeldRoom", "are_compiled"]

Array = NDArray[Any]

_FIRST_CANDIDATES = 4  # room at the start for so many candidates and contacts of each geometry
_FIRST_CONTACTS = 4


def are_compiled(plant: MultibodyPlant) -> bool:
    """Whether the kernels are there that take long to compile; those of contact are not until something touches."""
    needed = [start_step, _solver_of(plant)] if plant._can_hold else []
    of_contact = find_candidates, contact_manifolds, make_contact_pairs
    return all(map(is_at_hand, [*needed, *of_contact] if plant._may_touch else needed))


def _solver_of(plant: MultibodyPlant) -> Any:
    """The kernel that solves the contact problem of a plant."""
    is_tamsi = plant._settings_of_contact()["approximation"] == TAMSI
    return tamsi_contact_velocities if is_tamsi else contact_velocities


class _StepArrays(NamedTuple):
    """What the sample of a step is made of.

    Attributes:
        room: what has been solved.
        position: kinematics, records of position_dtype.
        candidates: pairs of geometries.
        contacts: records of contact_dtype.
        held: how many candidates and contacts there were, the former -1 if there was nothing to hold; shape [2].
    """

    room: ContactRoom
    position: Array
    candidates: NDArray[np.int64]
    contacts: Array
    held: NDArray[np.int64]

    def of_problem(self) -> list[tuple[int, Array]]:
        """Arrays of which other operations make something, by the numbers of kernels/operation_fields.py."""
        room = self.room
        return [
            (o.HELD, self.held), (o.COUNTS, room.counts), (o.CONSTRAINTS, room.constraints),
            (o.IMPULSES, room.impulses), (o.JACOBIAN, room.jacobian),
        ]  # fmt: skip

    def fill(self, fields: list[Any]) -> None:
        """Sets the integers that tell where these arrays stand."""
        room = self.room
        for field, array in (
            *self.of_problem(), (o.POSITION, self.position), (o.CANDIDATES, self.candidates),
            (o.CONTACTS, self.contacts), (o.CONTACT_PAIRS, room.contact_pairs), (o.V_NEXT, room.v_next),
            (o.STATISTICS, room.statistics),
        ):  # fmt: skip
            fields[field] = address_of_array(array)


class HeldRoom:
    """Arrays of the operation in one Context, apart from those of steps in Python: it leaves its last sample in them.

    It has two sets of those from which samples are made, which take turns: see ../contact/step_operation.py.

    Args:
        plant: a discrete plant.
        context: of it.
        w: its workspace.

    Attributes:
        turn: which set holds the last step, and whether `contact_forces` are those of that step; shape [2].
        lack: candidates and contacts for which there was no room, and whether the solver had none; shape [3].
        contact_forces: generalized forces of all contacts, shape [num_v].
        problems: for each set those of the integers of the operation that tell of the problem that it has solved, for
            other operations; always of the arrays at hand.
    """

    def __init__(self, plant: MultibodyPlant, context: Any, w: Workspace) -> None:
        self._plant, self._context, self._w = plant, context, w
        self._room = ContactRoom(plant._contact_model_arrays, len(w.topology), len(w.v))
        self.turn: NDArray[np.int64] = np.zeros(2, np.int64)
        self.lack: NDArray[np.int64] = np.zeros(3, np.int64)
        self.contact_forces = np.zeros(len(w.v))
        self.problems: NDArray[np.int64] = np.zeros((2, o.NUM_FIELDS), np.int64)
        self._velocity, self._scratch = np.zeros_like(w.velocity), np.zeros_like(w.scratch)
        self._is_ready, self._num_preparations = False, 0
        self._queries: Any = None
        self._table: Any = None
        self._settings: Any = None
        self._beta = np.zeros(1)
        self._feedforward, self._desired = np.zeros(0), np.zeros((2, 0))
        self._links: Any = None  # the constraints that the operation was made for
        self._boxes, self._grid = np.zeros((0, 6)), np.zeros(0, np.int64)
        self._work = np.zeros(1, work_dtype)
        self._sets = self._make_sets(0, 0)

    # ------------------------------------------------------------------ what the operation was made for

    def check(self) -> Callable[[], bool]:
        """What tells whether an operation made now is still right: one that is made later may have got other arrays."""
        num_preparations = self._num_preparations
        return lambda: self._num_preparations == num_preparations and self.is_current()

    def is_current(self) -> bool:
        """Whether model and Context are as they were, and all arrays have been large enough."""
        plant, room = self._plant, self._room
        if plant._actuators_in(self._context) is not self._table or self._lacks_room():
            return False
        if not plant._can_hold:
            return True
        is_same = plant._contact_settings is self._settings and self._beta[0] == plant._choices.near_rigid_threshold
        if plant._has_constraints:
            is_same = is_same and plant._links_at_work(self._context, room) is self._links
        if plant._may_touch:
            queries = self._find_queries()
            is_same = is_same and queries is self._queries
            is_same = is_same and room.penetration_allowance == plant._choices.penetration_allowance
        return is_same

    def _lacks_room(self) -> bool:
        item = self.lack.item  # a tenth of the time of any()
        return bool(item(0) or item(1) or item(2))

    def _find_queries(self) -> Any:
        """What answers proximity queries; None unless all geometries are fixed to bodies of the plant."""
        plant, context = self._plant, self._context
        value = context.read_input(plant._geometry_query_port.get_index())
        if value is None:
            return None
        query = value.get_value()
        slot = context.slots[plant._geometry_pose_port.cache_entry().cache_index()]
        return query.proximity_queries() if query.takes_poses_from(plant._source_id, slot) else None

    def prepare(self) -> bool:
        """Takes over the model and the Context as they are; returns whether the operation can serve them."""
        if self._is_ready and self.is_current():
            return True  # arrays stay where operations look for them
        plant, room = self._plant, self._room
        self._is_ready, self._table = False, plant._actuators_in(self._context)
        self._num_preparations += 1
        num_inputs = len(plant._driven_velocities)
        self._feedforward, self._desired = np.zeros(num_inputs), np.zeros((2, num_inputs))
        if plant._can_hold:
            self._settings = plant._settings_of_contact()
            self._beta[0] = plant._choices.near_rigid_threshold
            self._take_drives()
            if plant._has_constraints:
                self._links = plant._links_at_work(self._context, room)
            if plant._may_touch and not self._take_geometry():
                return False
            self._make_room()
        self.lack[:] = 0
        self._is_ready = True
        return True

    def _take_drives(self) -> None:
        controllers = self._table.controllers
        self._room.drives = plant_drives = np.zeros(len(controllers.inputs), drive_dtype)
        plant_drives["v"] = controllers.velocities
        plant_drives["p"], plant_drives["d"] = controllers.p, controllers.d
        plant_drives["limit"] = controllers.limits

    def _take_geometry(self) -> bool:
        plant, room, queries = self._plant, self._room, self._find_queries()
        if queries is None:
            return False
        value = self._context.read_input(plant._geometry_query_port.get_index()).get_value()
        if room.layout is not queries.layout or room.penetration_allowance != plant._choices.penetration_allowance:
            plant._read_materials(room, queries.layout, value.inspector())
        self._queries = queries
        return room.has_own_geometry

    def _make_room(self) -> None:
        """Arrays at least as large as the last steps have shown that they must be."""
        room, model = self._room, self._room.model
        n = len(room.materials)
        if len(self._boxes) != n:
            self._boxes, self._grid = np.zeros((n, 6)), np.zeros((CELLS_A_GEOMETRY + 2) * n + 2, np.int64)
        num_candidates, num_contacts, solver_lacks = self.lack.tolist()
        candidate_capacity, contact_capacity = len(self._sets[0].candidates), len(self._sets[0].contacts)
        if num_candidates > candidate_capacity or not candidate_capacity:
            candidate_capacity = max(2 * num_candidates, _FIRST_CANDIDATES * n + 1)
        if num_contacts > contact_capacity or not contact_capacity:
            contact_capacity = max(2 * num_contacts, _FIRST_CONTACTS * n + 1)
        num_others, num_links = 2 * len(model.limits) + len(room.drives), len(room.links)
        room.reserve_contact_pairs(contact_capacity)
        room.reserve(contact_capacity, num_others + num_links, num_others + 6 * num_links)
        if solver_lacks:
            for arrays in self._sets:
                room.grow(arrays.room.statistics)
        room.reserve_work(len(room.constraints), len(room.rows), len(room.jacobian))
        self._sets = self._make_sets(candidate_capacity, contact_capacity)
        for problem, arrays in zip(self.problems, self._sets):
            problem[o.NUM_TREES], problem[o.CONSTRAINT_CAPACITY] = len(model.trees), len(room.constraints)
            problem[o.ROW_CAPACITY], problem[o.JACOBIAN_CAPACITY] = len(room.rows), len(room.jacobian)
            for field, array in (*arrays.of_problem(), (o.TREES, model.trees)):
                problem[field] = address_of_array(array)

    def _make_sets(self, candidate_capacity: int, contact_capacity: int) -> list[_StepArrays]:
        return [
            _StepArrays(
                room, np.zeros_like(self._w.position), np.zeros((candidate_capacity, 2), np.int64),
                np.zeros(contact_capacity, contact_dtype), np.array([-1, 0]),
            )
            for room in (self._room, self._room.twin())
        ]  # fmt: skip

    # ------------------------------------------------------------------ what the operation is told

    def arguments(self, fields: list[Any], sources: tuple[Any, ...]) -> tuple[Any, ...]:
        """The integers of the operation, as kernels/operation_fields.py numbers them.

        Args:
            fields: those that it has in common with others.
            sources: what follows.
        """
        for field, array in (
            (o.TURN, self.turn), (o.LACK, self.lack), (o.VELOCITY, self._velocity), (o.SCRATCH, self._scratch),
        ):  # fmt: skip
            fields[field] = address_of_array(array)
        fields[o.LENGTH] = len(fields) + len(sources)
        if len(self._table.controllers.inputs):
            self._fill_controllers(fields)
        fields[o.CAN_HOLD] = self._plant._can_hold
        if self._plant._can_hold:
            self._fill_problem(fields)
        if self._plant._may_touch:
            self._fill_geometry(fields)
        both: list[Any] = []
        for arrays in self._sets:
            arrays.fill(fields)
            both += (*fields, *sources)
        return tuple(both)

    def _fill_controllers(self, fields: list[Any]) -> None:
        plant, w, table = self._plant, self._w, self._table
        controllers, drives = table.controllers, plant._drives_of(w, table.controllers)
        known = table.mobods, table.limits, controllers.inputs, controllers.positions, controllers.p, controllers.d
        fields[o.NUM_CONTROLLERS] = len(controllers.inputs)
        u = np.zeros_like(self._feedforward)
        fields[o.CONTROL] = kernel_address(
            checked_arrays.control, *known, w.parameters, w.q, self._feedforward, self._desired, u, drives.values
        )
        inputs = next(iter(table.controlled.values()))
        fields[o.PUT_DESIRED_STATE] = kernel_address(checked_arrays.put_desired_state, inputs, w.q, self._desired)
        fields[o.CONTROLLED_STEP] = kernel_address(
            kernels.controlled_step, w.topology, w.parameters, w.gravity, plant.time_step(), w.x, w.tau, w.F_applied,
            drives.numbers, drives.values, w.position, w.velocity, w.scratch, drives.work, drives.effort, w.x,
        )  # fmt: skip
        for field, array in (
            (o.ACTUATED_MOBODS, table.mobods), (o.FEEDFORWARD, self._feedforward), (o.DESIRED, self._desired),
            (o.CONTROLLED_INPUTS, controllers.inputs), (o.CONTROLLED_POSITIONS, controllers.positions),
            (o.PROPORTIONAL_GAINS, controllers.p), (o.DERIVATIVE_GAINS, controllers.d),
            (o.DRIVE_NUMBERS, drives.numbers), (o.DRIVE_VALUES, drives.values), (o.DRIVE_WORK, drives.work),
            (o.DRIVE_EFFORT, drives.effort),
        ):  # fmt: skip
            fields[field] = address_of_array(array)

    def _fill_geometry(self, fields: list[Any]) -> None:
        room, arrays, (_, _, candidates, contacts, _) = self._room, self._queries.engine.arrays, self._sets[0]
        n, poses = len(room.materials), (room.materials_mobods, room.X_BG, self._w.position, room.X_WG)
        fields[o.GEOMETRY_POSES] = kernel_address(geometry_poses, *poses)
        fields[o.FIND_CANDIDATES] = kernel_address(
            find_candidates, arrays.geometries, arrays.frames, arrays.filtered, room.X_WG, 0.0, self._boxes, self._grid,
            candidates,
        )  # fmt: skip
        fields[o.CONTACT_MANIFOLDS] = kernel_address(
            contact_manifolds, arrays.geometries, arrays.hulls, room.X_WG, candidates, n, 0.0, self._work, contacts,
        )  # fmt: skip
        fields[o.MAKE_CONTACT_PAIRS] = kernel_address(
            make_contact_pairs, room.materials, room.model.tree_of_mobod, candidates, contacts, room.contact_pairs
        )
        fields[o.NUM_GEOMETRIES], fields[o.FILTER_SIZE] = n, len(arrays.filtered)
        fields[o.GRID_SIZE], fields[o.CANDIDATE_CAPACITY] = len(self._grid), len(candidates)
        for field, array in (
            (o.GEOMETRY_MOBODS, room.materials_mobods), (o.X_BG, room.X_BG), (o.X_WG, room.X_WG),
            (o.GEOMETRIES, arrays.geometries), (o.FRAMES, arrays.frames), (o.FILTERED, arrays.filtered),
            (o.BOXES, self._boxes), (o.GRID, self._grid), (o.PROXIMITY_WORK, self._work),
        ):  # fmt: skip
            fields[field] = address_of_array(array)
        for number, array in enumerate(arrays.hulls):
            fields[o.HULLS + 2 * number], fields[o.HULLS + 2 * number + 1] = len(array), address_of_array(array)

    def _fill_problem(self, fields: list[Any]) -> None:
        plant, room, model = self._plant, self._room, self._room.model
        self._add_solver(fields)
        fields[o.NEAR_RIGID_THRESHOLD] = self._beta.copy()
        for field, size in (
            (o.NUM_TREES, len(model.trees)), (o.NUM_LINKS, len(room.links)), (o.MATRIX_SIZE, len(room.matrix)),
            (o.CONTACT_CAPACITY, len(self._sets[0].contacts)), (o.CONSTRAINT_CAPACITY, len(room.constraints)),
            (o.ROW_CAPACITY, len(room.rows)), (o.JACOBIAN_CAPACITY, len(room.jacobian)),
            (o.BLOCK_CAPACITY, room.pairs), (o.WORK_SIZE, len(room.work)),
            (o.INTEGER_WORK_SIZE, len(room.integer_work)),
        ):  # fmt: skip
            fields[field] = size
        for field, array in (
            (o.TREES, model.trees), (o.TREE_OF_MOBOD, model.tree_of_mobod),
            (o.TREE_OF_VELOCITY, model.tree_of_velocity), (o.MATERIALS, room.materials), (o.LINKS, room.links),
            (o.DRIVES, room.drives), (o.MATRIX, room.matrix), (o.IS_LOCKED, room.is_locked), (o.ROWS, room.rows),
            (o.WORK, room.work), (o.INTEGER_WORK, room.integer_work),
        ):  # fmt: skip
            fields[field] = address_of_array(array)
        fields[o.SETTINGS] = address_of_array(plant._settings_of_contact())

    def _add_solver(self, fields: list[Any]) -> None:
        """The addresses of the kernels that set up the problem and solve it."""
        plant, w, room, model = self._plant, self._w, self._room, self._room.model
        settings, sources = self._settings, room.sources(room.contact_pairs, room.links, room.drives)
        fields[o.START_STEP] = kernel_address(
            start_step, model.plant_trees, w.parameters, settings, plant._choices.near_rigid_threshold, sources,
            w.q, w.v, w.x, w.position, w.scratch, room.matrix, room.is_locked, room.problem(),
        )  # fmt: skip
        fields[o.SOLVER] = kernel_address(
            _solver_of(plant), settings, model.trees, room.matrix, room.is_locked, w.v, w.v, room.constraints,
            room.rows, room.jacobian, room.pairs, room.work, room.integer_work, room.v_next, room.impulses,
            room.statistics,
        )  # fmt: skip
        fields[o.NEXT_STATE] = kernel_address(next_state, w.topology, plant.time_step(), w.q, room.v_next, w.x)

    # ------------------------------------------------------------------ what the operation leaves

    def put_contact_forces(self, tau: Array | float) -> None:
        """Takes over generalized forces of contacts that were found elsewhere, shape [num_v]."""
        self.contact_forces[:], self.turn[1] = tau, 1

    def take_contacts(self, x: Array, x_next: Array, F_applied: Array) -> tuple[ContactSample | None, Array]:
        """What the last step has held, None if there was nothing, and all forces on the bodies, shape [num_mobods, 6].

        Args:
            x: the state before it.
            x_next: the state after it.
            F_applied: forces on the bodies but those of contacts and constraints, shape [num_mobods, 6].
        """
        room, position, candidates, contacts, held = self._sets[self.turn.item(0)]
        num_candidates, num_contacts = held.tolist()
        if num_candidates < 0:
            return None, F_applied
        pairs = room.contact_pairs[: room.counts.item(3)]
        touching = Touching(candidates[:num_candidates], contacts[:num_contacts], pairs)
        sample = conclude_step(
            room, self._w, self._plant.time_step(), x[: len(self._w.q)], F_applied, position, touching, x_next.copy()
        )
        return sample, room.F_Bo_W.copy()
