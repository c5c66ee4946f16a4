"""Cost of a simulator beside the callbacks, in calls of Python functions: the same on every machine."""

from typing import Any

import numpy as np
import pytest
from call_counts import num_calls

from merganser.analysis import Simulator
from merganser.framework import Diagram, DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import LinearSystem
from merganser.geometry import Box, HalfSpace
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia

pytest_plugins = ["compile_policy"]

_TICKS = 200


class Ticking(LeafSystem):
    """One event of some kind each millisecond, with a callback that calls nothing."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.DeclareDiscreteState(1)
        self.DeclareAbstractState(Value(0))
        declare = {
            "publish": self.DeclarePeriodicPublishEvent,
            "discrete update": self.DeclarePeriodicDiscreteUpdateEvent,
            "unrestricted update": self.DeclarePeriodicUnrestrictedUpdateEvent,
        }
        declare[kind](1e-3, 0.0, self.handle)

    def handle(self, context: Any, changes: Any = None) -> None:
        pass


def box_on_ground() -> Diagram:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=1e-3)
    rough = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
    body = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.1, 0.1, 0.1), "shape", rough)
    plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform([0.0, 0.0, 0.05]))
    plant.Finalize()
    return builder.Build()


@pytest.mark.usefixtures("loop_in_python")
@pytest.mark.parametrize(("kind", "most"), [("publish", 10), ("discrete update", 17), ("unrestricted update", 20)])
def test_an_event_takes_few_calls(kind: str, most: int) -> None:
    builder = DiagramBuilder()
    builder.AddSystem(Ticking(kind))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.01)
    calls = num_calls(lambda: simulator.AdvanceTo(0.01 + 1e-3 * _TICKS), of_python_only=True)
    assert calls <= most * _TICKS + 20


@pytest.mark.usefixtures("compiled_loop")
@pytest.mark.parametrize(("kind", "most"), [("publish", 8), ("discrete update", 9)])
def test_an_event_in_the_compiled_loop_takes_few_calls(kind: str, most: int) -> None:
    builder = DiagramBuilder()
    builder.AddSystem(Ticking(kind))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.01)
    calls = num_calls(lambda: simulator.AdvanceTo(0.01 + 1e-3 * _TICKS), of_python_only=True)
    assert calls <= most * _TICKS + 100


@pytest.mark.usefixtures("compiled_loop")
def test_a_short_advance_of_the_compiled_loop_takes_few_calls() -> None:
    system = LinearSystem(-np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)))
    simulator = Simulator(system)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [0.0])
    simulator.AdvanceTo(0.1)
    times = [0.1 + 1e-3 * number for number in range(1, _TICKS + 1)]
    calls = num_calls(lambda: [simulator.AdvanceTo(time) for time in times], of_python_only=True)
    assert calls <= 40 * _TICKS


@pytest.mark.usefixtures("compile_at_once", "compiled_loop")
def test_a_short_advance_with_contact_takes_few_calls() -> None:
    simulator = Simulator(box_on_ground())
    simulator.AdvanceTo(0.1)
    times = [0.1 + 1e-3 * number for number in range(1, _TICKS + 1)]
    calls = num_calls(lambda: [simulator.AdvanceTo(time) for time in times], of_python_only=True)
    assert calls <= 84 * _TICKS  # the contacts are copied only when they are read


def test_making_a_simulator_takes_few_calls() -> None:
    system = LinearSystem(-np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)))
    context = system.CreateDefaultContext()
    Simulator(system, context).Initialize()
    assert num_calls(lambda: Simulator(system, context), of_python_only=True) <= 47
    assert num_calls(lambda: Simulator(system, context).Initialize(), of_python_only=True) <= 100
