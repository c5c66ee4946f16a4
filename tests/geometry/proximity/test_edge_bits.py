"""Directed edges as bits."""

import itertools

import numba
import numpy as np

from merganser.framework.native import tell_compiler
from merganser.framework.native.bits import lowest_bit
from merganser.geometry.proximity.edge_bits import NUM_POINTS, edges_around, reversed_edges

tell_compiler()


@numba.njit
def compiled_lowest_bit(bits):
    return lowest_bit(bits)


def bits_of(edges):
    return sum(1 << (NUM_POINTS * i + j) for i, j in edges)


def test_reversed_edges_are_the_edges_the_other_way_round():
    rng = np.random.default_rng(0)
    every = list(itertools.permutations(range(NUM_POINTS), 2))
    for _ in range(100):
        chosen = [edge for edge in every if rng.random() < 0.4]
        assert reversed_edges(bits_of(chosen)) == bits_of((j, i) for i, j in chosen)


def test_what_has_no_reverse_is_the_rim_of_some_triangles():
    edges = edges_around(0, 1, 2) | edges_around(2, 1, 7) | edges_around(7, 1, 5)
    assert edges & ~reversed_edges(edges) == bits_of([(0, 1), (1, 5), (5, 7), (7, 2), (2, 0)])


def test_lowest_bit_is_found_in_python_and_compiled():
    for place in range(63):
        bits = (1 << place) | (1 << 62)
        assert lowest_bit(bits) == place
        assert compiled_lowest_bit(bits) == place
