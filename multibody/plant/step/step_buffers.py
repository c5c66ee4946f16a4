"""The arrays of steps of one plant in one Context, as the records that ../../dynamics/step.py works on."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import Capacity, Growth
from merganser.framework.native.memory.addresses import address_of_array
from merganser.geometry.hydroelastic.buffers import Buffers, capacities_of, lacks_memory, make_buffers, with_memory
from merganser.geometry.hydroelastic.engine import HydroelasticArrays
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.layout import Meshes
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.broad_phase import CELLS_A_GEOMETRY
from merganser.geometry.proximity.layout import HEIGHT_FIELD, TERRAIN, contact_dtype, work_dtype
from merganser.multibody.contact import (
    contact_pairs,
    hydroelastic_pairs,
    integer_workspace_size,
    plant_layout,
    workspace_size,
)
from merganser.multibody.contact.contact_pairs import contact_pair_dtype
from merganser.multibody.contact.layout import SolverWork, law_dtype, result_dtype, row_dtype
from merganser.multibody.contact.penalty import limit_forces
from merganser.multibody.contact.plant_layout import ProblemArrays, ProblemTrees
from merganser.multibody.deformable.kernels.records import Deformables
from merganser.multibody.dynamics import records
from merganser.multibody.dynamics.operation import Sample, sample_counts_dtype
from merganser.multibody.dynamics.records import Inputs, Model, State, StepResults, Work
from merganser.multibody.dynamics.step import forces_on_bodies
from merganser.multibody.dynamics.step_kernels import StepCode, functions_of, functions_of_other_scalars
from merganser.multibody.kernels import actuators
from merganser.multibody.kernels.constraints import constraint_value_dtype
from merganser.multibody.kernels.layout import velocity_dtype
from merganser.multibody.kernels.velocity_products import num_passes
from merganser.multibody.linear.records import constraint_dtype, tree_dtype
from merganser.multibody.plant.constraints import ConstraintRows
from merganser.multibody.plant.contact_geometry import CollisionGeometry
from merganser.multibody.plant.input_ports import Controllers
from merganser.multibody.plant.model import ContactModel
from merganser.multibody.plant.step.sample import DynamicsSample, SampleBox, take_sample
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]

_FIRST_CANDIDATES = 4  # room at the start for so many candidates and contacts of each geometry
_FIRST_CONTACTS = 4
_FIRST_FACES = 128
# Arrays of StepResults that are as long as they must be for what a step has found.
_FOUND = "candidates", "contacts", "faces", "contact_pairs"
_SMALL_ISLAND = 32  # up to so many trees, the workspace is enough for any pattern
_NO_GEOMETRY, _NO_SURFACES = ProximityArrays([], []), HydroelasticArrays([])


class StepBuffers:
    """What the dynamics of a plant in a Context work on; made again in parts when model or Context have changed.

    Python and the operation of the native plan work with it in turn. Of the arrays that samples are made of there are
    two sets with floats: one keeps the last step of the operation, the other takes what is computed next. Records of
    kinematics are those of the workspace, which say whether they are up to date; the operation has its own.

    Args:
        dynamics: of a finalized plant.
        context: of it.
        w: its workspace.
        time_step: of the steps that are taken [s]; 0 for derivatives in continuous time. By default that of the plant.

    Attributes:
        time_step: h [s], which may change from step to step; 0 in continuous time.
        takes_steps: whether the dynamics are steps, and not derivatives.
        contact: what the plant knows of contact.
        model, state, work: records, see ../../dynamics/records.py.
        results: the last argument of steps, one for each set.
        numbers: of the last step that is kept, and which set that has.
        contact_forces: generalized forces of all its contacts, shape [num_v].
        box: what shows that step in the Context, see sample.py; None without one.
        controllers: those at work.
        geometry: what the geometries are that may touch.
        parameters: of the bodies, by default those of the Context.
        F_applied: forces on the bodies in the last dynamics, in a step without those of contact; the workspace's zeros
            for none.
        settings: of the solver in place of those of the plant; None at first.
        fallback: settings of one step, after it has failed with the others; else None.
        gradients: what holds a plant of AutoDiffXd, see contact_gradients.py; None at first.
        gradient: arrays for derivatives of steps in Python, see ../scalars/step_slopes.py; None at first.
        deformable: arrays of deformable bodies, see ../../deformable/steps.py; None without them.
        compiled: what calls compiled code with these arrays, by the operation, see native_code.py.
    """

    model: Model

    def __init__(self, dynamics: PlantDynamics, context: Context, w: Workspace, time_step: float | None = None) -> None:
        self.time_step = dynamics.model.time_step if time_step is None else time_step
        self.takes_steps = self.time_step > 0.0
        self._has_multipliers = dynamics.has_multipliers and not self.takes_steps
        may_constrain = dynamics.can_constrain or len(dynamics.model.contact.frictions) > 0
        may_constrain = may_constrain if self.takes_steps else dynamics.may_touch
        self._may_constrain = may_constrain and w.scalar.__name__ != "Expression"
        self._dynamics, self._context, self._w = dynamics, context, w
        self._contact_geometry, self._settings_of = dynamics.contact_geometry, dynamics.settings
        arrays = self.contact = dynamics.model.contact
        self.geometry = CollisionGeometry()
        self._constraint_rows = ConstraintRows(dynamics.constraints)
        self.parameters: Any = w.parameters
        self.F_applied: Any = w.zeros_F
        self.compiled: dict[Any, Any] = {}
        self.gradients: Any = None
        self.gradient: Any = None
        self.num_preparations = self._num_compiled = 0
        self._queries: Any = None
        self._is_moved_by_plant = False
        self.controllers: Any = None
        self._is_current = False
        self._made_of: list[Any] = []
        num_v, steps = len(w.v), dynamics.deformables
        self.deformable: Any = None if steps is None else steps.make_buffers(context, w)
        self._num_trees, self._num_velocities = len(arrays.trees), num_v
        if self.deformable is not None:
            self._num_trees += len(self.deformable.works)
            self._num_velocities += 3 * self.deformable.num_vertices
        self._matrix = np.zeros(arrays.matrix_size)
        n = min(self._num_trees, _SMALL_ISLAND)
        self._block_capacity = n * (n - 1) // 2 + 4 * self._num_trees
        self._factor = min(num_v**2, 64 * num_v + 4096)
        self._solver_work, self._integer_work = np.zeros(0), np.zeros(0, np.int64)
        self._rows, self._laws = np.zeros(0, row_dtype), np.zeros(0, law_dtype)
        self._boxes, self._grid = np.zeros((0, 6)), np.zeros(0, np.int64)
        self._proximity_work, self._clipping = np.zeros(1, work_dtype), make_buffers()
        self.settings: Any = None
        self._looks_ahead = False
        self.fallback: Any = None
        self.state = State(w.x, w.q, w.v, w.activations)
        self._limits: list[tuple[int, int, int, float, float]] = arrays.limits.tolist()
        mean = w.make_numbers(num_v), w.make_records(len(w.topology), velocity_dtype)
        F = w.tau, w.F_applied, np.zeros_like(w.zeros_F), np.zeros_like(w.zeros_F)
        num_u = len(dynamics.inputs.driven_velocities)
        u, desired = np.zeros((2, num_u), w.dtype), np.zeros((actuators.NUM_DESIRED_ROWS, num_u), w.dtype)
        num_t = len(dynamics.model.tree.transmissions)
        sizes = (len(w.q) + num_t, num_v + 2 * num_t, (num_t, num_v), num_v + num_t) if num_t else (0, 0, (0, num_v), 0)
        along = [np.zeros(size, w.dtype) for size in sizes]
        controls, commands = np.zeros((2, num_u), w.dtype)
        desired[0] = np.nan  # until some come
        law_step = np.zeros(1 + len(dynamics.model.tree.belts()), w.dtype)
        of_inputs = u[0], desired, u[1], controls, law_step, commands, np.zeros(len(w.activations), w.dtype)
        drives = np.zeros((0, 0), np.int64), np.zeros((0, 0), w.dtype), np.zeros((0, 0), w.dtype), np.zeros(0, w.dtype)
        multipliers = w.make_multipliers(self._constraint_rows.rows[:0])
        self.work = Work._make([w.velocity, w.scratch, *mean, *F, *of_inputs, *along, *drives, multipliers])
        num_sets = 2 if w.is_float else 1
        self.results = [self._new_results() for _ in range(num_sets)]
        self._own = {name: np.zeros_like(getattr(w, name)) for name in ("velocity", "scratch")} if w.is_float else {}
        self._positions = [np.zeros_like(w.position) if w.is_float else w.position for _ in range(num_sets)]
        (x, x_next), F_sample = np.zeros((2, len(w.x)), w.dtype), np.zeros_like(w.zeros_F)
        u_sample, v_mean = np.zeros_like(u[1]), np.zeros_like(w.zeros_v)
        self.numbers = Sample(np.zeros(1, sample_counts_dtype)[0], x, x_next, u_sample, v_mean, F_sample)
        self.contact_forces: Array = np.zeros_like(w.zeros_v)
        self.box: SampleBox | None = None

    # ------------------------------------------------------------------ what the records were made for

    def is_current(self, controllers: Controllers) -> bool:
        """Whether model, Context and the controllers at work are as they were."""
        if controllers is not self.controllers or not self._is_current:
            return False
        if self.deformable is not None and not self.deformable.is_current():
            return False
        return self._sources() == self._made_of

    def _sources(self) -> list[Any]:
        """What the records are made of, beside controllers and deformable bodies."""
        choices = self._settings_of.choices
        sources: list[Any] = [choices.stiction_tolerance]
        if self._has_multipliers or self._may_constrain:
            sources.append(id(self._constraint_rows.read(self._context)))  # the records keep those of before
        if self._may_constrain:
            sources += [self._settings_of.of_solver(), choices.near_rigid_threshold]
            if self._contact_geometry.may_touch:
                sources += [*self._look_at_geometry(), choices.penetration_allowance]
        return sources

    def _look_at_geometry(self) -> tuple[Any, bool]:
        """What answers proximity queries, and whether all geometries move with bodies of the plant alone."""
        context, registration = self._context, self._dynamics.registration
        query = self._contact_geometry.query_object(context)
        own: Any = context  # that of a leaf system
        slot = own.slots[registration.pose_port.cache_entry().cache_index()]
        is_moved = self.geometry.is_own and query.takes_poses_from(registration.source_id, slot)
        return query.proximity_queries(), is_moved

    def prepare(self, controllers: Controllers) -> None:
        """Takes over model and Context as they are, if they have changed, and kernels that have been compiled.

        Raises:
            UnconnectedInputError: there is no SceneGraph to ask what touches.
        """
        if not self.is_current(controllers):
            self._take_over(controllers)
        elif self._w.is_float and self._num_compiled != len(self._w.codes):
            self.model = self.model._replace(code=self._functions(self.model))

    def _take_over(self, controllers: Controllers) -> None:
        """Makes the records again."""
        if self.box is not None:
            self.box.get_value()  # a sample that has not been read yet is in arrays that may be replaced
        self.num_preparations += 1
        self._is_current = False  # an error or an interrupt on the way leaves nothing that looks current
        if self.controllers is not controllers:
            self.controllers, drives = controllers, controllers.work_arrays(self._w.dtype)
            self.work = self.work._replace(**drives)
        if self._has_multipliers:
            rows = self._constraint_rows.read(self._context)
            self.work = self.work._replace(multipliers=self._w.make_multipliers(rows))
        if self._may_constrain:
            self._constraint_rows.read(self._context)
            if self._contact_geometry.may_touch:
                self._take_geometry()
        if self.deformable is not None:
            self.deformable.prepare(self)
        if self._may_constrain:
            self._make_buffers()
        self.work.desired[2:] = self._dynamics.inputs.desired_constants
        self.model = self._make_model(controllers)
        self._is_current, self._made_of = True, self._sources()

    def _take_geometry(self) -> None:
        queries, _ = self._look_at_geometry()
        allowance = self._settings_of.choices.penetration_allowance
        if self.geometry.layout is not queries.layout or self.geometry.penetration_allowance != allowance:
            inspector = self._contact_geometry.query_object(self._context).inspector()
            self.geometry = self._contact_geometry.read(queries.layout, inspector)
            self._clipping.counts[:] = 0  # nothing is remembered of contact surfaces of others
        n = len(self.geometry.materials)
        if len(self._boxes) != n:
            self._boxes, self._grid = np.zeros((n, 6)), np.zeros((CELLS_A_GEOMETRY + 2) * n + 2, np.int64)
        self._queries, self._is_moved_by_plant = self._look_at_geometry()

    def is_own_geometry(self) -> bool:
        """Whether steps find by themselves what touches."""
        return self._is_moved_by_plant or not self._contact_geometry.may_touch

    def note_forces(self, inputs: Inputs) -> None:
        """Keeps where forces on the bodies are: before a step without those of contacts, after derivatives all."""
        model = self.model
        if model.has_multipliers:
            self.F_applied = self.work.multipliers.F
        elif model.is_continuous and model.can_constrain and self.out.found["contact_pairs"]:
            self.F_applied = self.work.F_total
        else:
            self.F_applied = forces_on_bodies(model, inputs, self.work)

    # ------------------------------------------------------------------ results, and the last step

    @property
    def out(self) -> StepResults:
        """The results that are computed next, or have been computed last, in Python."""
        return self.results[~self.numbers.counts["which"]]  # the other one, or the only one

    def deformables_of(self, out: StepResults) -> Deformables:
        """What belongs to one of the sets of results of deformable bodies."""
        sets = zip(self.deformable.records, self.results)
        return next(record for record, results in sets if results.found is out.found)

    def of_operation(self) -> tuple[Work, list[StepResults]]:
        """The arrays of work and the results with the records of kinematics of the operation."""
        results = [out._replace(position=own) for out, own in zip(self.results, self._positions)]
        return self.work._replace(**self._own), results

    def count(self) -> int:
        """How many steps the operation has kept."""
        return int(self.numbers.counts["steps"])

    def keep(self, x_next: Array) -> None:
        """Keeps the step that Python has taken last, and that has led to x_next."""
        w, numbers, out = self._w, self.numbers, self.out
        numbers.counts["which"] = which = len(self.results) - 1 - numbers.counts["which"]
        if w.is_float:
            self._positions[which][:] = out.position
        numbers.x[:], numbers.x_next[:], numbers.u[:] = w.x, x_next, self.work.u
        numbers.mean[:], numbers.F_applied[:] = self.work.mean, self.F_applied

    def put(self, sample: DynamicsSample | None) -> None:
        """Takes over the numbers of a sample that was made elsewhere; None before the first step."""
        numbers = self.numbers
        x, x_next, u, mean = (0.0, 0.0, 0.0, 0.0) if sample is None else sample[:4]
        numbers.x[:], numbers.x_next[:], numbers.u[:], numbers.mean[:] = x, x_next, u, mean
        contacts = None if sample is None else sample.contacts
        self.contact_forces[:], numbers.counts["has_forces"] = 0.0 if contacts is None else contacts.tau, 1

    def take_sample(self, parameters: Array, gravity: Array) -> DynamicsSample:
        """The sample of the step that is kept, made with these parameters."""
        which = self.numbers.counts["which"]
        out = self.results[which]._replace(position=self._positions[which])
        return take_sample(self, self._w, out, self.numbers[1:], (parameters, gravity))

    # ------------------------------------------------------------------ sizes

    def grow(self) -> None:
        """Makes larger what the last step has found too small."""
        self._is_current = False
        if lacks_memory(self._clipping):
            self._clipping = with_memory(self._clipping)
        if self.deformable is not None:
            self.deformable.grow(self.results)
        for out in self.results:
            self._block_capacity = max(self._block_capacity, int(out.statistics["blocks_needed"]))
            if out.statistics["factor_needed"] > self._factor:
                self._factor = 3 * int(out.statistics["factor_needed"]) // 2

    def capacities(self) -> list[Capacity]:
        """What grows with what steps find: arrays of their results, and of the solver."""
        results, (first, *_), work, integers = self.results, self.results, self._solver_work, self._integer_work

        def of(*names: str) -> list[Growth]:
            return [Growth(getattr(out, name)) for out in results for name in names]

        of_row = 2 * self.contact.most_velocities
        of_constraints = [Growth(self._rows, 3), Growth(self._laws, 3)]
        of_constraints += [Growth(out.problem.constraints) for out in results]
        of_constraints += [Growth(out.problem.jacobian, 3 * of_row) for out in results]
        of_constraints += [Growth(out.impulses, 3) for out in results]
        of_constraints.append(Growth(work, workspace_size(0, 3, 0, 3 * of_row, 0) - workspace_size(0, 0, 0, 0, 0)))
        of_constraints.append(Growth(integers, integer_workspace_size(0, 0, 1, 0) - integer_workspace_size(0, 0, 0, 0)))
        of_pairs = [*of("contact_pairs", *(() if self.takes_steps else ("contact_forces",))), *of_constraints]
        has_surfaces = self.geometry.hydroelastic is not None
        growths = [
            of("candidates", *(("surface_pairs",) if has_surfaces else ())), [*of("contacts"), *of_pairs],
            of("corners", "faces", "owners"), of_pairs,
        ]  # fmt: skip
        capacities = [
            Capacity(self.addresses_found(name), len(getattr(first, name)), growing)
            for name, growing in zip(_FOUND, growths, strict=True)
        ]
        of_factor = ("factor_needed", self._factor, 1, work), ("blocks_needed", self._block_capacity, 2, integers)
        for name, num_places, per_place, array in of_factor:
            found = [_address_in(out.statistics, name) for out in results]
            capacities.append(Capacity(found, num_places, [Growth(array, per_place)]))
        capacities += capacities_of(self._clipping)
        if self.deformable is not None:
            capacities += self.deformable.capacities(self, self._matrix, work, of_constraints)
        return capacities

    def addresses_found(self, name: str) -> list[int]:
        """Where steps leave how much of this they have found."""
        return [_address_in(out.found, name) for out in self.results]

    def features(self) -> tuple[str, ...]:
        """What only some geometries need, see NativeCode."""
        kinds = () if self._queries is None else self._queries.engine.arrays.geometries["kind"]
        return (TERRAIN,) if np.any(np.asarray(kinds) >= HEIGHT_FIELD) else ()

    def _make_buffers(self) -> None:
        """Arrays at least as large as the last steps have shown that they must be."""
        arrays, n, first = self.contact, len(self.geometry.materials), self.results[0]
        found = [max(int(out.found[name]) for out in self.results) for name in _FOUND]
        before = [len(getattr(first, name)) for name in _FOUND]
        num_faces = 0 if self.geometry.hydroelastic is None else _FIRST_FACES
        least = _FIRST_CANDIDATES * n + 1, _FIRST_CONTACTS * n + 1, num_faces, 0
        capacities = [
            size if 0 < size >= needed else max(2 * needed, at_first)
            for size, needed, at_first in zip(before, found, least, strict=True)
        ]
        capacities[3] = max(capacities[3], capacities[1] + capacities[2] + arrays.most_pairs_of_kinds)
        num_own_rows = len(self._constraint_rows.rows)
        num_others = 2 * len(arrays.limits) + len(arrays.frictions) + len(self.work.efforts) + num_own_rows
        num_others += plant_layout.MOST_TENDON_ROWS * len(arrays.transmissions)
        num_constraints, num_rows = capacities[3] + num_others, 3 * capacities[3] + num_others
        if self.deformable is not None:
            more, size, _ = self.deformable.sizes()
            num_constraints, num_rows = num_constraints + more, num_rows + 3 * more
            if size > len(self._matrix):
                self._matrix = np.zeros(size)
            self._factor = max(self._factor, 2 * len(self._matrix))
        if num_rows > len(self._rows) or num_constraints > len(first.problem.constraints):
            self._rows, self._laws = np.zeros(num_rows, row_dtype), np.zeros(num_rows, law_dtype)
        is_same = capacities == before and len(first.problem.values) == num_own_rows
        is_same = is_same and first.problem.rows is self._rows and first.trees.matrix is self._matrix
        if not is_same or len(first.problem.jacobian) < self._jacobian_size():
            self.results = [self._new_results(capacities, num_constraints) for _ in self.results]
        sizes = self._num_velocities, len(self._rows), len(self._matrix), self._jacobian_size(), self._factor
        if workspace_size(*sizes) > len(self._solver_work):
            self._solver_work = np.zeros(workspace_size(*sizes))
        integers = integer_workspace_size(sizes[0], self._num_trees, num_constraints, self._block_capacity)
        if integers > len(self._integer_work):
            self._integer_work = np.zeros(integers, np.int64)

    def _jacobian_size(self) -> int:
        """Numbers of J: as many as rows and velocities of two trees take, or as deformable bodies have needed."""
        size = 2 * len(self._rows) * self.contact.most_velocities
        return size if self.deformable is None else max(size, self.deformable.sizes()[-1])

    def _new_results(self, capacities: Sequence[int] = (0, 0, 0, 0), num_constraints: int = 0) -> StepResults:
        num_candidates, num_contacts, num_faces, num_pairs = capacities  # see _FOUND
        w, num_rows, num_v = self._w, len(self._rows), self._num_velocities
        num_kept = 1 + num_passes(w.topology) if w.is_float and self.takes_steps else 0
        trees = ProblemTrees(
            np.zeros(self._num_trees, tree_dtype), self._matrix, np.zeros(num_v, np.int64), np.zeros(num_v),
            np.zeros(0 if self.deformable is None else num_v), np.zeros(1, plant_layout.tree_counts_dtype),
        )  # fmt: skip
        problem = ProblemArrays(
            np.zeros(num_constraints, constraint_dtype), self._rows, np.zeros(self._jacobian_size()),
            np.zeros(1, plant_layout.problem_counts_dtype),
            np.zeros(len(self._constraint_rows.rows), constraint_value_dtype()),
        )  # fmt: skip
        return StepResults(
            x_next=w.make_numbers(len(w.x)) if self.takes_steps else np.zeros_like(w.x),
            activations=np.zeros(len(w.activations), w.dtype),
            position=w.position,
            found=np.zeros(1, records.found_dtype)[0],
            candidates=np.zeros((num_candidates, 2), np.int64),
            contacts=np.zeros(num_contacts, contact_dtype),
            surface_pairs=np.zeros((0 if self.geometry.hydroelastic is None else num_candidates, 2), np.int64),
            corners=np.zeros((num_faces, MOST_CORNERS, 4)),
            faces=np.zeros((num_faces, FACE_NUMBERS)),
            owners=np.zeros((num_faces, 4), np.int64),
            contact_pairs=np.zeros(num_pairs, contact_pair_dtype),
            contact_forces=np.zeros((0 if self.takes_steps else num_pairs, plant_layout.NUM_FORCE_VALUES), w.dtype),
            trees=trees,
            problem=problem,
            v_next=np.zeros(num_v) if w.is_float else w.make_numbers(num_v),
            impulses=np.zeros(num_rows),
            statistics=np.zeros(1, result_dtype)[0],
            passes=np.zeros((num_kept, num_v)),
        )

    # ------------------------------------------------------------------ the records

    def _make_model(self, controllers: Controllers) -> Model:
        plant, w, arrays, inputs = self._dynamics.model, self._w, self.contact, self._dynamics.inputs
        is_continuous, no_numbers = not self.takes_steps, np.zeros(0)
        springs = arrays.limit_springs(plant.tree) if is_continuous and len(arrays.limits) else (no_numbers, no_numbers)
        has_limits = w.scalar.__name__ != "Expression"
        model = Model(
            code=StepCode(),
            is_continuous=int(is_continuous),
            topology=w.topology,
            parameters=self.parameters,
            gravity=w.gravity,
            elements=plant.tree.elements,
            constants=w.constants,
            transmissions=arrays.transmissions,
            nodes=plant.tree.transmission_nodes,
            pitches=plant.pitch_indices if w.is_numeric else plant.pitch_indices[:0],
            actuators=records.Actuators(
                inputs.driven_velocities, inputs.effort_limits, controllers.inputs, controllers.mobods,
                controllers.positions, controllers.velocities, controllers.p, controllers.d,
            ),
            laws=plant.tree.law_records,
            limits=arrays.limits if has_limits else arrays.limits[:0],
            limit_stiffness=springs[0],
            limit_dissipation=springs[1],
            frictions=arrays.frictions,
            stiction_velocity=self._settings_of.choices.stiction_tolerance,
            can_constrain=int(self._may_constrain),
            has_multipliers=int(self._has_multipliers),
            contact=self._make_contact(controllers),
        )  # fmt: skip
        return model._replace(code=self._functions(model))

    def _make_contact(self, controllers: Controllers) -> records.ConstraintModel:
        arrays, choices = self.contact, self._settings_of.choices
        arrays_of, known = _NO_GEOMETRY if self._queries is None else self._queries.engine.arrays, self.geometry
        settings = self.settings if self.fallback is None else self.fallback
        return records.ConstraintModel(
            is_complete=1,
            geometry=records.Geometry(
                int(self._is_moved_by_plant), known.mobods, known.X_BG, np.zeros_like(known.X_BG),
                arrays_of.geometries, arrays_of.hulls, arrays_of.frames, arrays_of.filtered, self._boxes, self._grid,
                self._proximity_work, known.materials, *self._make_surfaces(),
            ),
            sources=arrays.sources,
            source_numbers=arrays.source_numbers,
            trees=arrays.plant_trees,
            settings=self._settings_of.of_solver() if settings is None else settings,
            near_rigid_threshold=float(choices.near_rigid_threshold),
            constraint_rows=self._constraint_rows.rows,
            holds_transmissions=int(arrays.has_tendons or bool((controllers.velocities >= len(self._w.v)).any())),
            adheres=int(self._may_constrain and (arrays.has_adhesion or bool(known.materials["adhesion"].any()))),
            looks_ahead=int(self._looks_ahead),
            drives=controllers.records()[: None if self._may_constrain else 0],
            room=SolverWork(self._laws, self._solver_work, self._integer_work),
        )  # fmt: skip

    def _make_surfaces(self) -> tuple[int, float, int, Any, Meshes, Buffers]:
        """What a Geometry has for contact surfaces."""
        surfaces = self.geometry.hydroelastic
        hydroelastic = _NO_SURFACES if surfaces is None else surfaces
        model, is_triangle = self._settings_of.get_contact_model(), self._settings_of.has_triangles()
        contact = contact_pairs.SURFACES_ALONE
        if model is not ContactModel.kHydroelastic:
            contact = contact_pairs.POINTS_ALONE if surfaces is None else contact_pairs.POINTS_FOR_OTHERS
        points = hydroelastic_pairs.TRIANGLES if is_triangle else hydroelastic_pairs.POLYGONS
        if self.takes_steps:
            springs = hydroelastic_pairs.SPRINGS_OF_POLYGONS, hydroelastic_pairs.SPRINGS_OF_TRIANGLES
            points = springs[is_triangle]
        return contact, self.geometry.margin, points, hydroelastic.bodies, hydroelastic.meshes, self._clipping

    def solve_by(self, settings: Any, looks_ahead: bool) -> None:
        """Has the next steps solve contact problems with other settings than those of the plant.

        Args:
            settings: record of settings_dtype.
            looks_ahead: whether steps see what the fastest body may meet within them.
        """
        self.settings, self._looks_ahead, self._is_current = settings, looks_ahead, False

    def take_parameters(self, parameters: Any) -> None:
        """Has the next steps use these parameters of the bodies."""
        self.parameters, self._is_current = parameters, False

    def fall_back(self, settings: Any) -> None:
        """Has a step solved with settings that always have a solution; None ends that."""
        if settings is not self.fallback:
            self.fallback, self._is_current = settings, False

    # ------------------------------------------------------------------ kernels

    def _functions(self, model: Model) -> StepCode:
        """The kernels of steps as functions."""
        w, dynamics, context = self._w, self._dynamics, self._context
        self._num_compiled = len(w.codes)
        if w.is_float:
            code = functions_of(model, lambda kernel: w.codes.get(kernel) or functools.partial(w.call, kernel))
        else:
            code = functions_of_other_scalars(model, w.call, w.call_on_values)
            if model.is_continuous:
                code = code._replace(limits=self._add_limit_forces)
            if model.can_constrain:
                # Plants of floats go without.
                from merganser.multibody.plant.scalars.contact_gradients import kernels_of_constraints

                code = code._replace(**kernels_of_constraints(dynamics, context, w, self))
        return code._replace(kinematics=lambda *_arguments: dynamics.kinematics.eval_velocity(context))

    def _add_limit_forces(self, *arguments: Any) -> int:
        """Calls the kernel of limits with objects, if any joint is beyond one: to see that takes a sixth of that."""
        positions = [x.real for x in self.state.q.tolist()]
        if all(num_v == 1 and low <= positions[q] <= high for q, _, num_v, low, high in self._limits):
            return 0
        count: int = limit_forces.interpreted(*arguments)
        return count


def _address_in(record: Any, name: str) -> int:
    """Where a field of a record is."""
    return int(address_of_array(record) + record.dtype.fields[name][1])
