"""A contact problem as an object: constraints are added one by one, checked, and solved on arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody.contact import (
    LAGGED,
    SAP,
    TAMSI,
    contact_velocities,
    integer_workspace_size,
    make_settings,
    make_trees,
    tamsi_contact_velocities,
    workspace_size,
)
from merganser.multibody.contact.layout import (
    FELL_BACK,
    NO_CAPACITY,
    NOT_A_NUMBER,
    NOT_CONVERGED,
    SINGULAR_MATRIX,
    Solution,
    SolverWork,
    StepProblem,
    law_dtype,
    result_dtype,
    row_dtype,
)
from merganser.multibody.linear.records import CONTACT, DRIVE, HOLONOMIC, constraint_dtype

_NEAR_RIGID = 0.1  # beta of all constraints but contacts
_SMALL_ISLAND = 32  # up to so many trees, the workspace is enough for any pattern


class ContactSolverError(RuntimeError):
    """A contact problem that has no solution, or whose solution was not found."""


@dataclasses.dataclass(frozen=True)
class ContactSolution:
    """Velocities and impulses after a step.

    Attributes:
        v: velocities, shape [num_v].
        impulses: of each constraint in the order in which they were added, shape [its rows], in N s (N m s).
        has_fallen_back: whether TAMSI found no solution somewhere, and the Lagged approximation was taken there.
        iterations: Newton iterations of the island that took most.
        statistics: all counts, by the names of `result_dtype`.
    """

    v: NDArray[np.float64]
    impulses: list[NDArray[np.float64]]
    has_fallen_back: bool
    iterations: int
    statistics: dict[str, float]


class ContactProblem:
    """One step of a system of trees under constraints; see layout.py for the mathematics.

    Jacobians are given by tree: `{tree: block}` with one or two blocks of shape [rows, num_v of the tree].
    """

    def __init__(self, tree_sizes: Sequence[int], time_step: float, approximation: int = LAGGED, **settings: Any):
        """
        Args:
            tree_sizes: number of velocities of each tree.
            time_step: h [s].
            approximation: of contact.
            **settings: see `make_settings`.
        """
        if any(size < 1 for size in tree_sizes):
            raise ValueError(f"Each tree of a contact problem needs at least one velocity, got {list(tree_sizes)}.")
        if not 0.0 < time_step < math.inf:
            raise ValueError(f"time_step of a contact problem must be positive and finite, got {time_step}.")
        self._trees, self.time_step = make_trees(tree_sizes), time_step
        self._settings = make_settings(approximation, **settings)
        self._num_v = int(sum(tree_sizes))
        self._constraints: list[NDArray[Any]] = []
        self._rows: list[tuple[float, float]] = []
        self._blocks: list[NDArray[np.float64]] = []
        self._jacobian_size = 0

    @property
    def num_constraints(self) -> int:
        """Number of constraints so far."""
        return len(self._constraints)

    def add_contact(
        self,
        jacobian: dict[int, ArrayLike],
        *,
        friction: float,
        stiffness: float,
        phi: float,
        relaxation_time: float = 0.0,
        dissipation: float = 0.0,
        elastic_force: float | None = None,
        beta: float = 1.0,
        bias: ArrayLike = (0.0, 0.0, 0.0),
    ) -> int:
        """Adds a contact.

        Args:
            jacobian: of the velocities [t1, t2, n] of B relative to A in the contact frame; A has the opposite sign.
            friction: coefficient mu.
            stiffness: k [N/m]; may be inf with SAP.
            phi: signed distance, negative if the bodies overlap [m]; only SAP uses it.
            relaxation_time: tau [s]; only SAP uses it.
            dissipation: d of Hunt and Crossley [s/m]; SAP does not use it.
            elastic_force: at the start of the step [N], by default -k phi; SAP does not use it.
            beta: near-rigid threshold of SAP.
            bias: velocity of the contact when v = 0 [m/s], shape [3].

        Returns:
            The number of the constraint.

        Raises:
            ValueError: if a number is out of range, or a block has another shape.
        """
        numbers = {"friction": friction, "relaxation_time": relaxation_time, "dissipation": dissipation, "beta": beta}
        for name, value in numbers.items():
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{self._next('contact')}: {name} must be finite and not negative, got {value}.")
        if not stiffness >= 0.0:
            raise ValueError(f"{self._next('contact')}: stiffness must not be negative, got {stiffness}.")
        if stiffness == math.inf and self._settings["approximation"] != SAP:
            raise ValueError(f"{self._next('contact')}: only SAP takes an infinite stiffness.")
        if elastic_force is None:
            elastic_force = -stiffness * phi if phi != 0.0 else 0.0
        record = self._record(CONTACT, "contact", jacobian, [0.0, 0.0, phi], bias)
        record["friction"], record["stiffness"], record["beta"] = friction, stiffness, beta
        record["relaxation_time"], record["damping"] = relaxation_time, dissipation
        record["elastic_force"] = elastic_force
        return self.num_constraints - 1

    def add_holonomic(
        self,
        jacobian: dict[int, ArrayLike],
        g: ArrayLike,
        *,
        stiffness: float = math.inf,
        relaxation_time: float | None = None,
        lower: float = -math.inf,
        upper: float = math.inf,
        beta: float = _NEAR_RIGID,
        bias: ArrayLike | None = None,
    ) -> int:
        """Adds a spring and damper on g(q) = 0, nearly rigid if it is stiff: a ball (3 rows), a weld (6), a coupler...

        Args:
            jacobian: of gdot.
            g: values at the start of the step, shape [rows].
            stiffness: k; inf needs beta > 0.
            relaxation_time: tau [s], damping over stiffness; by default the time step.
            lower: least impulse of each row.
            upper: greatest impulse of each row.
            beta: near-rigid threshold.
            bias: gdot when v = 0, shape [rows], by default 0.

        Returns:
            The number of the constraint.

        Raises:
            ValueError: if a number is out of range, or a block has another shape.
        """
        values = np.atleast_1d(np.asarray(g, float))
        tau = self.time_step if relaxation_time is None else relaxation_time
        if not stiffness >= 0.0 or not 0.0 <= tau < math.inf or not 0.0 <= beta < math.inf:
            raise ValueError(
                f"{self._next('holonomic constraint')}: stiffness, relaxation time and beta must not be negative, "
                f"got {stiffness}, {tau} and {beta}."
            )
        if stiffness == math.inf and beta == 0.0:
            raise ValueError(f"{self._next('holonomic constraint')}: an infinite stiffness needs beta > 0.")
        if not lower <= upper:
            raise ValueError(f"{self._next('holonomic constraint')}: lower {lower} is greater than upper {upper}.")
        record = self._record(
            HOLONOMIC,
            "holonomic constraint",
            jacobian,
            list(values),
            np.zeros(len(values)) if bias is None else bias,
        )
        record["stiffness"], record["relaxation_time"], record["beta"] = stiffness, tau, beta
        record["lower"], record["upper"] = lower, upper
        return self.num_constraints - 1

    def add_limit(
        self, tree: int, dof: int, distance: float, *, is_upper: bool = False, stiffness: float = 1e12
    ) -> int:
        """Adds one side of a joint limit.

        Args:
            tree: number of the tree.
            dof: which velocity of the tree.
            distance: how far the joint is from the limit, negative if beyond it [rad or m].
            is_upper: whether it is the upper limit.
            stiffness: k [N m/rad or N/m].
        """
        row = self._unit_row(tree, dof, -1.0 if is_upper else 1.0)
        return self.add_holonomic({tree: row}, [distance], stiffness=stiffness, lower=0.0)

    def add_coupler(self, tree_0: int, dof_0: int, tree_1: int, dof_1: int, gear_ratio: float, g: float) -> int:
        """Adds a coupler q_0 - gear_ratio q_1 = offset; g is the left side less the right [rad or m]."""
        row_0, row_1 = self._unit_row(tree_0, dof_0, 1.0), self._unit_row(tree_1, dof_1, -gear_ratio)
        if tree_0 == tree_1:
            return self.add_holonomic({tree_0: row_0 + row_1}, [g])
        return self.add_holonomic({tree_0: row_0, tree_1: row_1}, [g])

    def add_distance(
        self, jacobian: dict[int, ArrayLike], g: float, *, stiffness: float = math.inf, damping: float = 0.0
    ) -> int:
        """Adds a distance constraint: a spring of free length, or a massless rod if the stiffness is infinite.

        Args:
            jacobian: of the rate of the distance, shape [1, num_v] for each tree.
            g: distance less free length [m].
            stiffness: k > 0 [N/m].
            damping: c [N s/m].
        """
        if not stiffness > 0.0 or not damping >= 0.0:
            raise ValueError(
                f"{self._next('distance constraint')}: stiffness must be positive and damping not negative, "
                f"got {stiffness} and {damping}."
            )
        return self.add_holonomic(jacobian, [g], stiffness=stiffness, relaxation_time=damping / stiffness)

    def add_drive(
        self,
        tree: int,
        dof: int,
        error: float,
        *,
        Kp: float,
        Kd: float,
        velocity_target: float = 0.0,
        feedforward: float = 0.0,
        effort_limit: float = math.inf,
        beta: float = _NEAR_RIGID,
    ) -> int:
        """Adds a PD-controlled actuator with effort u_ff - Kp (q - q_d) - Kd (v - v_d), taken at the end of the step.

        Args:
            tree: number of the tree.
            dof: which velocity of the tree.
            error: q - q_d at the start of the step [rad or m].
            Kp: proportional gain.
            Kd: derivative gain.
            velocity_target: v_d.
            feedforward: u_ff [N m or N].
            effort_limit: greatest effort, positive.
            beta: near-rigid threshold of the gains.
        """
        if not 0.0 <= Kp < math.inf or not 0.0 <= Kd < math.inf or not effort_limit > 0.0:
            raise ValueError(
                f"{self._next('drive')}: gains must be finite and not negative, the effort limit positive, "
                f"got Kp = {Kp}, Kd = {Kd} and {effort_limit}."
            )
        record = self._record(DRIVE, "drive", {tree: self._unit_row(tree, dof, 1.0)}, [error], [0.0])
        record["stiffness"], record["damping"], record["beta"] = Kp, Kd, beta
        record["velocity_target"], record["feedforward"] = velocity_target, feedforward
        record["lower"], record["upper"] = -effort_limit, effort_limit
        return self.num_constraints - 1

    def clear(self) -> None:
        """Removes all constraints."""
        self._constraints, self._rows, self._blocks, self._jacobian_size = [], [], [], 0

    def arrays(self) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Settings, trees, constraints, rows and Jacobian, as the kernels take them; the first two are not copies."""
        constraints = np.concatenate(self._constraints) if self._constraints else np.zeros(0, constraint_dtype)
        rows = np.array(self._rows, row_dtype)
        jacobian = np.concatenate(self._blocks) if self._blocks else np.zeros(0)
        return self._settings, self._trees, constraints, rows, jacobian

    def solve(
        self, matrix: Sequence[ArrayLike], v: ArrayLike, v_star: ArrayLike, is_locked: ArrayLike | None = None
    ) -> ContactSolution:
        """Solves the step.

        Args:
            matrix: A = M + h D, a block [n, n] for each tree, symmetric.
            v: velocities before the step, shape [num_v]; the search starts there.
            v_star: velocities after the step without constraints, shape [num_v].
            is_locked: which velocities keep the value that they have in v_star, shape [num_v]; by default none.

        Raises:
            ValueError: if an array has another shape.
            ContactSolverError: if A is not positive definite, something is NaN, or iterations end without a solution.
        """
        settings, trees, constraints, rows, jacobian = self.arrays()
        blocks = [np.asarray(block, float) for block in matrix]
        expected = [(int(n), int(n)) for n in trees["num_v"]]
        if [block.shape for block in blocks] != expected:
            raise ValueError(f"The blocks of A must have shapes {expected}, got {[b.shape for b in blocks]}.")
        flat = np.concatenate([block.ravel() for block in blocks]) if blocks else np.zeros(0)
        v_in, v_star_in = self._velocities(v, "v"), self._velocities(v_star, "v_star")
        locked = np.zeros(self._num_v, np.int64)
        if is_locked is not None:
            locked[:] = np.asarray(is_locked)
        n = min(len(trees), _SMALL_ISLAND)
        factor, pairs = min(self._num_v**2, 64 * self._num_v + 4096), n * (n - 1) // 2 + 4 * len(trees)
        v_out, impulses, result = np.empty(self._num_v), np.empty(len(rows)), np.zeros(1, result_dtype)[0]
        solve = tamsi_contact_velocities if settings["approximation"] == TAMSI else contact_velocities
        status = NO_CAPACITY
        while status == NO_CAPACITY:
            work = np.empty(workspace_size(self._num_v, len(rows), len(flat), len(jacobian), factor))
            integer_work = np.empty(integer_workspace_size(self._num_v, len(trees), len(constraints), pairs), np.int64)
            laws = np.empty(len(rows), law_dtype)
            problem = StepProblem(
                self.time_step, settings, trees, flat, locked, v_in, v_star_in, v_in, 0, constraints, rows, jacobian
            )
            status = solve(problem, SolverWork(laws, work, integer_work), Solution(v_out, impulses, result))
            pairs, factor = max(pairs, int(result["blocks_needed"])), max(factor, int(result["factor_needed"]))
        if status < 0:
            raise ContactSolverError(self._explain(status, result))
        return ContactSolution(
            v=v_out,
            impulses=np.split(impulses, constraints["row_start"][1:]) if len(constraints) else [],
            has_fallen_back=status == FELL_BACK,
            iterations=int(result["iterations"]),
            statistics={name: result[name].item() for name in result_dtype.names or ()},
        )

    def _explain(self, status: int, result: Any) -> str:
        reasons = {
            NOT_CONVERGED: (
                f"no convergence in {self._settings['max_iterations']} iterations, the momentum residual is "
                f"{result['residual']:.1e} of its scale; raise max_iterations or the tolerances"
            ),
            NOT_A_NUMBER: "NaN or infinity came up; check velocities, Jacobians and parameters",
            SINGULAR_MATRIX: "a block of A = M + h D is not positive definite; check masses and inertias",
        }
        return (
            f"The contact problem of {len(self._trees)} trees and {self.num_constraints} constraints was not solved: "
            f"{reasons[status]}."
        )

    def _next(self, kind: str) -> str:
        """The name of the constraint that is being added, for errors."""
        return f"Constraint {self.num_constraints} ({kind}) of a contact problem"

    def _velocities(self, values: ArrayLike, name: str) -> NDArray[np.float64]:
        array = np.ascontiguousarray(values, float)
        if array.shape != (self._num_v,):
            raise ValueError(f"{name} must have shape ({self._num_v},), got {array.shape}.")
        return array

    def _unit_row(self, tree: int, dof: int, value: float) -> NDArray[np.float64]:
        if not 0 <= tree < len(self._trees) or not 0 <= dof < self._trees[tree]["num_v"]:
            raise ValueError(f"{self._next('joint constraint')}: there is no velocity {dof} of tree {tree}.")
        row = np.zeros((1, int(self._trees[tree]["num_v"])))
        row[0, dof] = value
        return row

    def _record(
        self, kind: int, name: str, jacobian: dict[int, ArrayLike], values: list[float], bias: ArrayLike
    ) -> Any:
        """Appends a constraint with these values of g, and returns its record to be filled."""
        who = self._next(name)
        if len(jacobian) not in (1, 2):
            raise ValueError(f"{who}: it must have a Jacobian for one or two trees, got {len(jacobian)}.")
        blocks = {tree: np.asarray(block, float) for tree, block in jacobian.items()}
        for tree, block in blocks.items():
            if not 0 <= tree < len(self._trees):
                raise ValueError(f"{who}: there is no tree {tree}, the problem has {len(self._trees)}.")
            expected = (len(values), int(self._trees[tree]["num_v"]))
            if block.shape != expected:
                raise ValueError(f"{who}: the Jacobian of tree {tree} must have shape {expected}, got {block.shape}.")
        biases = np.asarray(bias, float)
        if biases.shape != (len(values),):
            raise ValueError(f"{who}: the bias must have shape ({len(values)},), got {biases.shape}.")
        record = np.zeros(1, constraint_dtype)
        record["kind"], record["row_start"], record["num_rows"] = kind, len(self._rows), len(values)
        record["tree_1"] = -1
        for i, (tree, block) in enumerate(blocks.items()):
            record[f"tree_{i}"], record[f"jacobian_{i}"] = tree, self._jacobian_size
            record[f"num_columns_{i}"] = block.shape[1]
            self._blocks.append(block.ravel())
            self._jacobian_size += block.size
        self._rows.extend((g, float(b)) for g, b in zip(values, biases))
        self._constraints.append(record)
        return record[0]
