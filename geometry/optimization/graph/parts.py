"""Vertices and edges of a graph of convex sets, its settings, and perspectives: what a flow turns on and off.

For a flow s >= 0 and y = s x, a constraint and a cost of a convex program become

    A x + b in K        A y + b s in K                                                            (1)
    g(x) <= l           s g(y / s) <= l                                                           (2)

which say the same of x where s = 1, leave y = 0, l >= 0 where s = 0, and stay convex in between: the closure of the
perspective (Rockafellar, Convex Analysis, 1970, section 8). All that is left are homogeneous blocks, A w in a cone K.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.parallelism import Parallelism
from merganser.framework.common.records import settings
from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.evaluators.cone_constraints import (
    ExponentialConeConstraint,
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
    PositiveSemidefiniteConstraint,
    RotatedLorentzConeConstraint,
)
from merganser.framework.optimization.evaluators.costs import (
    L1NormCost,
    L2NormCost,
    LinearCost,
    LInfNormCost,
    PerspectiveQuadraticCost,
    QuadraticCost,
)
from merganser.framework.optimization.evaluators.evaluators import Constraint, Cost
from merganser.framework.optimization.evaluators.linear_constraints import LinearConstraint, LinearEqualityConstraint
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.parsing import parsed_cost, parsed_formulas
from merganser.framework.optimization.programs.program_constraints import root_of_form
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement, Recorder
from merganser.geometry.registration.ids import _Identifier

if TYPE_CHECKING:
    from merganser.framework.symbolic import Variable


class Block(NamedTuple):
    """A w in a cone.

    Attributes:
        cone: "zero", "at most zero", "lorentz", "rotated", "matrix" or "exponential".
        A: shape [rows, size of w]; of a matrix, its entries column by column.
    """

    cone: str
    A: Array


def blocks_of_set(set: ConvexSet) -> tuple[list[Block], int]:
    """y in s S as blocks of w = (y, s, new variables), and how many new variables there are."""
    n, recorder = set.ambient_dimension(), Recorder()
    prog: Any = recorder
    variables = prog.NewContinuousVariables(n + 1)
    set._add(prog, Placement(np.eye(n, n + 1), np.zeros(n), np.eye(n + 1)[n], 0.0, variables))
    found = [(columns, block) for A, low, high, columns in recorder.rows for block in _blocks_of_rows(A, low, high)]
    found += [(columns, block) for cone, columns in recorder.cones for block in blocks_of_constraint(cone)]
    blocks = []
    for columns, block in found:
        A = np.zeros((block.A.shape[0], recorder.num_vars))
        for place, column in zip(columns, block.A[:, :-1].T):  # there are no constants: all is in y and s
            A[:, place] += column
        blocks.append(Block(block.cone, A))
    return blocks, recorder.num_vars - n - 1


def _blocks_of_rows(A: Array, low: Array, high: Array) -> list[Block]:
    equal = low == high
    upper, lower = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    parts = [("zero", A, high, equal), ("at most zero", A, high, upper), ("at most zero", -A, -low, lower)]
    return [Block(cone, np.column_stack((rows[kept], -b[kept]))) for cone, rows, b, kept in parts if kept.any()]


def blocks_of_constraint(constraint: Any) -> list[Block]:
    """(1) as blocks of w = (y, s).

    Raises:
        RuntimeError: the constraint has no perspective here.
    """
    if isinstance(constraint, LinearConstraint):
        return _blocks_of_rows(constraint.GetDenseA(), constraint.lower_bound(), constraint.upper_bound())
    if isinstance(constraint, LinearMatrixInequalityConstraint):
        constant, *slopes = (F.ravel("F") for F in constraint.F())
        return [Block("matrix", np.column_stack((*slopes, constant)))]
    if isinstance(constraint, PositiveSemidefiniteConstraint):
        n = constraint.num_vars()
        return [Block("matrix", np.eye(n, n + 1))]
    for kind, cone in _CONES.items():
        if isinstance(constraint, kind):
            return [Block(cone, np.column_stack((constraint.A().toarray(), constraint.b())))]
    raise RuntimeError(
        f"GraphOfConvexSets: a {type(constraint).__name__} can only be used in the restriction: use_in_transcription="
        "{GraphOfConvexSets.Transcription.kRestriction}. It is no linear constraint and no cone."
    )


_CONES: dict[Any, str] = {
    LorentzConeConstraint: "lorentz",
    RotatedLorentzConeConstraint: "rotated",
    ExponentialConeConstraint: "exponential",
}


def blocks_of_cost(cost: Any) -> tuple[list[Block], int]:
    """(2) as blocks of w = (y, s, l, new variables), and how many new variables there are.

    Raises:
        RuntimeError: the cost has no perspective here, or is not convex.
    """
    n = cost.num_vars()
    l = np.eye(n + 2)[n + 1]
    if isinstance(cost, LinearCost):
        return [Block("at most zero", np.concatenate((cost.a(), [cost.b(), -1.0]))[np.newaxis])], 0
    if isinstance(cost, QuadraticCost):
        return [_of_quadratic(cost)], 0
    if isinstance(cost, L1NormCost):  # -t <= A y + b s <= t, sum(t) <= l
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        m = z.shape[0]
        total = np.concatenate((-l, np.ones(m)))
        return [Block("at most zero", np.vstack((np.hstack((z, -np.eye(m))), np.hstack((-z, -np.eye(m))), total)))], m
    if isinstance(cost, LInfNormCost):
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        return [Block("at most zero", np.vstack((z - l, -z - l)))], 0
    if isinstance(cost, L2NormCost):
        b = cost.b()
        return [Block("lorentz", np.vstack((l, np.column_stack((cost.GetDenseA(), b, np.zeros(b.size))))))], 0
    if isinstance(cost, PerspectiveQuadraticCost):  # l z0 >= |z1|^2
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        return [Block("rotated", np.vstack((l, z)))], 0
    raise RuntimeError(
        f"GraphOfConvexSets: a {type(cost).__name__} can only be used in the restriction: use_in_transcription="
        "{GraphOfConvexSets.Transcription.kRestriction}. It is not linear, quadratic or a norm."
    )


def _of_quadratic(cost: QuadraticCost) -> Block:
    # s (l - b'y - c s) >= 0.5 |R y|^2 with Q = R'R
    if not cost.is_convex():
        raise RuntimeError(f"GraphOfConvexSets: expected a convex cost; of {cost.get_description() or 'a cost'} Q has "
                           "a negative eigenvalue.")  # fmt: skip
    Q = cost.Q()
    R = root_of_form(Q, "GraphOfConvexSets")
    n, m = cost.num_vars(), R.shape[0]
    flow = np.eye(n + 2)[n]
    rest = np.concatenate((-cost.b(), [-cost.c(), 1.0]))
    return Block("rotated", np.vstack((flow, rest, np.column_stack((R / np.sqrt(2.0), np.zeros((m, 2)))))))


def evaluator_of(block: Block, constants: Array) -> Any:
    """A w + constants in a cone, as a constraint."""
    cone, A = block
    if cone == "zero":
        return LinearEqualityConstraint(A, -constants)
    if cone == "at most zero":
        return LinearConstraint(A, np.full(constants.size, -np.inf), -constants)
    for kind, name in _CONES.items():
        if name == cone:
            return kind(A, constants)
    rows = round(np.sqrt(constants.size))
    F = [each.reshape(rows, rows) for each in (constants, *A.T)]
    return LinearMatrixInequalityConstraint([0.5 * (each + each.T) for each in F])


class Transcription(Enumeration):
    """The programs that a cost or constraint may be part of."""

    kMIP = 0
    kRelaxation = 1
    kRestriction = 2


@settings
@dataclass(eq=False, kw_only=True)
class GraphOfConvexSetsOptions:
    """How paths in graphs of convex sets are found.

    Attributes:
        convex_relaxation: whether flows are real numbers in place of binary ones; None: what suits the method.
        preprocessing: whether edges that no path from the source to the target has are left out at first, as far as a
            linear program for each shows; None: what suits the method.
        max_rounded_paths: how many different paths are drawn from the flows of the relaxation and solved; the best one
            is the result. None: what suits the method.
        max_rounding_trials: how many random walks at most for these.
        flow_tolerance: flows up to this are none for them.
        rounding_seed: of the random walks.
        solver: what solves the program, and those of rounding and preprocessing that have no solver of their own; by
            default what suits them best.
        restriction_solver: what solves programs of one path.
        preprocessing_solver: what solves the programs of preprocessing.
        solver_options: of the solver.
        restriction_solver_options: of the restriction's; by default those of the solver.
        preprocessing_solver_options: of that of preprocessing; by default those of the solver.
        parallelism: how many threads rounding uses.
    """

    convex_relaxation: bool | None = None
    preprocessing: bool | None = None
    max_rounded_paths: int | None = None
    max_rounding_trials: int = 100
    flow_tolerance: float = 1e-5
    rounding_seed: int = 0
    solver: SolverInterface | None = None
    restriction_solver: SolverInterface | None = None
    preprocessing_solver: SolverInterface | None = None
    solver_options: SolverOptions = field(default_factory=SolverOptions)
    restriction_solver_options: SolverOptions | None = None
    preprocessing_solver_options: SolverOptions | None = None
    parallelism: Parallelism = field(default_factory=Parallelism.Max, repr=False)


@settings
@dataclass(eq=False, kw_only=True)
class GcsGraphvizOptions:
    """What GetGraphvizString shows of a result.

    Attributes:
        show_slacks: flows times vectors.
        show_vars: the vector of each vertex.
        show_flows: the flow of each edge, as a number and as how dark the edge is.
        show_costs: costs of vertices and edges.
        scientific: numbers with exponents.
        precision: how many digits after the point.
    """

    show_slacks: bool = True
    show_vars: bool = True
    show_flows: bool = True
    show_costs: bool = True
    scientific: bool = False
    precision: int = 3


ALL = frozenset(Transcription)


class VertexId(_Identifier):
    """Names a vertex of a graph of convex sets."""

    __slots__ = ()


class EdgeId(_Identifier):
    """Names an edge of a graph of convex sets."""

    __slots__ = ()


def _transcriptions(given: Iterable[Transcription], where: str) -> frozenset[Transcription]:
    chosen = frozenset(given)
    if not chosen:
        raise RuntimeError(f"{where}: expected at least one transcription, got none.")
    return chosen


class _Part:
    """What vertices and edges have in common: a name, costs and constraints of some variables."""

    def __init__(self, name: str, variables: Objects) -> None:
        self._name = name
        self._allowed = frozenset(variables.tolist())
        # of each cost, where it is used, and the variable l of its perspective, whose value in a result is the cost
        self.costs: list[tuple[Binding, frozenset[Transcription], Variable]] = []
        self.constraints: list[tuple[Binding, frozenset[Transcription]]] = []

    def _where(self, function: str) -> str:
        return f"{type(self).__name__} '{self._name}'.{function}"

    def name(self) -> str:
        """The name."""
        return self._name

    def _check_variables(self, binding: Binding, where: str) -> None:
        for variable in binding.variables():
            if variable not in self._allowed:
                raise RuntimeError(f"{where}: {variable} is not a variable of this {type(self).__name__.lower()}.")

    def AddCost(
        self, e: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> Binding:
        """Adds a cost: an expression, or a binding of a Cost, of variables of this part of the graph.

        Costs are to be at least 0. In the relaxation and the mixed-integer program they must be linear, convex
        quadratic, a 1-, 2- or infinity norm or a PerspectiveQuadraticCost, and are there times the flow.

        Args:
            e: the expression, or the binding.
            use_in_transcription: which programs have it.

        Returns:
            The cost. GetSolutionCost returns its value.

        Raises:
            RuntimeError: it has other variables, or no transcription is given.
        """
        from merganser.framework.symbolic import Variable

        where = self._where("AddCost")
        given = e if binding is None else binding
        cost = given if isinstance(given, Binding) else parsed_cost(given)
        if not isinstance(cost.evaluator(), Cost):
            raise TypeError(f"{where}: expected a cost, got {type(cost.evaluator()).__name__}.")
        self._check_variables(cost, where)
        used = _transcriptions(use_in_transcription, where)
        self.costs.append((cost, used, Variable(f"{self._name}ell{len(self.costs)}")))
        return cost

    def AddConstraint(
        self, f: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> Binding:
        """Adds a constraint: a formula, or a binding of a Constraint, of variables of this part of the graph.

        In the relaxation and the mixed-integer program it must be linear or a cone.

        Args:
            f: the formula, or the binding.
            use_in_transcription: which programs have it.

        Raises:
            RuntimeError: it has other variables or none, or no transcription is given.
        """
        where = self._where("AddConstraint")
        if not self._allowed:
            raise RuntimeError(f"{where}: there are no variables; the ambient dimension is 0.")
        given = f if binding is None else binding
        constraint = given if isinstance(given, Binding) else parsed_formulas(given)
        if not isinstance(constraint.evaluator(), Constraint):
            raise TypeError(f"{where}: expected a constraint, got {type(constraint.evaluator()).__name__}.")
        self._check_variables(constraint, where)
        self.constraints.append((constraint, _transcriptions(use_in_transcription, where)))
        return constraint

    def GetCosts(self, used_in_transcription: Iterable[Transcription] = ALL) -> list[Binding]:
        """Costs that are used in one of some transcriptions.

        Raises:
            RuntimeError: there is no transcription.
        """
        chosen = _transcriptions(used_in_transcription, self._where("GetCosts"))
        return [cost for cost, used, _ in self.costs if used & chosen]

    def GetConstraints(self, used_in_transcription: Iterable[Transcription] = ALL) -> list[Binding]:
        """Constraints that are used in one of some transcriptions.

        Raises:
            RuntimeError: there is no transcription.
        """
        chosen = _transcriptions(used_in_transcription, self._where("GetConstraints"))
        return [constraint for constraint, used in self.constraints if used & chosen]

    def GetSolutionCost(self, result: MathematicalProgramResult, cost: Binding | None = None) -> float | None:
        """The sum of the costs of this part in a result, or one of them; None if the result has no values of it.

        Raises:
            RuntimeError: the cost is not one of this part.
        """
        chosen = [l for each, _, l in self.costs if cost is None or each == cost]
        if cost is not None and not chosen:
            raise RuntimeError(f"{self._where('GetSolutionCost')}: {cost!r} is no cost of it.")
        if not self._is_in(result) or not all(map(result.has_variable, chosen)):
            return None
        return float(sum(result.GetSolution(l) for l in chosen))

    def _is_in(self, result: MathematicalProgramResult) -> bool:
        raise NotImplementedError


class Vertex(_Part):
    """A convex set of a graph, with variables x for a vector of it."""

    def __init__(self, id: VertexId, set: ConvexSet, name: str) -> None:
        from merganser.framework.symbolic import MakeVectorContinuousVariable

        self._id, self._set = id, set.Clone()
        self._x = MakeVectorContinuousVariable(set.ambient_dimension(), name)
        self._blocks: tuple[list[Block], int] | None = None
        self.incoming: list[Edge] = []
        self.outgoing: list[Edge] = []
        super().__init__(name, self._x)

    def id(self) -> VertexId:
        """The identifier."""
        return self._id

    def ambient_dimension(self) -> int:
        """The size n of x."""
        return self._set.ambient_dimension()

    def x(self) -> Objects:
        """Variables for a vector of the set, shape [n], of which costs and constraints are made."""
        return self._x.copy()

    def set(self) -> ConvexSet:
        """The convex set."""
        return self._set

    def blocks(self) -> tuple[list[Block], int]:
        """That a point is in a multiple of the set; see (1)."""
        if self._blocks is None:
            self._blocks = blocks_of_set(self._set) if self.ambient_dimension() else ([], 0)
        return self._blocks

    def incoming_edges(self) -> list[Edge]:
        """Edges to this vertex."""
        return list(self.incoming)

    def outgoing_edges(self) -> list[Edge]:
        """Edges from this vertex."""
        return list(self.outgoing)

    def GetSolution(self, result: MathematicalProgramResult) -> Array | None:
        """x in a result, shape [n]; None if the result has none, as for a vertex without flow."""
        if not all(map(result.has_variable, self._x)):
            return None
        x = np.asarray(result.GetSolution(self._x), dtype=np.float64)
        return None if np.isnan(x).any() else x

    def _is_in(self, result: MathematicalProgramResult) -> bool:
        return all(map(result.has_variable, self._x))


class Edge(_Part):
    """A directed edge from a vertex u to a vertex v, with a binary variable phi that says whether a path has it."""

    def __init__(self, id: EdgeId, u: Vertex, v: Vertex, name: str) -> None:
        from merganser.framework.symbolic import MakeVectorContinuousVariable, Variable

        self._id, self._u, self._v = id, u, v
        self._phi = Variable(f"{name}phi", Variable.Type.BINARY)
        self.y = MakeVectorContinuousVariable(u.ambient_dimension(), f"{name}y")  # phi xu
        self.z = MakeVectorContinuousVariable(v.ambient_dimension(), f"{name}z")  # phi xv
        self.fixed_phi: bool | None = None
        super().__init__(name, np.concatenate((u._x, v._x)))

    def id(self) -> EdgeId:
        """The identifier."""
        return self._id

    def u(self) -> Vertex:
        """The vertex where the edge begins."""
        return self._u

    def v(self) -> Vertex:
        """The vertex where it ends."""
        return self._v

    def phi(self) -> Variable:
        """1 if the path has the edge, else 0; in a relaxation, how much flow there is."""
        return self._phi

    def xu(self) -> Objects:
        """Variables x of u. GetSolutionPhiXu returns their values times phi."""
        return self._u.x()

    def xv(self) -> Objects:
        """Variables x of v. GetSolutionPhiXv returns their values times phi."""
        return self._v.x()

    def AddPhiConstraint(self, phi_value: bool) -> None:
        """Says that paths must have the edge, or must not."""
        self.fixed_phi = bool(phi_value)

    def ClearPhiConstraints(self) -> None:
        """Forgets what AddPhiConstraint said."""
        self.fixed_phi = None

    def GetSolutionPhiXu(self, result: MathematicalProgramResult) -> Array | None:
        """phi xu in a result: zeros without flow; None if the result has no values of the edge."""
        return self._values(result, self.y)

    def GetSolutionPhiXv(self, result: MathematicalProgramResult) -> Array | None:
        """phi xv in a result: zeros without flow; None if the result has no values of the edge."""
        return self._values(result, self.z)

    def _values(self, result: MathematicalProgramResult, variables: Objects) -> Array | None:
        if not self._is_in(result):
            return None
        return np.asarray(result.GetSolution(objects(variables)), dtype=np.float64)

    def _is_in(self, result: MathematicalProgramResult) -> bool:
        return result.has_variable(self._phi)
