"""Controllability, observability, and what of them stability needs."""

import numpy as np
import pytest

from merganser.framework.primitives import (
    ControllabilityMatrix,
    IsControllable,
    IsDetectable,
    IsObservable,
    IsStabilizable,
    LinearSystem,
    ObservabilityMatrix,
)


def mirrored(system):
    """The dual system, whose inputs are the outputs of the other."""
    return LinearSystem(system.A().T, system.C().T, system.B().T, system.D().T, system.time_period())


def test_matrices_of_a_chain_of_integrators():
    chain = LinearSystem(np.diag([1.0, 1.0], 1), [[0.0], [0.0], [1.0]], [[1.0, 0.0, 0.0]])
    assert ControllabilityMatrix(chain).tolist() == np.eye(3)[::-1].tolist()
    assert ObservabilityMatrix(chain).tolist() == np.eye(3).tolist()
    assert IsControllable(chain) and IsObservable(chain) and IsStabilizable(chain) and IsDetectable(chain)


@pytest.mark.parametrize(
    ("mode", "period", "is_stabilizable"),
    [(-0.5, 0.0, True), (0.0, 0.0, False), (0.5, 0.0, False), (-0.5, 0.1, True), (0.5, 0.1, True), (-1.5, 0.1, False)],
)
def test_modes_out_of_reach_must_decay(mode, period, is_stabilizable):
    rng = np.random.default_rng(4)
    T = rng.normal(size=(3, 3))
    A = T @ np.diag([2.0, 3.0, mode]) @ np.linalg.inv(T)
    B = T @ np.array([[1.0], [1.0], [0.0]])
    system = LinearSystem(A, B, B.T, time_period=period)
    assert not IsControllable(system) and IsStabilizable(system) is is_stabilizable
    assert not IsObservable(mirrored(system)) and IsDetectable(mirrored(system)) is is_stabilizable


def test_threshold_says_what_counts_as_zero():
    system = LinearSystem(np.diag([1.0, 2.0]), [[1.0], [1e-6]], [[1.0, 1e-6]])
    assert IsControllable(system) and not IsControllable(system, threshold=1e-3)
    assert IsObservable(system) and not IsObservable(system, 1e-3)
    assert IsStabilizable(system) and not IsStabilizable(system, 1e-3)
    assert IsDetectable(system) and not IsDetectable(system, 1e-3)
