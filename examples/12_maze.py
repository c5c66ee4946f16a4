"""Find the shortest way through a maze: a graph of convex sets, relaxed, rounded and solved.

    python examples/12_maze.py [--output FOLDER] [--size N] [--seed S]

Each cell of the maze is a convex set, and each opening between two cells an edge whose length is a cost. The convex
relaxation gives a lower bound of the length and flows; random walks along the flows give paths, and the best of them is
the way. Where its length is the lower bound there is no shorter one. Loops of flow that are apart from the way cost
nothing: their cells have a point in common.

Writes maze.png (the walls, the flows and the way) into the output folder.
"""

import argparse
import time
from pathlib import Path

import networkx as nx
import numpy as np

from merganser.framework.optimization import Binding, Cost, L2NormCost, LinearConstraint
from merganser.geometry.optimization import GraphOfConvexSets, GraphOfConvexSetsOptions, HPolyhedron, Point


# 1. A random spanning tree of cells has one way only; with some more openings there are several.
def random_maze(size, num_more, seed):
    generator = np.random.default_rng(seed)
    cells = nx.grid_2d_graph(size, size)
    for u, v in cells.edges:
        cells.edges[u, v]["weight"] = generator.uniform()
    maze = nx.minimum_spanning_tree(cells)
    closed = [pair for pair in cells.edges if not maze.has_edge(*pair)]
    for place in generator.choice(len(closed), min(num_more, len(closed)), replace=False):
        maze.add_edge(*closed[place])
    return cells, maze


# 2. Its graph of convex sets. A step from u to v ends in the wall between them: in both cells.
def graph_of(maze, size):
    graph = GraphOfConvexSets()
    cells = {cell: graph.AddVertex(HPolyhedron.MakeBox(cell, np.add(cell, 1.0)), str(cell)) for cell in maze.nodes}
    start, end = graph.AddVertex(Point([0.5, 0.5]), "start"), graph.AddVertex(Point([size - 0.5] * 2), "end")
    length = L2NormCost(np.hstack((np.eye(2), -np.eye(2))), np.zeros(2))

    def connect(u, v, is_step=True):
        edge = graph.AddEdge(u, v)
        edge.AddCost(Binding[Cost](length, np.concatenate((edge.xu(), edge.xv()))))
        if is_step:
            in_u = LinearConstraint(u.set().A(), np.full(4, -np.inf), u.set().b())
            edge.AddConstraint(Binding(in_u, edge.xv()))

    for a, b in maze.edges:
        connect(cells[a], cells[b])
        connect(cells[b], cells[a])
    connect(start, cells[0, 0], is_step=False)
    connect(cells[size - 1, size - 1], end, is_step=False)
    return graph, start, end


# 3. The lower bound with its flows, and the way.
def solve(graph, start, end):
    options = GraphOfConvexSetsOptions(convex_relaxation=True)
    relaxed = graph.SolveShortestPath(start, end, options)
    options.max_rounded_paths = 20
    rounded = graph.SolveShortestPath(start, end, options)
    if not rounded.is_success():
        raise SystemExit(f"No way was found: {rounded.get_solution_result()}.")
    return relaxed, rounded


def plot(cells, maze, graph, relaxed, rounded, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 7.0), layout="constrained")
    axes = figure.subplots()
    size = max(cell[0] for cell in cells.nodes) + 1
    for (x, y), (x2, y2) in cells.edges:
        if not maze.has_edge((x, y), (x2, y2)):  # a wall between two cells is at right angles to the line between them
            ends = ([x2, x2], [y, y + 1]) if x2 > x else ([x, x + 1], [y2, y2])
            axes.plot(*ends, "k", linewidth=1.5)
    axes.plot([0, size, size, 0, 0], [0, 0, size, size, 0], "k", linewidth=2.5)
    for edge in graph.Edges():
        flow = relaxed.GetSolution(edge.phi())
        ends = edge.u().GetSolution(relaxed), edge.v().GetSolution(relaxed)
        if flow > 0.05 and ends[0] is not None and ends[1] is not None:
            axes.plot(*np.transpose(ends), color="C0", linewidth=6.0 * min(flow, 1.0), alpha=0.4)
    for edge in graph.Edges():
        if rounded.GetSolution(edge.phi()) > 0.5:
            axes.plot(
                *np.transpose([edge.u().GetSolution(rounded), edge.v().GetSolution(rounded)]), "C3", linewidth=2.0
            )
    axes.plot(
        [],
        [],
        "C0",
        linewidth=5.0,
        alpha=0.4,
        label=f"flows of the relaxation, at least {relaxed.get_optimal_cost():.3f}",
    )
    axes.plot([], [], "C3", label=f"the way, {rounded.get_optimal_cost():.3f}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    axes.set(title="A maze by a graph of convex sets", aspect="equal")
    axes.axis("off")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    parser.add_argument("--size", type=int, default=14, help="how many cells in each direction")
    parser.add_argument("--seed", type=int, default=3, help="of the maze")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    cells, maze = random_maze(arguments.size, 2 * arguments.size, arguments.seed)
    graph, start, end = graph_of(maze, arguments.size)
    begin = time.perf_counter()
    relaxed, rounded = solve(graph, start, end)
    bound, length = relaxed.get_optimal_cost(), rounded.get_optimal_cost()
    print(f"{graph.num_vertices()} sets, {graph.num_edges()} edges: {time.perf_counter() - begin:.1f} s")
    print(f"The way is {length:.4f} long; none is shorter than {bound:.4f} (a gap of {abs(length / bound - 1.0):.1e}).")
    plot(cells, maze, graph, relaxed, rounded, arguments.output / "maze.png")
    print(f"Picture: {arguments.output / 'maze.png'}")


if __name__ == "__main__":
    main()
