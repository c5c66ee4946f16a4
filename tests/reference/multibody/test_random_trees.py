"""200 random trees of all joints and force elements: everything a plant computes equals what pydrake's computes."""

from __future__ import annotations

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from joint_mechanisms import library  # noqa: E402
from plant_comparison import CONTINUOUS, compare, discrete_step  # noqa: E402
from random_plants import KINDS, RandomPlant  # noqa: E402
from reference_plants import Pair  # noqa: E402

pytestmark = pytest.mark.reference
OURS, THEIRS = library("ours"), library("theirs")
NUM_TREES = 200
TIME_STEP = 0.002


def pair_of(seed: int, time_step: float, rate: float = 1.0) -> Pair:
    """One tree in both libraries; every other one has bushings. Pitch angles are within a quarter turn.

    Positions are well within the ends of paths, which pydrake turns into forces.
    """
    options = {"time_step": time_step, "has_bushings": seed % 2 == 1}
    pair = Pair(*(RandomPlant(lib, seed, **options).build() for lib in (OURS, THEIRS)))
    rng = np.random.default_rng(1000 + seed)
    lower, upper = pair.ours.GetPositionLowerLimits() + 0.2, pair.ours.GetPositionUpperLimits() - 0.2
    q = np.clip(rng.uniform(-1.2, 1.2, pair.ours.num_positions()), lower, upper)
    pair.set_state(q, rng.normal(scale=rate, size=pair.ours.num_velocities()))
    return pair


def test_trees_have_every_joint_and_force_element():
    joints, elements = set(), set()
    for seed in range(1, 40, 2):
        plant = RandomPlant(OURS, seed).build()
        joints |= {type(plant.get_joint(i)).__name__ for i in plant.GetJointIndices()}
        elements |= {type(plant.get_force_element(i)).__name__ for i in range(1, plant.num_force_elements())}
    assert joints == {"CurvilinearJoint" if kind == "curvilinear" else kind for kind in KINDS}
    assert elements == {
        "RevoluteSpring", "PrismaticSpring", "LinearSpringDamper", "LinearBushingRollPitchYaw", "DoorHinge",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(NUM_TREES))
def test_continuous_plant(seed):
    sides = pair_of(seed, 0.0).sides(seed)
    for side in sides:
        side.fix_inputs()
    compare(*sides, *CONTINUOUS)


@pytest.mark.parametrize("seed", range(0, NUM_TREES, 4))
def test_discrete_step(seed):
    sides = pair_of(seed, TIME_STEP).sides(seed)
    for side in sides:
        side.fix_inputs()
    compare(*sides, discrete_step)


@pytest.mark.parametrize("seed", [4, 12, 28, 36, 44, 52])  # free bodies that carry nothing keep their energy instead
def test_discrete_step_of_bodies_that_turn_by_radians(seed):
    sides = pair_of(seed, TIME_STEP, 200.0).sides(seed)
    for side in sides:
        side.fix_inputs()
    compare(*sides, discrete_step)
