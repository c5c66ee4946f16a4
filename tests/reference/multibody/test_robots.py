"""Robots that people use: everything a plant computes equals what pydrake's computes, at 50 random states each."""

from __future__ import annotations

import functools

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from plant_comparison import (  # noqa: E402
    Side,
    compare,
    discrete_step,
    dynamics,
    jacobians,
    kinematics,
    matrices_and_energies,
    sums_over_bodies,
)
from reference_plants import Pair, load_both  # noqa: E402

pytestmark = pytest.mark.reference

IIWA = "iiwa_description/urdf/iiwa14_no_collision.urdf"
DUAL_IIWA = "iiwa_description/urdf/dual_iiwa14_polytope_collision.urdf"
ALLEGRO = "allegro_hand_description/sdf/allegro_hand_description_right.sdf"
QUADROTOR = "skydio_2/quadrotor.urdf"
ROBOTS = {
    "iiwa14": ([IIWA], ("base",)),
    "iiwa14 floating": ([IIWA], ()),
    "allegro hand": ([ALLEGRO], ("hand_root",)),
    "allegro hand floating": ([ALLEGRO], ()),
    "dual iiwa14": ([DUAL_IIWA], ("base",)),
    "dual iiwa14 floating": ([DUAL_IIWA], ()),
    "quadrotor floating": ([QUADROTOR], ()),
}
NUM_STATES = 50
TIME_STEP = 1e-3


@functools.cache
def load(name: str, time_step: float) -> Pair:
    return load_both(*ROBOTS[name], time_step=time_step)


def fix_inputs(pair: Pair, sides: tuple[Side, Side], rng: np.random.Generator, scale: float) -> None:
    """Actuation within the effort limits, which pydrake enforces for PD-controlled actuators; desired states."""
    effort = scale * np.minimum(pair.ours.GetEffortUpperLimits(), 5.0)
    for side in sides:
        side.fix_inputs(effort)
    for instance in range(pair.ours.num_model_instances()):
        pair.fix_desired_state(instance, 0.3 * rng.normal(size=2 * pair.ours.num_actuated_dofs(instance)))


@pytest.mark.parametrize("function", [kinematics, matrices_and_energies, jacobians, sums_over_bodies, dynamics])
@pytest.mark.parametrize("name", ROBOTS)
def test_continuous_plant(name, function):
    pair = load(name, 0.0)
    rng = np.random.default_rng(0)
    for seed in range(NUM_STATES):
        sides = pair.sides(seed)
        pair.set_random_state(rng)
        fix_inputs(pair, sides, rng, 1.0)
        compare(*sides, function)


@pytest.mark.parametrize("name", ROBOTS)
def test_discrete_step(name):
    """From states well inside the limits, which pydrake turns into forces."""
    pair = load(name, TIME_STEP)
    lower = np.clip(pair.ours.GetPositionLowerLimits(), -1.0, 1.0)
    upper = np.clip(pair.ours.GetPositionUpperLimits(), -1.0, 1.0)
    rng = np.random.default_rng(1)
    for seed in range(NUM_STATES):
        sides = pair.sides(seed)
        q = (lower + upper) / 2 + (upper - lower) / 4 * rng.uniform(-1, 1, size=len(lower))
        pair.set_state(q, 0.3 * rng.normal(size=pair.ours.num_velocities()))
        fix_inputs(pair, sides, rng, 0.1)
        compare(*sides, discrete_step)
