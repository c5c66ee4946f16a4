"""Chains of many links: time and memory in proportion to their number."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, SpatialInertia

LENGTH = 0.1  # of a link [m]


def chain(num_links: int) -> MultibodyPlant:
    """Links one at the end of the other, by hinges about x and y in turn; not finalized."""
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia.SolidBoxWithMass(0.1, 0.02, 0.02, LENGTH)
    parent = plant.world_body()
    for i in range(num_links):
        link = plant.AddRigidBody(f"link{i}", inertia)
        joint = RevoluteJoint(f"joint{i}", parent.body_frame(), link.body_frame(), np.eye(3)[i % 2], 0.01)
        plant.AddJoint(joint)
        parent = link
    return plant


def best_time(work: Callable[[], object], repeats: int) -> float:
    """The least of several times [s], which other programs disturb least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def test_forward_dynamics_of_a_chain_takes_time_in_proportion_to_its_links() -> None:
    best = {}
    for num_links in (100, 800):
        plant = chain(num_links)
        plant.Finalize()
        context = plant.CreateDefaultContext()
        states = iter(np.random.default_rng(num_links).uniform(-0.1, 0.1, (31, 2 * num_links)))

        def evaluate(plant=plant, context=context, states=states) -> None:  # type: ignore[no-untyped-def]
            plant.SetPositionsAndVelocities(context, next(states))
            plant.EvalTimeDerivatives(context)

        evaluate()
        best[num_links] = best_time(evaluate, 30)
    assert best[800] < 24.0 * best[100]  # in proportion 8, and more where caches are small; by the square 64


def test_finalize_and_a_context_of_a_chain_take_time_in_proportion_to_its_links() -> None:
    def build(num_links: int) -> float:
        plant = chain(num_links)
        return best_time(lambda: (plant.Finalize(), plant.CreateDefaultContext()), 1)

    build(2)
    assert min(build(800) for _ in range(2)) < 24.0 * min(build(100) for _ in range(3))


@pytest.mark.parametrize("num_links", [50, 200])
def test_values_of_a_context_grow_in_proportion_to_the_links(num_links: int) -> None:
    plant = chain(num_links)
    plant.Finalize()
    workspace = plant._views.workspace(plant.CreateDefaultContext())
    arrays = [value for name in type(workspace).__slots__ if isinstance(value := getattr(workspace, name), np.ndarray)]
    assert sum(array.nbytes for array in arrays) < 6000 * (num_links + 1)
