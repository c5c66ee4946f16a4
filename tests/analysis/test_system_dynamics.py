"""Dynamics with derivatives at many points: by AutoDiffXd first, by compiled code as soon as it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import system_dynamics
from merganser.analysis.plan.model_tape import ModelTape
from merganser.analysis.system_dynamics import SystemDynamics
from merganser.examples.pendulums import AcrobotPlant
from merganser.framework import InputPortSelection
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.primitives import LinearSystem

FIRST = InputPortSelection.kUseFirstInputIfItExists


def discrete() -> Any:
    return LinearSystem([[0.5, 0.1], [0.0, -0.3]], [[1.0], [2.0]], np.eye(2), np.zeros((2, 1)), 0.1)


def dynamics_of(system: Any) -> SystemDynamics:
    return SystemDynamics(system, system.CreateDefaultContext(), FIRST, "test")


@pytest.mark.skipif(not may_compile(), reason="nothing is compiled")
@pytest.mark.parametrize("make", [AcrobotPlant, discrete])
def test_compiled_code_gives_the_same(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    in_python, compiled = dynamics_of(make()), dynamics_of(make())
    points = np.random.default_rng(0).normal(size=(7, in_python.num_states + in_python.num_inputs))
    points[0] = 0.0
    expected = in_python.at(points)
    monkeypatch.setattr(system_dynamics, "_POINTS_TO_LOAD", 0)
    for found, value in zip(compiled.at(points[:, ::1]), expected):
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
    assert compiled._tape
    assert in_python._tape is None


@pytest.mark.skipif(not may_compile(), reason="nothing is compiled")
def test_compiled_code_that_loses_derivatives_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    in_python, compiled = dynamics_of(AcrobotPlant()), dynamics_of(AcrobotPlant())
    points = np.random.default_rng(0).normal(size=(3, 5))
    expected = in_python.at(points)
    slopes = ModelTape.slopes
    monkeypatch.setattr(system_dynamics, "_POINTS_TO_LOAD", 0)

    def lost(self: Any, *given: Any) -> Any:
        values, found = slopes(self, *given)  # type: ignore[misc]
        return values, 0.0 * found

    monkeypatch.setattr(ModelTape, "slopes", lost)
    for found, value in zip(compiled.at(points), expected):
        np.testing.assert_array_equal(found, value)
    assert compiled._tape is False
