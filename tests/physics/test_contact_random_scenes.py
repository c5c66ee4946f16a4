"""Contact problems that are hard to solve: every step of random scenes has a solution, and it is one.

The suite runs a few scenes. MERGANSER_RANDOM_SCENES=10000 runs as many for each approximation, and
MERGANSER_FIRST_SCENE=5000 starts there.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from contact_optimality import Optimality, StepData, measure_optimality
from contact_scenes import APPROXIMATIONS, contact_library
from random_scenes import STICTION_TOLERANCE, random_scene

from merganser.multibody.contact.layout import LAGGED, SAP

LIB = contact_library("ours")
NUM_SCENES = int(os.environ.get("MERGANSER_RANDOM_SCENES", "8"))
FIRST_SCENE = int(os.environ.get("MERGANSER_FIRST_SCENE", "0"))
NUM_STEPS = 6
LAW_TOLERANCE = 1e-7
MOMENTUM_TOLERANCE = 1.001  # of what the solver promises
# Contacts on which the line search saw nothing but rounding.
HARD_SCENES = (("kSimilar", 2279), ("kSimilar", 4411))


def run_scene(seed: int, approximation: str) -> tuple[list[Optimality], int]:
    """Steps of a scene; returns what they achieved, and how many took the solution of another approximation."""
    scene, free = random_scene(LIB, seed, approximation), random_scene(LIB, seed, approximation, is_free=True)
    scene.simulator.set_use_native_plan(False)  # the arrays of a step in Python are looked at
    plant, context, h = scene.plant, scene.context, scene.time_step
    num_q, num_fallbacks = plant.num_positions(), 0
    damping = np.zeros(plant.num_velocities())
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        start = joint.velocity_start()
        damping[start : start + joint.num_velocities()] = joint.default_damping_vector()
    found = []
    for _ in range(NUM_STEPS):
        state = scene.state
        v_star = free.run(1, state)[-1][num_q:]
        A = plant.CalcMassMatrix(context) + h * np.diag(damping)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            state_next = scene.run(1)[-1]
        assert np.isfinite(state_next).all()
        if plant._sampling.eval_contacts(context) is None:
            continue  # nothing to hold
        number = plant.get_discrete_contact_approximation().value
        messages = [str(w.message) for w in caught]
        if any("SAP approximation was used" in message for message in messages):
            number, num_fallbacks = SAP, num_fallbacks + 1
        elif any("Lagged approximation was used" in message for message in messages):
            number, num_fallbacks = LAGGED, num_fallbacks + 1
        step = StepData(h, A, state[num_q:], v_star, STICTION_TOLERANCE)
        optimality = measure_optimality(plant, context, step, state_next[num_q:], number)
        if number == LAGGED != plant.get_discrete_contact_approximation().value:
            optimality = optimality._replace(law=0.0)  # other islands of this step keep the law of TAMSI
        found.append(optimality)
    return found, num_fallbacks


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_every_step_of_random_scenes_solves_its_contact_problem(approximation: str) -> None:
    num_steps = num_constraints = num_fallbacks = 0
    failures = []
    for seed in range(FIRST_SCENE, FIRST_SCENE + NUM_SCENES):
        try:
            found, fallbacks = run_scene(seed, approximation)
        except Exception as error:
            failures.append(f"scene {seed}: {type(error).__name__}: {error}")
            continue
        num_steps, num_fallbacks = num_steps + len(found), num_fallbacks + fallbacks
        num_constraints += sum(step.num_constraints for step in found)
        worst = Optimality(*np.max(found or [Optimality(0.0, 0.0, 0)], axis=0))
        if worst.momentum > MOMENTUM_TOLERANCE or worst.law > LAW_TOLERANCE:
            failures.append(f"scene {seed}: {worst}")
    print(
        f"\n{approximation}: {NUM_SCENES} scenes, {num_steps} steps with {num_constraints} constraints, "
        f"{num_fallbacks} by another approximation, {len(failures)} failures"
    )
    assert not failures, "\n".join(failures)
    assert num_constraints > num_steps > 0


@pytest.mark.parametrize(("approximation", "seed"), HARD_SCENES)
def test_scenes_that_were_hard_are_solved(approximation: str, seed: int) -> None:
    found, num_fallbacks = run_scene(seed, approximation)
    worst = Optimality(*np.max(found, axis=0))
    assert worst.momentum <= MOMENTUM_TOLERANCE and worst.law <= LAW_TOLERANCE
    assert num_fallbacks == 0
