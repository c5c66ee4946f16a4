"""The native plan: the same trajectory, logs, events and counts as stepping in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merganser.analysis import (
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    Simulator,
)
from tests.support.random_diagrams import random_diagram

FIXED_STEP = (ExplicitEulerIntegrator, RungeKutta2Integrator)
ERROR_CONTROLLED = (RungeKutta3Integrator, RungeKutta5Integrator, BogackiShampine3Integrator)


def run(use_plan: bool, seed: int, num_blocks: int, is_nested: bool, has_python: bool, ends: list[float]) -> list[Any]:
    """Everything that can be seen of a simulation."""
    rng = np.random.default_rng(seed)
    history: list[Any] = []
    diagram, sinks = random_diagram(rng, num_blocks, history, is_nested, has_python)
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(use_plan)
    simulator._patience = 0.0
    context = simulator.get_mutable_context()
    if rng.integers(2):
        simulator.reset_integrator(FIXED_STEP[rng.integers(2)](diagram, 0.02, context))
    else:
        integrator = simulator.reset_integrator(ERROR_CONTROLLED[rng.integers(3)](diagram, context))
        integrator.set_maximum_step_size(0.1)
        integrator.set_target_accuracy(1e-5)
        integrator.set_fixed_step_mode(bool(rng.integers(3) == 0))
    simulator.Initialize()
    for end in ends:
        simulator.AdvanceTo(end)
    state = context.get_state()
    seen: list[Any] = [context.get_time(), context.get_continuous_state_vector().CopyToVector().tolist(), history]
    discrete = state.get_discrete_state()
    seen.append([discrete.value(group).tolist() for group in range(discrete.num_groups())])
    for sink in sinks:
        log = sink.FindLog(context)
        seen.append((log.sample_times().tolist(), log.data().tolist()))
    seen.append([
        simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(), simulator.get_num_publishes(),
        simulator.get_num_unrestricted_updates(),
    ])  # fmt: skip
    seen.append(repr(simulator.get_integrator().GetStatisticsSummary()))
    if use_plan:
        assert simulator._plan is not None
    return seen


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), num_blocks=st.integers(1, 10), nested=st.booleans(), python=st.booleans())
def test_plan_equals_stepping_in_python_bit_for_bit(seed: int, num_blocks: int, nested: bool, python: bool) -> None:
    arguments = (seed, num_blocks, nested, python, [0.0, 0.31, 0.31, 0.6])
    assert run(True, *arguments) == run(False, *arguments)
