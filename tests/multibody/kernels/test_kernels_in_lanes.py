"""Kernels compiled for lanes give each world the bits that it has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_trees import GRAVITY, random_tree

from merganser.framework.native.memory.simd import in_lanes, num_lanes
from merganser.multibody import kernels

NUM = num_lanes()


def side_by_side(arrays: list[Any], shift: int = 8) -> Any:
    """An array of lanes with the numbers of as many arrays, off the boundaries of vectors."""
    lanes = in_lanes(arrays[0].dtype)
    memory = np.zeros(arrays[0].size * lanes.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 32 + shift
    out = memory[start : start + arrays[0].size * lanes.itemsize].view(lanes).reshape(arrays[0].shape)
    numbers = out.reshape(-1).view(np.float64).reshape(-1, NUM)
    for n, array in enumerate(arrays):
        numbers[:, n] = np.ascontiguousarray(array).reshape(-1).view(np.float64)
    return out


def of_lane(lanes: Any, n: int, like: Any) -> Any:
    """The array of one lane."""
    numbers = lanes.reshape(-1).view(np.float64).reshape(-1, NUM)[:, n]
    return np.ascontiguousarray(numbers).view(like.dtype).reshape(like.shape)


@pytest.mark.parametrize("seed", range(4))
def test_dynamics_in_lanes_have_the_bits_of_each(seed: int) -> None:
    tree, rng = random_tree(seed, 9), np.random.default_rng(seed)
    num_v, topology = len(tree.v), tree.topology
    qs = [tree.q + 0.1 * rng.normal(size=tree.q.shape) for _ in range(NUM)]
    vs, vdots = ([rng.normal(size=num_v) for _ in range(NUM)] for _ in range(2))
    forces = [rng.normal(size=(len(topology), 6)) for _ in range(NUM)]
    for parameters in (masses := [tree.parameters.copy() for _ in range(NUM)]):
        parameters["mass"] *= rng.uniform(0.5, 2.0)

    def run(P: Any, g: Any, q: Any, v: Any, vdot: Any, F: Any, new: Any) -> list[Any]:
        position, velocity, scratch, tau, M, a = map(
            new, (tree.position, tree.velocity, tree.scratch, tree.v, np.zeros((num_v, num_v)), tree.v)
        )
        kernels.kinematics(topology, P, q, v, position, velocity)
        kernels.inverse_dynamics(topology, P, g, position, velocity, vdot, F, scratch, tau)
        kernels.mass_matrix(topology, P, position, scratch, M)
        status = kernels.forward_dynamics(
            topology, P, g, position, velocity, tau, F, new(np.full(num_v, 0.1)), scratch, a
        )
        assert status == 0
        return [tau, M, a]

    given = [masses, [GRAVITY] * NUM, qs, vs, vdots, forces]
    together = run(*map(side_by_side, given), lambda array: side_by_side([array] * NUM))
    for n in range(NUM):
        alone = run(*(arrays[n] for arrays in given), lambda array: array.copy())
        for lanes, mine in zip(together, alone):
            np.testing.assert_array_equal(of_lane(lanes, n, mine), mine)
