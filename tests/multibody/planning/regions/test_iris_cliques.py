"""Cliques are cliques, covers cover, and regions that grow from cliques cover free positions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from merganser.framework import RandomGenerator
from merganser.framework.optimization import MathematicalProgram, SolverOptions
from merganser.geometry.optimization import IrisOptions
from merganser.multibody.planning import (
    IrisFromCliqueCoverOptions,
    IrisInConfigurationSpaceFromCliqueCover,
    IrisParameterizationFunction,
    IrisZoOptions,
    MaxCliqueSolverBase,
    MaxCliqueSolverViaGreedy,
    MaxCliqueSolverViaMip,
    MinCliqueCoverSolverViaGreedy,
    SceneGraphCollisionChecker,
)
from tests.support.disk_among_obstacles import clearance, disk_robot

SOLVERS = [MaxCliqueSolverViaGreedy(), MaxCliqueSolverViaMip()]
TRIANGLE_AND_TAIL = np.zeros((5, 5), bool)
for i, j in ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4)):
    TRIANGLE_AND_TAIL[i, j] = TRIANGLE_AND_TAIL[j, i] = True


def random_graph(r: np.random.RandomState, n: int) -> np.ndarray:
    upper = np.triu(r.rand(n, n) < r.uniform(0.2, 0.9), 1)
    return upper | upper.T


def is_clique(graph: np.ndarray, members: list[int]) -> bool:
    return bool((graph[np.ix_(members, members)] | np.eye(len(members), dtype=bool)).all())


@pytest.mark.parametrize("solver", SOLVERS)
def test_cliques_are_cliques_that_no_vertex_can_be_added_to(solver):
    r = np.random.RandomState(0)
    for _ in range(8):
        graph = random_graph(r, r.randint(1, 14))
        clique = solver.SolveMaxClique(csc_matrix(graph))
        assert is_clique(graph, np.flatnonzero(clique))
        assert not any(graph[i][clique].all() for i in np.flatnonzero(~clique))


def test_the_largest_clique_is_that_of_networkx():
    networkx = pytest.importorskip("networkx")
    r = np.random.RandomState(1)
    for _ in range(8):
        graph = random_graph(r, 12)
        largest = max(len(each) for each in networkx.find_cliques(networkx.from_numpy_array(graph)))
        assert MaxCliqueSolverViaMip().SolveMaxClique(graph).sum() == largest


@pytest.mark.parametrize("solver", SOLVERS)
def test_cliques_of_small_graphs(solver):
    assert np.array_equal(solver.SolveMaxClique(TRIANGLE_AND_TAIL), [1, 1, 1, 0, 0])
    assert np.array_equal(solver.SolveMaxClique(TRIANGLE_AND_TAIL | np.eye(5, dtype=bool)), [1, 1, 1, 0, 0])
    assert solver.SolveMaxClique(np.zeros((3, 3), bool)).sum() == 1
    assert solver.SolveMaxClique(np.zeros((0, 0), bool)).size == 0
    for bad in (np.zeros((2, 3), bool), np.array([[0, 1], [0, 0]], bool)):
        with pytest.raises(ValueError, match="adjacency_matrix"):
            solver.SolveMaxClique(bad)


def test_covers_cover_and_partitions_part():
    r = np.random.RandomState(2)
    solver = MinCliqueCoverSolverViaGreedy(MaxCliqueSolverViaGreedy())
    for _ in range(8):
        n = r.randint(1, 14)
        graph = random_graph(r, n)
        for partition in (False, True):
            cover = solver.SolveMinCliqueCover(graph, partition)
            assert set().union(*cover) == set(range(n))
            assert all(is_clique(graph, sorted(each)) for each in cover)
            if partition:
                assert sum(map(len, cover)) == n


def test_cliques_that_are_too_small_are_left_out():
    solver = MinCliqueCoverSolverViaGreedy(MaxCliqueSolverViaGreedy(), min_clique_size=3)
    assert solver.SolveMinCliqueCover(TRIANGLE_AND_TAIL) == [{0, 1, 2}]
    solver.set_min_clique_size(2)
    assert solver.get_min_clique_size() == 2
    assert solver.SolveMinCliqueCover(TRIANGLE_AND_TAIL, partition=True) == [{0, 1, 2}, {3, 4}]
    with pytest.raises(ValueError, match="min_clique_size"):
        solver.set_min_clique_size(0)


def test_solvers_may_be_written_in_python():
    class First(MaxCliqueSolverBase):
        def DoSolveMaxClique(self, adjacency_matrix):
            return np.arange(adjacency_matrix.shape[0]) == 0

    cover = MinCliqueCoverSolverViaGreedy(First()).SolveMinCliqueCover(TRIANGLE_AND_TAIL, partition=True)
    assert cover == [{0}, {1}, {2}, {3}, {4}]
    with pytest.raises(NotImplementedError, match="DoSolveMaxClique"):
        MaxCliqueSolverBase().SolveMaxClique(TRIANGLE_AND_TAIL)


def test_guesses_and_options_of_the_mixed_integer_program():
    solver = MaxCliqueSolverViaMip(np.ones(3), SolverOptions())
    assert np.array_equal(solver.GetInitialGuess(), np.ones(3))
    with pytest.raises(RuntimeError, match="5 values"):
        solver.SolveMaxClique(TRIANGLE_AND_TAIL)
    solver.SetInitialGuess(None)
    assert solver.GetInitialGuess() is None
    assert solver.SolveMaxClique(TRIANGLE_AND_TAIL).sum() == 3


# -------------------------------------------------------------------------------------------------------- covers


def covered(iris_options, threshold=0.8, sets=(), **options):
    robot = disk_robot()
    disk = robot.plant().GetModelInstanceByName("disk")
    checker = SceneGraphCollisionChecker(model=robot, robot_model_instances=[disk], edge_step_size=0.1)
    given = IrisFromCliqueCoverOptions(
        iris_options=iris_options, coverage_termination_threshold=threshold, num_points_per_visibility_round=30,
        num_points_per_coverage_check=300, **options,
    )  # fmt: skip
    return IrisInConfigurationSpaceFromCliqueCover(checker, given, RandomGenerator(1), list(sets))


def quick_zo() -> IrisZoOptions:
    options = IrisZoOptions()
    options.sampled_iris_options.epsilon = 0.05
    options.sampled_iris_options.num_particles = 300
    options.sampled_iris_options.max_iterations = 1
    return options


@pytest.mark.parametrize("options", [quick_zo(), IrisOptions(iteration_limit=1, num_collision_infeasible_samples=2)])
def test_regions_cover_free_positions(options):
    regions = covered(options)
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 20_000))
    inside = np.zeros(20_000, bool)
    for region in regions:
        inside |= (region.A() @ points <= region.b()[:, np.newaxis]).all(axis=0)
    free = clearance(points) > 0.0
    assert inside[free].mean() > 0.7
    assert inside[~free].mean() < 0.1
    assert isinstance(options, IrisZoOptions) or options.starting_ellipse is None


def test_regions_that_cover_enough_are_left_as_they_are():
    first = covered(quick_zo(), threshold=0.3)
    assert covered(quick_zo(), threshold=0.1, sets=first) == first
    assert covered(quick_zo(), iteration_limit=0) == []


def test_options_that_covers_cannot_have_are_errors():
    prog = MathematicalProgram()
    with pytest.raises(RuntimeError, match="prog_with_additional_constraints"):
        covered(IrisOptions(prog_with_additional_constraints=prog))
    with pytest.raises(RuntimeError, match="parameterization"):
        covered(IrisZoOptions(parameterization=IrisParameterizationFunction(lambda s: s, 2)))
    with pytest.raises(TypeError, match="iris_options"):
        covered("IrisZo")
    with pytest.raises(ValueError, match="coverage_termination_threshold"):
        covered(quick_zo(), threshold=1.5)
