"""Velocities that make a wanted one, and those that make nothing, of Jacobians of any shape and rank."""

from __future__ import annotations

import numpy as np

from merganser.multibody.inverse_kinematics.reachable_motions import reachable_motions

TOLERANCE = 1e-14


def test_motions_are_those_of_the_pseudoinverse() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, n = rng.integers(1, 8), rng.integers(1, 9)
        rank = int(rng.integers(0, min(m, n) + 1))
        J, V = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=m)
        columns, missed = np.full((n, n + 1), np.nan), np.full(2, np.nan)
        work = np.full(m, -1), *(np.full(shape, np.nan) for shape in ((n, m), m, (3, m), (m, m)))
        assert reachable_motions(J, V, TOLERANCE, *work, columns, missed) == rank
        null, shortest = columns[:, : n - rank], columns[:, n - rank]
        np.testing.assert_allclose(null.T @ null, np.eye(n - rank), atol=1e-13)
        np.testing.assert_allclose(J @ null, 0.0, atol=1e-12)
        scale = 1.0 + np.linalg.norm(np.linalg.pinv(J, rcond=1e-12), 2) ** 2
        np.testing.assert_allclose(shortest, np.linalg.pinv(J, rcond=1e-12) @ V, atol=1e-12 * scale)
        left = J @ shortest - V
        np.testing.assert_allclose(missed, [left @ left, V @ V], atol=1e-12 * scale)
