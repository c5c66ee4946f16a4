"""A discrete controller sees the plant as it is at the time, whether the plant samples its outputs or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.analysis.simulation import step_codes
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import LinearSystem, LogVectorOutput
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PrismaticJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")  # the plant's step is an operation wherever a plan runs

H = 0.01  # [s]
MASS = 2.0  # [kg]
GAINS = np.array([40.0, 8.0])


class Controller(LeafSystem):
    """u[n] = -K x[n], held as discrete state; writes down what it sees, and fails at a given time."""

    def __init__(self, period: float, nan_at: float = np.inf) -> None:
        super().__init__()
        self.seen: list[list[float]] = []
        self._nan_at = nan_at
        self.DeclareVectorInputPort("x", 2)
        self.DeclareVectorInputPort("vdot", 1)
        index = self.DeclareDiscreteState(1)
        self.DeclareStateOutputPort("u", index)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._update)

    def _update(self, context: Any, discrete_state: Any) -> None:
        x, vdot = self.get_input_port(0).Eval(context), self.get_input_port(1).Eval(context)
        self.seen.append([context.get_time(), *x, *vdot])
        u = np.nan if context.get_time() >= self._nan_at else -GAINS @ x
        discrete_state.set_value(0, [u])


def make(is_sampled: bool, plan: bool, plant_first: bool, ratio: int = 1, nan_at: float = np.inf) -> Any:
    builder = DiagramBuilder()
    controller, plant = Controller(ratio * H, nan_at), MultibodyPlant(H)
    for system in (plant, controller) if plant_first else (controller, plant):
        builder.AddSystem(system)
    plant.SetUseSampledOutputPorts(is_sampled)
    body = plant.AddRigidBody("b", SpatialInertia.SolidCubeWithMass(MASS, 0.1))
    joint = plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    plant.AddJointActuator("a", joint)
    joint.set_default_translation(0.5)
    plant.Finalize()
    builder.Connect(plant.get_state_output_port(), controller.get_input_port(0))
    builder.Connect(plant.get_generalized_acceleration_output_port(), controller.get_input_port(1))
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    log = LogVectorOutput(plant.get_state_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(plan, at_once=plan)
    return simulator, controller, log


def expected(num_steps: int, ratio: int) -> Any:
    """The digital loop: the plant's step at the time of an update still has the last command."""
    x, u, states, seen = np.array([0.5, 0.0]), 0.0, [], []
    vdot = 0.0
    for n in range(num_steps):
        states.append(x)
        if n % ratio == 0:
            seen.append([n * H, *x, vdot])
        command = -GAINS @ x if n % ratio == 0 else u
        vdot = u / MASS
        v = x[1] + H * vdot
        x, u = np.array([x[0] + H * v, v]), command
    return np.array(states).T, np.array(seen)


@pytest.mark.parametrize("plant_first", [False, True])
@pytest.mark.parametrize("ratio", [1, 3])
def test_a_digital_loop_is_that_of_the_textbook(plant_first: bool, ratio: int) -> None:
    """Live or sampled, in Python or compiled, in either order of adding: the same numbers and counts, to the bit."""
    states, seen = expected(61, ratio)
    found = []
    for is_sampled, plan in ((True, True), (True, False), (False, False)):
        simulator, controller, log = make(is_sampled, plan, plant_first, ratio)
        simulator.AdvanceTo(0.35)
        simulator.AdvanceTo(60 * H)
        if plan:
            assert simulator._plan is not None
            groups = simulator._plan._program.records
            assert not any(group.flags & step_codes.IS_LEFT_TO_PYTHON for group in groups)
        data = log.FindLog(simulator.get_context()).data()
        np.testing.assert_allclose(data, states, atol=1e-13)
        columns = 4 if is_sampled else 3  # a live port shows the acceleration of the step that comes
        np.testing.assert_allclose(np.array(controller.seen)[:, :columns], seen[: 60 // ratio, :columns], atol=1e-13)
        found.append((data.tolist(), controller.seen, simulator.get_num_discrete_updates()))
        assert simulator.get_num_unrestricted_updates() == (60 if is_sampled else 0)
        assert simulator.get_num_discrete_updates() == (60 // ratio if is_sampled else 60)
    assert found[0] == found[1]
    assert found[0][0] == found[2][0]


def test_a_controller_is_not_asked_again_when_the_plant_cannot_step() -> None:
    for is_sampled in (True, False):
        found = []
        for plan in (True, False):
            simulator, controller, log = make(is_sampled, plan, plant_first=False, nan_at=0.2)
            with pytest.raises(RuntimeError, match="not finite"):
                simulator.AdvanceTo(1.0)
            data = log.FindLog(simulator.get_context()).data()
            found.append((simulator.get_context().get_time(), [row[0] for row in controller.seen], data.tolist()))
        assert found[0] == found[1]
        times = found[0][1]
        assert times == sorted(set(times))


def test_batches_are_digital_loops_of_the_same_bits() -> None:
    """A compiled controller that reads the state and the sampled acceleration, in a compiled batch."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(H))
    body = plant.AddRigidBody("b", SpatialInertia.SolidCubeWithMass(MASS, 0.1))
    joint = plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    plant.AddJointActuator("a", joint)
    plant.Finalize()
    controller = builder.AddSystem(LinearSystem([[0.0]], [-GAINS], [[1.0]], [[0.0, 0.0]], time_period=3 * H))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    diagram = builder.Build()
    result = BatchSimulator(diagram).simulate([[0.5, 0.1], [0.0, 0.2], [0.0, 0.0]], 60 * H)
    states, _ = expected(61, 3)
    np.testing.assert_allclose(result.states[:2, 0], states[:, 60], atol=1e-13)
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(False)
    simulator.get_mutable_context().SetDiscreteState(0, [0.1, 0.2])
    simulator.AdvanceTo(60 * H)
    np.testing.assert_array_equal(result.states[:2, 1], simulator.get_context().get_discrete_state(0).CopyToVector())
