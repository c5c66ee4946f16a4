"""The shortest path through a graph of convex sets as one program.

A path from s to t takes each vertex at most once; every vertex v that it visits has a vector x_v in X_v. With phi_e
whether the path has the edge e = (u, v), y_e = phi_e x_u and z_e = phi_e x_v, and g~(y, phi) = phi g(y / phi),

    minimize     sum_e g~_e(y_e, z_e, phi_e) + costs of vertices
    so that      y_e in phi_e X_u,  z_e in phi_e X_v                                              (1)
                 sum_out phi - sum_in phi = [v = s] - [v = t],   sum_out phi <= [v != t]          (2)
                 sum_out y = sum_in z                       v not s, t                            (3)
                 sum_out phi >= phi_e + phi_f                                                     (4)
                 sum_out y - y_e - z_f in (sum_out phi - phi_e - phi_f) X_v                       (5)

where (4) and (5), for e from v to w and f back, keep flow from going to and fro; they hold for all paths, and make the
relaxation tighter (Marcucci, Umenberger, Parrilo, Tedrake, Shortest paths in graphs of convex sets, SIAM J. Optim.
2024). Costs and constraints of a vertex are those of its y on each outgoing edge; of t, of its z on each incoming one.

With phi in {0, 1} this is the problem; with phi from 0 to 1 it is its convex relaxation, whose cost is a lower bound.

Programs of many small blocks, put together fast: all linear rows become one sparse constraint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.geometry.optimization.graph.parts import (
    Block,
    Edge,
    Transcription,
    Vertex,
    blocks_of_constraint,
    blocks_of_cost,
    evaluator_of,
)
from merganser.geometry.optimization.sets.arguments import Array

if TYPE_CHECKING:
    from merganser.framework.symbolic import Variable


Index = npt.NDArray[np.intp]


class Assembly:
    """Variables, rows and cones of a program to be; variables go by their numbers, called columns."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        # linear rows by their bounds and the shape of A, so that all of a kind become entries at once
        self._rows: dict[tuple[float, float, tuple[int, ...]], tuple[list[Array], list[Index]]] = {}
        self._cones: list[tuple[Block, Index]] = []

    def add_variables(self, variables: Objects) -> Index:
        """Adds variables, shape [n], that are not there yet; returns their columns."""
        first = len(self._variables)
        self._variables += variables.tolist()
        return np.arange(first, len(self._variables))

    def add_new(self, n: int) -> Index:
        """Adds n new variables; returns their columns."""
        from merganser.framework.symbolic import MakeVectorContinuousVariable

        return self.add_variables(MakeVectorContinuousVariable(n, "w")) if n else np.zeros(0, np.intp)

    def add_rows(self, A: Array, columns: Index, lower: float, upper: float) -> None:
        """Adds lower <= A w <= upper of the variables w in some columns, the same bounds for all rows."""
        matrices, places = self._rows.setdefault((lower, upper, A.shape), ([], []))
        matrices.append(A)
        places.append(columns)

    def add(self, block: Block, columns: Index) -> None:
        """Adds A w in a cone, of the variables w in some columns."""
        if block.cone == "at most zero":
            self.add_rows(block.A, columns, -np.inf, 0.0)
        elif block.cone == "zero":
            self.add_rows(block.A, columns, 0.0, 0.0)
        else:
            self._cones.append((block, columns))

    def program(self) -> MathematicalProgram:
        """The program, without costs."""
        prog = MathematicalProgram()
        variables = objects(self._variables)
        prog.AddDecisionVariables(variables)
        if self._rows:
            prog.AddLinearConstraint(*self._linear(variables.size), variables)
        shared: dict[int, Any] = {}  # one constraint for all columns of a block
        for block, columns in self._cones:
            cone = shared.get(id(block))
            if cone is None:
                cone = shared[id(block)] = evaluator_of(block, np.zeros(block.A.shape[0]))
            prog.AddConstraint(Binding(cone, variables[columns]))
        return prog

    def _linear(self, size: int) -> tuple[Any, Array, Array]:
        """All linear rows: a sparse matrix, lower and upper bounds."""
        from scipy.sparse import csc_matrix

        triplets, lower, upper = [], [], []
        first = 0
        for (low, high, (m, _)), (matrices, places) in self._rows.items():
            A, columns = np.array(matrices), np.array(places, dtype=np.intp)
            which, row, place = np.nonzero(A)
            triplets.append((first + m * which + row, columns[which, place], A[which, row, place]))
            count = m * len(matrices)
            lower.append(np.full(count, low))
            upper.append(np.full(count, high))
            first += count
        rows, columns, values = (np.concatenate(each) for each in zip(*triplets))
        A = csc_matrix((values, (rows, columns)), shape=(first, size))
        return A, np.concatenate(lower), np.concatenate(upper)


NO_FLOW = 1e-7  # a vertex with less has no vector: that would be what a solver leaves over what it leaves


