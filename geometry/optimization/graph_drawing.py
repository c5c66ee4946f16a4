"""Graphs of convex sets in the DOT language of Graphviz."""

from __future__ import annotations

__all__ = ["graphviz_string"]

from collections.abc import Iterable, Sequence

from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.graph_options import GcsGraphvizOptions
from merganser.geometry.optimization.graph_parts import Edge, Vertex


def graphviz_string(
    vertices: Iterable[Vertex], edges: Iterable[Edge], result: MathematicalProgramResult | None,
    options: GcsGraphvizOptions, active_path: Sequence[Edge],
) -> str:  # fmt: skip
    """The graph, with values of a result if there is one; edges of the active path once more, red and dashed."""
    drawing = _Drawing(result, options)
    lines = ["digraph GraphOfConvexSets {", "labelloc=t;"]
    lines += [f'{_key(each)} [label="{drawing.vertex_label(each)}"]' for each in vertices]
    lines += [f'{_ends(each)} [label="{drawing.edge_label(each)}"{drawing.shade(each)}];' for each in edges]
    lines += [
        f'{_ends(each)} [label="{each.name()} = active", color="#ff0000", style="dashed"];' for each in active_path
    ]
    return "\n".join((*lines, "}", ""))


def _key(vertex: Vertex) -> str:
    return f"v{vertex.id().get_value()}"


def _ends(edge: Edge) -> str:
    return f"{_key(edge.u())} -> {_key(edge.v())}"


class _Drawing:
    def __init__(self, result: MathematicalProgramResult | None, options: GcsGraphvizOptions) -> None:
        self._result, self._options = result, options

    def _number(self, value: float) -> str:
        return f"{value:.{self._options.precision}{'e' if self._options.scientific else 'f'}}"

    def _vector(self, values: Array | None) -> str:
        return "" if values is None else f"[{' '.join(map(self._number, values))}]"

    def vertex_label(self, vertex: Vertex) -> str:
        lines = [vertex.name()]
        if self._result is not None:
            x, cost = vertex.GetSolution(self._result), vertex.GetSolutionCost(self._result)
            if self._options.show_vars and x is not None:
                lines.append(f"x = {self._vector(x)}")
            if self._options.show_costs and cost is not None:
                lines.append(f"cost = {self._number(cost)}")
        return "\n".join(lines)

    def edge_label(self, edge: Edge) -> str:
        lines = [edge.name()]
        if self._result is not None:
            cost = edge.GetSolutionCost(self._result)
            if self._options.show_costs and cost is not None:
                lines.append(f"cost = {self._number(cost)}")
            if self._options.show_slacks:
                lines.append(f"ϕ xᵤ = {self._vector(edge.GetSolutionPhiXu(self._result))},")
                lines.append(f"ϕ xᵥ = {self._vector(edge.GetSolutionPhiXv(self._result))}")
            if self._options.show_flows:
                lines.append(f"ϕ = {self._number(self._flow(edge))}")
        return "\n".join(lines)

    def _flow(self, edge: Edge) -> float:
        known = self._result is not None and self._result.has_variable(edge.phi())
        return float(self._result.GetSolution(edge.phi())) if known and self._result is not None else 0.0

    def shade(self, edge: Edge) -> str:
        """A color as dark as there is flow."""
        if self._result is None or not self._options.show_flows:
            return ""
        darkness = round(255 * min(max(self._flow(edge), 0.0), 1.0))
        return f', color="#000000{max(darkness, 16):02X}"'
