"""Which pairs the broad phase finds, and how its time grows."""

import time
import tracemalloc

import numpy as np
import pytest
from proximity_shapes import random_poses

from merganser.geometry import Box, Capsule, HalfSpace, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine


def as_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


def test_finds_every_pair_that_is_near_enough():
    rng = np.random.default_rng(3)
    shapes = [Sphere(r) if i % 2 else Capsule(r, 3.0 * r) for i, r in enumerate(rng.uniform(0.02, 0.3, 200))]
    shapes += [Box(5.0, 5.0, 0.1), Box(0.1, 8.0, 0.1)]
    engine = ProximityEngine(ProximityArrays(shapes, range(202)))
    X_WG = random_poses(202, rng, 2.0)
    for margin in (0.0, 0.2):
        results = engine.signed_distances(X_WG, engine.all_pairs())
        near = as_set(engine.all_pairs()[results["distance"] <= margin])
        found = as_set(engine.find_candidates(X_WG, margin))
        assert near <= found
        assert len(found) < 4 * len(near)


def test_geometries_of_one_frame_and_filtered_pairs_never_meet():
    engine = ProximityEngine(ProximityArrays([Sphere(1.0)] * 4, [0, 0, 1, 2], [0b1000, 0, 0, 0b0001]))
    X_WG = np.tile(np.eye(4), (4, 1, 1))
    assert as_set(engine.find_candidates(X_WG)) == as_set(engine.all_pairs()) == {(0, 2), (1, 2), (1, 3), (2, 3)}


def test_half_spaces_meet_only_what_reaches_below_their_planes():
    engine = ProximityEngine(ProximityArrays([HalfSpace(), Sphere(0.1), Sphere(0.1)], [0, 1, 2]))
    X_WG = np.tile(np.eye(4), (3, 1, 1))
    X_WG[1, :3, 3], X_WG[2, :3, 3] = (50.0, 0.0, 0.05), (0.0, 0.0, 0.2)
    assert as_set(engine.find_candidates(X_WG)) == {(0, 1)}
    assert as_set(engine.find_candidates(X_WG, margin=0.11)) == {(0, 1), (0, 2)}


@pytest.mark.parametrize("extent", [1e4, 1e9, 1e20, 1e300])
def test_geometries_far_from_each_other_are_no_candidates(extent):
    """As many cells as there would be overflow integers."""
    engine = ProximityEngine(ProximityArrays([Sphere(0.01)] * 10, range(10)))
    X_WG = np.tile(np.eye(4), (10, 1, 1))
    X_WG[:, :3, 3] = np.random.default_rng(1).uniform(-extent, extent, (10, 3))
    X_WG[7, :3, 3] = X_WG[4, :3, 3]
    assert as_set(engine.find_candidates(X_WG)) == {(4, 7)}


def test_time_grows_like_the_number_of_spheres():
    def seconds(n):
        rng = np.random.default_rng(n)
        engine = ProximityEngine(ProximityArrays([Sphere(0.5)] * n, range(n)))
        X_WG = np.tile(np.eye(4), (n, 1, 1))
        X_WG[:, :3, 3] = rng.uniform(0.0, 1.2 * n ** (1.0 / 3.0), (n, 3))
        times = []
        for _ in range(9):
            start = time.thread_time()  # other programs do not count
            engine.find_candidates(X_WG)
            times.append(time.thread_time() - start)
        return min(times)

    seconds(10)
    assert seconds(4000) < 8.0 * seconds(1000)  # 16 if it looked at all pairs


@pytest.mark.parametrize("n", [3, 64, 150])
def test_random_filters_leave_out_what_they_say(n):
    rng = np.random.default_rng(n)
    matrix = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.05, 0.5, 1.0], n)[:, None], 1)
    matrix |= matrix.T
    excluded = [sum(1 << k for k in np.flatnonzero(row).tolist()) for row in matrix]
    engine = ProximityEngine(ProximityArrays([Sphere(1.0)] * n, range(n), excluded))
    expected = {tuple(pair) for pair in np.argwhere(np.triu(~matrix, 1)).tolist()}
    assert as_set(engine.find_candidates(np.tile(np.eye(4), (n, 1, 1)))) == as_set(engine.all_pairs()) == expected


def test_ten_thousand_geometries_take_little_memory():
    n = 10_000
    shapes = [HalfSpace(), *[Sphere(0.1)] * (n - 2), HalfSpace()]
    X_WG = np.tile(np.eye(4), (n, 1, 1))
    X_WG[:, 0, 3] = np.arange(n)
    excluded = [1 << n - 1, *[0] * (n - 2), 1]
    ProximityEngine(ProximityArrays(shapes, range(n), excluded)).find_candidates(X_WG)  # compiles
    tracemalloc.start()
    try:
        arrays = ProximityArrays(shapes, range(n), excluded)
        assert arrays.unbounded_pair is None
        ProximityEngine(arrays).find_candidates(X_WG)
        assert tracemalloc.get_traced_memory()[1] < 50e6  # all pairs are 800 MB
    finally:
        tracemalloc.stop()


def test_half_spaces_that_may_meet_are_found_among_many():
    shapes = [Sphere(0.1), HalfSpace(), Sphere(0.1), HalfSpace(), HalfSpace()]
    assert ProximityArrays(shapes, [1, 2, 3, 2, 4], [0, 1 << 4, 0, 0, 1 << 1]).unbounded_pair == (3, 4)


def test_a_filter_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="has 2 integers; given 3"):
        ProximityArrays([Sphere(1.0)] * 2, [0, 1], [0, 0, 0])
