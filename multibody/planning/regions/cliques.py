"""Cliques of graphs: sets of vertices each two of which have an edge; the largest, and covers by them.

Both problems are NP-complete (Karp, Reducibility among combinatorial problems, 1972).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import MathematicalProgram, Solve, SolverOptions
from merganser.framework.optimization.arrays import vector

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def _checked_graph(adjacency_matrix: Any, where: str) -> Any:
    """The matrix as a sparse one of truth values, without its diagonal.

    Raises:
        ValueError: it is not square, or not symmetric.
    """
    from scipy.sparse import csc_matrix

    graph = csc_matrix(adjacency_matrix, dtype=np.bool_)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"{where}: expected a square adjacency_matrix, got the shape {graph.shape}.")
    if (graph != graph.T).nnz:
        raise ValueError(f"{where}: expected a symmetric adjacency_matrix: edges have no direction.")
    if graph.diagonal().any():
        graph = graph.tolil()
        graph.setdiag(False)
        graph = graph.tocsc()
        graph.eliminate_zeros()
    return graph


class MaxCliqueSolverBase:
    """Finds a largest clique, or one that is large. A subclass defines `DoSolveMaxClique`."""

    def SolveMaxClique(self, adjacency_matrix: Any) -> Bools:
        """A clique of a graph.

        Args:
            adjacency_matrix: whether two vertices have an edge, shape [n, n], symmetric; sparse or dense. The diagonal
                does not matter.

        Returns:
            Which vertices are in the clique, shape [n].

        Raises:
            ValueError: the matrix is not square, or not symmetric.
            RuntimeError: the solver finds none.
        """
        where = f"{type(self).__name__}.SolveMaxClique"
        graph = _checked_graph(adjacency_matrix, where)
        found = np.asarray(self.DoSolveMaxClique(graph), dtype=np.bool_).ravel()
        if found.size != graph.shape[0]:
            raise RuntimeError(f"{where}: expected {graph.shape[0]} values from DoSolveMaxClique, got {found.size}.")
        return found

    def DoSolveMaxClique(self, adjacency_matrix: Any) -> Bools:
        """The vertices of the clique as a mask, shape [n]; of a checked csc_matrix of truth values, shape [n, n]."""
        raise NotImplementedError(f"{type(self).__name__} does not define DoSolveMaxClique.")


class MaxCliqueSolverViaGreedy(MaxCliqueSolverBase):
    """Adds the vertex that has the most edges to others that may follow, one after the other."""

    def DoSolveMaxClique(self, adjacency_matrix: Any) -> Bools:
        """The clique that this ends with; n steps at most."""
        edges = adjacency_matrix.toarray()
        clique, candidates = np.zeros(len(edges), bool), np.ones(len(edges), bool)
        while candidates.any():
            degrees = np.where(candidates, edges[:, candidates].sum(axis=1), -1)
            vertex = int(degrees.argmax())
            clique[vertex] = True
            candidates &= edges[vertex]
        return clique


class MaxCliqueSolverViaMip(MaxCliqueSolverBase):
    """Finds a largest clique by a mixed-integer program, by HiGHS:

        max sum(x)   so that   x_i + x_j <= 1 where i and j have no edge,   x in {0, 1}

    MaxCliqueSolverViaMip(initial_guess=None, solver_options=None).

    Args:
        initial_guess: of x, shape [n], or None.
        solver_options: for the solver.
    """

    def __init__(self, initial_guess: Any = None, solver_options: SolverOptions | None = None) -> None:
        self.SetInitialGuess(initial_guess)
        self.SetSolverOptions(SolverOptions() if solver_options is None else solver_options)

    def SetInitialGuess(self, initial_guess: Any) -> None:
        """Sets a guess of which vertices are in the clique, shape [n], or None."""
        where = "MaxCliqueSolverViaMip.SetInitialGuess"
        self._guess = None if initial_guess is None else vector(initial_guess, where, "initial_guess")

    def GetInitialGuess(self) -> Array | None:
        """The guess, shape [n], or None."""
        return None if self._guess is None else self._guess.copy()

    def SetSolverOptions(self, solver_options: SolverOptions) -> None:
        """Sets options for the solver."""
        self._options = solver_options

    def GetSolverOptions(self) -> SolverOptions:
        """The options for the solver."""
        return self._options

    def DoSolveMaxClique(self, adjacency_matrix: Any) -> Bools:
        """A largest clique.

        Raises:
            RuntimeError: the guess has another size, or the solver did not converge.
        """
        n = adjacency_matrix.shape[0]
        where = "MaxCliqueSolverViaMip.SolveMaxClique"
        if self._guess is not None and self._guess.size != n:
            raise RuntimeError(f"{where}: expected an initial guess of {n} values, got {self._guess.size}.")
        if n == 0:
            return np.zeros(0, bool)
        prog = MathematicalProgram()
        x = prog.NewBinaryVariables(n, "x")
        first, second = np.nonzero(np.triu(~adjacency_matrix.toarray(), 1))
        if first.size:
            rows = np.zeros((first.size, n))
            rows[np.arange(first.size), first] = rows[np.arange(first.size), second] = 1.0
            prog.AddLinearConstraint(rows, np.full(first.size, -np.inf), np.ones(first.size), x)
        prog.AddLinearCost(-np.ones(n), x)
        if self._guess is not None:
            prog.SetInitialGuess(x, self._guess)
        result = Solve(prog, None, self._options)
        if not result.is_success():
            raise RuntimeError(f"{where}: the solver ended with {result.get_solution_result().name}.")
        return np.asarray(result.GetSolution(x)) > 0.5


class MinCliqueCoverSolverBase:
    """Covers the vertices of a graph by few cliques. A subclass defines `DoSolveMinCliqueCover`."""

    def SolveMinCliqueCover(self, adjacency_matrix: Any, partition: bool = False) -> list[set[int]]:
        """Cliques that cover a graph.

        Args:
            adjacency_matrix: whether two vertices have an edge, shape [n, n], symmetric; sparse or dense. The diagonal
                does not matter.
            partition: whether no vertex may be in two of the cliques.

        Returns:
            The vertices of each clique.

        Raises:
            ValueError: the matrix is not square, or not symmetric.
        """
        graph = _checked_graph(adjacency_matrix, f"{type(self).__name__}.SolveMinCliqueCover")
        return [set(map(int, clique)) for clique in self.DoSolveMinCliqueCover(graph, bool(partition))]

    def DoSolveMinCliqueCover(self, adjacency_matrix: Any, partition: bool) -> list[set[int]]:
        """The cliques; of a checked csc_matrix of truth values, shape [n, n]."""
        raise NotImplementedError(f"{type(self).__name__} does not define DoSolveMinCliqueCover.")


class MinCliqueCoverSolverViaGreedy(MinCliqueCoverSolverBase):
    """Takes the largest clique of the remaining vertices, until none remain or cliques are too small.

    Of a partition, vertices are left that are in no clique; otherwise also edges that are in none, with their ends.

    Args:
        max_clique_solver: finds the cliques.
        min_clique_size: smaller cliques are not taken, so that vertices may be left out; at least 1.

    Raises:
        ValueError: the size is less than 1.
    """

    def __init__(self, max_clique_solver: MaxCliqueSolverBase, min_clique_size: int = 1) -> None:
        if not isinstance(max_clique_solver, MaxCliqueSolverBase):
            raise TypeError(
                "MinCliqueCoverSolverViaGreedy: expected a MaxCliqueSolverBase, got "
                f"{type(max_clique_solver).__name__}."
            )
        self._solver = max_clique_solver
        self.set_min_clique_size(min_clique_size)

    def get_min_clique_size(self) -> int:
        """The size of the smallest cliques that are taken."""
        return self._min_size

    def set_min_clique_size(self, min_clique_size: int) -> None:
        """Sets the size of the smallest cliques that are taken.

        Raises:
            ValueError: it is less than 1.
        """
        size = checked_size(min_clique_size, "MinCliqueCoverSolverViaGreedy: min_clique_size")
        if size < 1:
            raise ValueError(f"MinCliqueCoverSolverViaGreedy: expected a min_clique_size of at least 1, got {size}.")
        self._min_size = size

    def DoSolveMinCliqueCover(self, adjacency_matrix: Any, partition: bool) -> list[set[int]]:
        """The cliques, in the order in which they were found.

        Raises:
            RuntimeError: the solver finds an empty clique, or one without a vertex that was not covered.
        """
        left = np.arange(adjacency_matrix.shape[0])  # vertices that cliques may have
        covered = np.zeros(left.size, bool)
        edges = adjacency_matrix.tolil()
        cliques: list[set[int]] = []
        while left.size:
            found = left[self._solver.SolveMaxClique(edges[left][:, left].tocsc())]
            if found.size < self._min_size or not found.size:
                break
            cliques.append(set(map(int, found)))
            covered[found] = True
            # of a partition, its vertices are taken; of a cover, only its edges, and vertices that have none left
            edges[np.ix_(found, found)] = False
            is_done = covered if partition else covered & (edges.tocsr().sum(axis=1).A1 == 0)
            left = np.flatnonzero(~is_done)
        return cliques
