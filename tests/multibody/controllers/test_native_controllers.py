"""Controllers that know a plant, in compiled code: the same as in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joint_mechanisms import library
from plants import example_plant
from random_plants import RandomPlant

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import ConstantVectorSource, LogVectorOutput
from merganser.multibody.controllers import InverseDynamics, InverseDynamicsController, JointStiffnessController
from merganser.multibody.plant import MultibodyPlant

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")


def inputs(plant: MultibodyPlant, rng: np.random.Generator) -> Any:
    context = plant.CreateDefaultContext()
    plant.SetRandomContext(context, RandomGenerator(int(rng.integers(1000))))
    q = plant.GetPositions(context) + 0.1 * rng.normal(size=plant.num_positions())
    return np.concatenate([q, rng.normal(size=plant.num_velocities())])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", InverseDynamics.InverseDynamicsMode)
def test_inverse_dynamics_of_random_trees(seed: int, mode: Any) -> None:
    """With all kinds of joints, springs, damping and bodies without weight."""
    plant = RandomPlant(library("ours"), seed, num_joints=8).build()
    controller, rng = InverseDynamics(plant, mode), np.random.default_rng(seed)
    port = controller.get_output_port()
    for _ in range(3):
        x, vdot = inputs(plant, rng), rng.normal(size=plant.num_velocities())
        results = []
        for is_compiled in (False, True):
            context = controller.CreateDefaultContext()
            for i, value in enumerate((x, vdot)[: controller.num_input_ports()]):
                controller.get_input_port(i).FixValue(context, value)
            slot = slot_of(port, context)
            slot.value.SetFromVector(np.full(plant.num_velocities(), np.nan))
            if is_compiled:
                assert slot.entry.native.resolve(context) is not None
                Tape(context, [slot]).run()
            results.append(port.Eval(context))
        assert np.isfinite(results[0]).all()
        np.testing.assert_array_equal(*results)


def closed_loop(kind: str) -> tuple[Any, Any, Any]:
    """An arm that a controller brings to rest elsewhere; its diagram, its plant, and a log of the actuation."""
    plant = example_plant("arm7.urdf")
    n = plant.num_positions()
    gains = np.full(n, 40.0), np.linspace(4.0, 6.0, n)
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    if kind == "stiffness":
        controller: Any = builder.AddSystem(JointStiffnessController(plant, *gains))
    else:
        controller = builder.AddSystem(InverseDynamicsController(plant, gains[0], np.ones(n), gains[1], False))
    desired = builder.AddSystem(ConstantVectorSource(np.concatenate([np.linspace(-0.5, 0.5, n), np.zeros(n)])))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port(0))
    builder.Connect(desired.get_output_port(), controller.get_input_port(1))
    builder.Connect(controller.get_output_port(0), plant.get_actuation_input_port())
    log = LogVectorOutput(controller.get_output_port(0), builder, 0.01)
    return builder.Build(), plant, log


@pytest.mark.parametrize("kind", ["stiffness", "inverse dynamics"])
def test_closed_loops_go_the_same_way_in_compiled_code(kind: str) -> None:
    runs = []
    for is_compiled in (False, True):
        diagram, plant, log = closed_loop(kind)
        simulator = Simulator(diagram)
        simulator.set_use_native_plan(is_compiled, at_once=True)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetPositions(context, np.linspace(0.3, -0.3, plant.num_positions()))
        simulator.AdvanceTo(0.3)
        runs.append((plant.GetPositionsAndVelocities(context), log.FindLog(simulator.get_context()).data().copy()))
        assert not is_compiled or not simulator._plan._program.num_callbacks  # nothing is left to Python
    for python, compiled in zip(*runs):
        np.testing.assert_array_equal(compiled, python)
    positions = runs[0][0][: len(runs[0][0]) // 2]
    assert np.abs(positions - np.linspace(-0.5, 0.5, len(positions))).max() < 0.5


def test_a_state_that_is_not_finite_is_explained_as_in_python() -> None:
    plant = example_plant("arm7.urdf")
    controller = InverseDynamics(plant, InverseDynamics.kGravityCompensation)
    context = controller.CreateDefaultContext()
    controller.get_input_port(0).FixValue(context, np.full(plant.num_multibody_states(), np.nan))
    with pytest.raises(ValueError, match="finite"):
        Tape(context, [slot_of(controller.get_output_port(), context)]).run()
