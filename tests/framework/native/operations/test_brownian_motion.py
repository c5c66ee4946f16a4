"""A path of Brownian motion as a function of seed and time."""

import math

import numpy as np
import pytest

from merganser.framework.native import kernel
from merganser.framework.native.operations.brownian_motion import FINEST, brownian_motion, philox

TIMES = np.array([0.25, 0.5, 0.731, 1.0, 1.7, 3.0, 3.5, 40.1])


@kernel
def paths(seed, times, W_out):
    """Independent paths at some times."""
    for channel in range(W_out.shape[0]):
        for i in range(len(times)):
            W_out[channel, i] = brownian_motion(seed, channel, times[i])


def many_paths(times, number=20_000, seed=7.0):
    W = np.zeros((number, len(times)))
    paths(seed, times, W)
    return W


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0), 0, (0xFF1DAE59, 0x6CD10DF2)),
        ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0x2C3F628B, 0xAB4FD7AD)),
        ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
    ],
)
def test_the_generator_gives_the_published_words(counter, key, words):
    assert philox(*counter, key) == words


def test_compiled_and_interpreted_paths_are_equal_to_the_bit():
    times = np.concatenate([-TIMES, [0.0], TIMES, [1e5, 1e-8]])
    expected = [[brownian_motion(7.0, channel, t) for t in times] for channel in range(3)]
    assert np.array_equal(many_paths(times, 3), expected)


def test_the_covariance_of_two_times_is_the_earlier_one():
    covariance = np.cov(many_paths(TIMES).T)
    np.testing.assert_allclose(covariance, np.minimum.outer(TIMES, TIMES), rtol=0.05, atol=0.05)


def test_increments_are_normal_and_independent():
    from scipy.stats import kstest

    increments = np.diff(many_paths(TIMES), axis=1) / np.sqrt(np.diff(TIMES))
    assert all(kstest(column, "norm").pvalue > 1e-3 for column in increments.T)
    np.testing.assert_allclose(np.corrcoef(increments.T), np.eye(len(TIMES) - 1), atol=0.03)


def test_short_increments_have_their_variance():
    for dt in (1e-3, 1e-6, 64.0 * FINEST):
        W = many_paths(np.array([0.3, 0.3 + dt]))
        assert np.diff(W).var() == pytest.approx(dt, rel=0.06)


def test_seeds_channels_and_sides_of_zero_are_independent():
    here, other, before = (many_paths(t, 5000, seed) for t, seed in ((TIMES, 1.0), (TIMES, 2.0), (-TIMES, 1.0)))
    for one, two in ((here[:, 0], other[:, 0]), (here[:, 0], before[:, 0]), (here[:-1, 3], here[1:, 3])):
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.05


def test_it_begins_at_zero_and_has_no_value_at_infinity():
    assert brownian_motion(3.0, 0, 0.0) == 0.0
    assert math.isnan(brownian_motion(3.0, 0, math.inf))
    assert math.isnan(brownian_motion(3.0, 0, math.nan))


@pytest.mark.parametrize("seed", [math.nan, -1.0, 2.0**32, 1e300])
def test_what_is_no_seed_gives_no_number(seed):
    assert math.isnan(brownian_motion(seed, 0, 1.0))
    assert np.isnan(many_paths(TIMES, 1, seed)).all()
