"""The program of a path that is known: vectors of its vertices, without flows."""

from __future__ import annotations

__all__ = ["ConvexRestriction"]

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.evaluators.costs import L1NormCost, LInfNormCost, PerspectiveQuadraticCost
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.geometry.optimization.graph_options import Transcription
from merganser.geometry.optimization.graph_parts import Edge, Vertex
from merganser.geometry.optimization.perspective import blocks_of_cost, evaluator_of

_KIND = Transcription.kRestriction


class ConvexRestriction:
    """The least cost of vectors x_v in X_v of the vertices of some edges, all of which are active."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self._edges = list(edges)
        self._active = list(dict.fromkeys(vertex for edge in edges for vertex in (edge.u(), edge.v())))
        self.prog = MathematicalProgram()
        for vertex in self._active:
            if vertex.ambient_dimension():
                self.prog.AddDecisionVariables(vertex.x())
                vertex.set().AddPointInSetConstraints(self.prog, vertex.x())
        for part in (*self._active, *dict.fromkeys(self._edges)):
            for cost in part.GetCosts([_KIND]):
                self._add_cost(cost)
            for constraint in part.GetConstraints([_KIND]):
                self.prog.AddConstraint(constraint)

    def _add_cost(self, cost: Binding) -> None:
        evaluator = cost.evaluator()
        if not isinstance(evaluator, (L1NormCost, LInfNormCost, PerspectiveQuadraticCost)):
            self.prog.AddCost(cost)
            return
        # no costs of their own for solvers of convex programs: an upper bound l of the cost, with a flow of 1
        n = evaluator.num_vars()
        blocks, num_new = blocks_of_cost(evaluator)
        new = self.prog.NewContinuousVariables(1 + num_new, "l")
        self.prog.AddLinearCost(np.ones(1), new[:1])
        for block in blocks:
            reduced = block._replace(A=np.delete(block.A, n, axis=1))
            bound = evaluator_of(reduced, block.A[:, n])
            self.prog.AddConstraint(Binding(bound, np.concatenate((cost.variables(), new))))

    def guess(self, result: MathematicalProgramResult) -> Any:
        """A guess for the program by values of another result.

        Raises:
            RuntimeError: there are none for a vertex of the path.
        """
        guess = np.zeros(self.prog.num_vars())
        for vertex in self._active:
            x = vertex.GetSolution(result)
            if x is None:
                raise RuntimeError(
                    f"SolveConvexRestriction: initial_guess has no solution of the vertex '{vertex.name()}'."
                )
            guess[self.prog.FindDecisionVariableIndices(vertex.x())] = x
        return guess

    def complete(
        self, result: MathematicalProgramResult, all_vertices: Iterable[Vertex], all_edges: Iterable[Edge]
    ) -> None:
        """Adds to a result flows, costs, and NaN for vertices that the path does not visit."""
        active, edges = set(self._active), set(self._edges)
        names: list[Any] = []
        values: list[float] = []

        def tell(variables: Objects | list[Any], numbers: Any) -> None:
            names.extend(variables)
            values.extend(np.broadcast_to(numbers, len(variables)))

        for vertex in all_vertices:
            if vertex not in active:
                tell(vertex.x(), np.nan)
            self._tell_costs(vertex, vertex in active, result, tell)
        for edge in all_edges:
            is_active = edge in edges
            tell([edge.phi()], float(is_active))
            tell(edge.y, result.GetSolution(edge.xu()) if is_active else 0.0)
            tell(edge.z, result.GetSolution(edge.xv()) if is_active else 0.0)
            self._tell_costs(edge, is_active, result, tell)
        result.add_values(objects(names), values)

    def _tell_costs(self, part: Vertex | Edge, is_active: bool, result: MathematicalProgramResult, tell: Any) -> None:
        for cost, used, l in part.costs:
            is_counted = is_active and _KIND in used
            tell([l], float(np.asarray(result.EvalBinding(cost)).item()) if is_counted else 0.0)