class _Flow:
    """Columns of an edge in the program."""

    def __init__(self, edge: Edge, phi: int, y: Index, z: Index) -> None:
        self.edge, self.phi, self.y, self.z = edge, phi, y, z


class ShortestPath:
    """The program of the shortest path, and what its solution says of vertices and edges."""

    def __init__(
        self, vertices: Iterable[Vertex], edges: Iterable[Edge], source: Vertex, target: Vertex, is_relaxed: bool
    ) -> None:
        """Makes the program.

        Args:
            vertices: all vertices of the graph.
            edges: those that a path may have.
            source, target: where it begins and ends.
            is_relaxed: whether flows are real numbers.

        Raises:
            RuntimeError: a cost or constraint has no perspective.
        """
        from merganser.framework.symbolic import Variable

        self._vertices = list(vertices)
        self._source, self._target, self._is_relaxed = source, target, is_relaxed
        self._transcription = Transcription.kRelaxation if is_relaxed else Transcription.kMIP
        self._assembly = Assembly()
        self._cost_columns: list[int] = []
        # of the costs of each vertex, the columns of their parts on edges
        self._vertex_costs: dict[Variable, list[int]] = {}
        self._blocks: dict[int, Any] = {}  # by the evaluator's id()
        edges = list(edges)
        relaxed = [Variable("phi") if is_relaxed else edge.phi() for edge in edges]
        phis = self._assembly.add_variables(objects(relaxed))
        self._flows = [
            _Flow(edge, int(phi), self._assembly.add_variables(edge.y), self._assembly.add_variables(edge.z))
            for edge, phi in zip(edges, phis)
        ]
        self._leaving: dict[Vertex, list[_Flow]] = {vertex: [] for vertex in self._vertices}
        self._entering: dict[Vertex, list[_Flow]] = {vertex: [] for vertex in self._vertices}
        for flow in self._flows:
            self._leaving[flow.edge.u()].append(flow)
            self._entering[flow.edge.v()].append(flow)
            self._add_edge(flow)
        if not self._flows:
            self._assembly.add_new(1)  # solvers take no program without variables
        for vertex in self._vertices:
            self._add_vertex(vertex)
        self.prog = self._program(phis)

    def _program(self, phis: Index) -> MathematicalProgram:
        prog = self._assembly.program()
        variables = prog.decision_variables()
        if phis.size:
            least = [float(bool(flow.edge.fixed_phi)) for flow in self._flows]  # at most 1 is said by (2)
            prog.AddBoundingBoxConstraint(least, np.full(phis.size, np.inf), variables[phis])
        if self._cost_columns:
            prog.AddLinearCost(np.ones(len(self._cost_columns)), variables[self._cost_columns])
        return prog

    # -- edges ------------------------------------------------------------------------------------------------------

    def _add_edge(self, flow: _Flow) -> None:
        edge = flow.edge
        column_of = dict(zip(edge.xv().tolist(), flow.z)) | dict(zip(edge.xu().tolist(), flow.y))
        for cost, used, l in edge.costs:
            if self._transcription in used:
                place = int(self._assembly.add_variables(objects([l]))[0])
                self._add_cost(cost, column_of, flow.phi, place)
        for constraint, used in edge.constraints:
            if self._transcription in used:
                self._add_constraint(constraint, column_of, flow.phi)

    def _add_cost(self, cost: Any, column_of: dict[Any, Any], phi: int, place: int) -> None:
        blocks, num_new = self._blocks_of(cost.evaluator(), blocks_of_cost)
        self._cost_columns.append(place)
        known = [*(column_of[each] for each in cost.variables().tolist()), phi, place]
        self._add_blocks(blocks, known, num_new)

    def _add_constraint(self, constraint: Any, column_of: dict[Any, Any], phi: int) -> None:
        blocks = self._blocks_of(constraint.evaluator(), blocks_of_constraint)
        self._add_blocks(blocks, [*(column_of[each] for each in constraint.variables().tolist()), phi], 0)

    def _blocks_of(self, evaluator: Any, find: Any) -> Any:
        if id(evaluator) not in self._blocks:
            self._blocks[id(evaluator)] = find(evaluator)
        return self._blocks[id(evaluator)]

    def _add_blocks(self, blocks: list[Block], known: list[Any], num_new: int) -> None:
        columns = np.array(known, dtype=np.intp)
        if num_new:
            columns = np.concatenate((columns, self._assembly.add_new(num_new)))
        for block in blocks:
            self._assembly.add(block, columns)

    # -- vertices ---------------------------------------------------------------------------------------------------

    def _add_vertex(self, vertex: Vertex) -> None:
        leaving, entering = self._leaving[vertex], self._entering[vertex]
        if not leaving and not entering and vertex not in (self._source, self._target):
            return
        is_source, is_target = vertex is self._source, vertex is self._target
        out, into = np.array([f.phi for f in leaving], np.intp), np.array([f.phi for f in entering], np.intp)
        signs = np.concatenate((np.ones(out.size), -np.ones(into.size)))
        balance = float(is_source) - float(is_target)
        self._assembly.add_rows(signs[np.newaxis], np.concatenate((out, into)), balance, balance)
        if out.size:
            self._assembly.add_rows(np.ones((1, out.size)), out, -np.inf, float(not is_target))
        points = [(f.y, f.phi) for f in leaving] + [(f.z, f.phi) for f in entering]
        self._add_points(vertex, points)
        if not is_source and not is_target:
            for row in zip(*(columns for columns, _ in points)):  # (3)
                self._assembly.add_rows(signs[np.newaxis], np.array(row), 0.0, 0.0)
            self._add_two_cycles(vertex)
        self._add_vertex_terms(vertex, points[len(leaving) :] if is_target else points[: len(leaving)])

    def _add_points(self, vertex: Vertex, points: list[tuple[Index, int]]) -> None:
        """(1)"""
        blocks, num_new = vertex.blocks()
        for columns, phi in points if blocks else ():
            everything = np.concatenate((columns, [phi], self._assembly.add_new(num_new)))
            for block in blocks:
                self._assembly.add(block, everything)

    def _add_two_cycles(self, vertex: Vertex) -> None:
        """(4) and (5)."""
        leaving = self._leaving[vertex]
        by_start: dict[Vertex, list[_Flow]] = {}
        for flow in self._entering[vertex]:
            by_start.setdefault(flow.edge.u(), []).append(flow)
        n = vertex.ambient_dimension()
        blocks, num_new = vertex.blocks()
        for flow in leaving:
            for back in by_start.get(flow.edge.v(), ()):
                others = [each for each in leaving if each is not flow]
                signs = np.concatenate((np.ones(len(others)), [-1.0]))
                phis = np.array([*(each.phi for each in others), back.phi], np.intp)
                self._assembly.add_rows(signs[np.newaxis], phis, 0.0, np.inf)
                if not n:
                    continue
                new = self._assembly.add_new(num_new)
                columns = np.concatenate((*(each.y for each in others), back.z, phis, new))
                for cone, A in blocks:
                    y, s = A[:, :n], A[:, n : n + 1]
                    parts = (*(y for _ in others), -y, *(s for _ in others), -s, A[:, n + 1 :])
                    self._assembly.add(Block(cone, np.concatenate(parts, axis=1)), columns)

    def _add_vertex_terms(self, vertex: Vertex, points: list[tuple[Index, int]]) -> None:
        """Costs and constraints of a vertex, of its point on each edge that its flow takes."""
        used = [(cost, l) for cost, where, l in vertex.costs if self._transcription in where]
        constraints = [each for each, where in vertex.constraints if self._transcription in where]
        if not used and not constraints:
            return
        names = vertex.x().tolist()
        for columns, phi in points:
            column_of = dict(zip(names, columns))
            for constraint in constraints:
                self._add_constraint(constraint, column_of, phi)
            for cost, l in used:
                place = int(self._assembly.add_new(1)[0])
                self._vertex_costs.setdefault(l, []).append(place)
                self._add_cost(cost, column_of, phi, place)

    # -- solutions --------------------------------------------------------------------------------------------------

    def complete(self, result: MathematicalProgramResult, all_edges: Iterable[Edge]) -> None:
        """Adds to a result what follows for vertices, and for edges without flow."""
        x = result.get_x_val() if result.get_x_val().size == self.prog.num_vars() else None
        names: list[Variable] = []
        values: list[Array] = []

        def put(variables: Any, numbers: Any) -> None:
            names.extend(variables)
            values.append(np.atleast_1d(numbers))

        for vertex in self._vertices:
            put(vertex.x(), self._point_of(vertex, x))
            for _, _, l in vertex.costs:
                put([l], x[self._vertex_costs[l]].sum() if x is not None and l in self._vertex_costs else 0.0)
        solved = set()
        for flow in self._flows:
            solved.add(flow.edge)
            if self._is_relaxed:
                put([flow.edge.phi()], np.nan if x is None else x[flow.phi])
            for _, used, l in flow.edge.costs:
                if self._transcription not in used:
                    put([l], 0.0)
        for edge in all_edges:
            if edge not in solved:
                rest = [edge.phi(), *edge.y, *edge.z, *(l for _, _, l in edge.costs)]
                put(rest, np.zeros(len(rest)))
        result.add_values(objects(names), np.concatenate([np.zeros(0), *values]))

    def _point_of(self, vertex: Vertex, x: Array | None) -> Array:
        is_target = vertex is self._target
        flows = self._entering[vertex] if is_target else self._leaving[vertex]
        nothing = np.full(vertex.ambient_dimension(), np.nan)
        if x is None or not flows:
            return nothing
        total = float(sum(x[flow.phi] for flow in flows))
        if total < NO_FLOW:
            return nothing
        return np.asarray(sum(x[flow.z if is_target else flow.y] for flow in flows) / total)
