"""Worlds side by side: each is what a Simulator of its own makes of it, whatever becomes of the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.framework import Context, DiagramBuilder, LeafSystem, RandomDistribution, RandomGenerator, Value
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import Integrator, LogVectorOutput, RandomSource, VectorLogSink
from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties, RoleAssign, SceneGraph, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once", "compiled_loop")

NUM, STEP = 7, 0.01
GEOMETRY = 4  # the number of the world that has another friction
FIRST, END = 0.1, 0.25  # [s]


class Scene(NamedTuple):
    """A ball on the ground that is pushed at random."""

    diagram: Any
    plant: MultibodyPlant
    scene_graph: SceneGraph
    push: Any
    sink: VectorLogSink


@pytest.fixture(scope="module")
def scene() -> Scene:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, STEP)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    material = friction(0.5)
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    plant.Finalize()
    noise = builder.AddSystem(RandomSource(RandomDistribution.kGaussian, 6, 2 * STEP))
    builder.Connect(noise.get_output_port(), plant.get_applied_generalized_force_input_port())
    sink = LogVectorOutput(noise.get_output_port(), builder, 2 * STEP)
    push = builder.AddSystem(Integrator(1))
    builder.ExportInput(push.get_input_port(), "push")
    return Scene(builder.Build(), plant, scene_graph, push, sink)


def friction(coefficient: float) -> ProximityProperties:
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(coefficient, coefficient), properties=material)
    return material


def set_up(scene: Scene, context: Context, index: int) -> None:
    """Masses, states, inputs and seeds differ; in one world the material of the ball as well."""
    scene.diagram.SetRandomContext(context, RandomGenerator(index))
    mine = scene.plant.GetMyContextFromRoot(context)
    ball = scene.plant.GetBodyByName("ball")
    ball.SetMass(mine, 1.0 + 0.1 * index)
    scene.plant.SetPositions(mine, [1, 0, 0, 0, 0, 0, 0.1])
    scene.plant.SetVelocities(mine, [0, 0, 0, 0.5, 0.1 * index, 0])
    scene.diagram.get_input_port().FixValue(context, [float(index)])
    if index == GEOMETRY:
        inside = scene.scene_graph.GetMyContextFromRoot(context)
        geometry = scene.plant.GetCollisionGeometriesForBody(ball)[0]
        source: Any = scene.plant.get_source_id()
        scene.scene_graph.AssignRole(inside, source, geometry, friction(0.01), RoleAssign.kReplace)


def numbers_of(context: Context) -> Any:
    groups = [group.value() for group in context.get_discrete_state().get_data()]
    return np.concatenate([context.get_continuous_state_vector().value(), *groups])


def alone(scene: Scene, index: int) -> Context:
    """A world by a Simulator for each advance."""
    context = scene.diagram.CreateDefaultContext()
    set_up(scene, context, index)
    for time in (FIRST, END):
        Simulator(scene.diagram, context).AdvanceTo(time)
    return context


@pytest.fixture(scope="module")
def singles(scene: Scene) -> list[Context]:
    return [alone(scene, index) for index in range(NUM)]


@pytest.fixture
def rows_run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows go through workers."""
    rows = pytest.importorskip("merganser.analysis.batches.rows")
    counts: list[int] = []
    run = rows.BatchWorker.run

    def counting(self: Any, values: Any, *arguments: Any) -> Any:
        counts.append(len(values))
        return run(self, values, *arguments)

    monkeypatch.setattr(rows.BatchWorker, "run", counting)
    return counts


@pytest.mark.parametrize("threads", [1, 2])
def test_worlds_are_single_simulations_to_the_last_bit(
    scene: Scene, singles: list[Context], threads: int, rows_run: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merganser.analysis.batches.batch_simulation._WORTH_A_THREAD", 1e-9)
    batch = BatchSimulator(scene.diagram, parallelize=threads)
    worlds = batch.make_worlds(NUM, lambda context, index: set_up(scene, context, index))
    for time in (FIRST, END):
        statuses = batch.advance(worlds, time)
    assert sum(rows_run) == 2 * (NUM - 1)  # but for the one with another geometry
    assert all(status.succeeded() and status.return_time() == END for status in statuses)
    np.testing.assert_array_equal(worlds.times, np.full(NUM, END))
    assert (worlds.num_steps >= round((END - FIRST) / STEP)).all()
    for index, single in enumerate(singles):
        context = worlds.make_context(index)
        np.testing.assert_array_equal(worlds.states[:, index], numbers_of(single))
        np.testing.assert_array_equal(numbers_of(context), numbers_of(single))
        np.testing.assert_array_equal(scene.sink.FindLog(context).data(), scene.sink.FindLog(single).data())
        mass = scene.plant.GetBodyByName("ball").get_mass(scene.plant.GetMyContextFromRoot(context))
        assert mass == pytest.approx(1.0 + 0.1 * index)


def test_a_world_that_is_not_a_number_fails_alone_until_it_is_renewed(
    scene: Scene, singles: list[Context], rows_run: list[int]
) -> None:
    sick = {2}

    def start(context: Context, index: int) -> None:
        set_up(scene, context, index)
        if index in sick:
            scene.plant.GetMyContextFromRoot(context).SetDiscreteState(0, [np.nan] * 13)

    batch = BatchSimulator(scene.diagram)
    worlds = batch.make_worlds(NUM, start)
    failures: dict[int, Exception] = {}
    batch.advance(worlds, FIRST, failures=failures)
    statuses = batch.advance(worlds, END, failures=failures)
    assert list(failures) == [2] and rows_run
    assert [status.succeeded() for status in statuses] == [index != 2 for index in range(NUM)]
    for index in range(NUM):
        assert index == 2 or np.array_equal(worlds.states[:, index], numbers_of(singles[index]))
    sick.clear()
    worlds.renew([2])
    batch.advance(worlds, FIRST, failures={})  # the others are beyond
    batch.advance(worlds, END)
    np.testing.assert_array_equal(worlds.states[:, 2], numbers_of(singles[2]))


def test_after_an_interrupt_the_same_call_goes_on(
    scene: Scene, singles: list[Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    from merganser.analysis.batches.rows import BatchWorker

    batch = BatchSimulator(scene.diagram, parallelize=1)
    worlds = batch.make_worlds(NUM, lambda context, index: set_up(scene, context, index))
    run, calls = BatchWorker.run, []

    def interrupted(self: Any, *arguments: Any) -> Any:
        outcome = run(self, *arguments)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return outcome

    monkeypatch.setattr(BatchWorker, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.advance(worlds, FIRST)
    assert 0 < np.count_nonzero(worlds.times == FIRST) < NUM and not worlds.times[worlds.times != FIRST].any()
    for time in (FIRST, END):
        batch.advance(worlds, time)
    np.testing.assert_array_equal(worlds.states.T, [numbers_of(single) for single in singles])


def test_inputs_are_given_to_all_worlds_at_once(scene: Scene) -> None:
    batch = BatchSimulator(scene.diagram)
    worlds = batch.make_worlds(NUM, lambda context, index: set_up(scene, context, index))
    port, sums = scene.diagram.get_input_port(), np.zeros(NUM)
    for n in range(1, 4):
        pushes = np.arange(NUM) + 10.0 * n
        worlds.fix_values(port, pushes[None, :])
        batch.advance(worlds, n * 0.1)
        sums += 0.1 * pushes
    np.testing.assert_allclose(worlds.states[0], sums, rtol=1e-12)
    assert port.Eval(worlds.make_context(GEOMETRY))[0] == 30.0 + GEOMETRY
    with pytest.raises(ValueError, match=r"shape \(1, 7\) for Input port 'push'.*\(1, 3\)"):
        worlds.fix_values(port, np.zeros((1, 3)))
    force = scene.plant.get_applied_generalized_force_input_port()
    with pytest.raises(ValueError, match="no value of its own in the first world"):
        worlds.fix_values(force, np.zeros((6, NUM)))


@pytest.mark.parametrize("threads", [1, 2])
def test_each_world_may_have_a_final_time_of_its_own(
    scene: Scene, threads: int, rows_run: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merganser.analysis.batches.batch_simulation._WORTH_A_THREAD", 1e-9)
    batch = BatchSimulator(scene.diagram, parallelize=threads)
    worlds = batch.make_worlds(NUM, lambda context, index: set_up(scene, context, index))
    ends = 0.02 * np.arange(NUM)
    statuses = batch.advance(worlds, ends)
    assert sum(rows_run) == NUM - 2  # the first one is there already, another has a Context of its own
    np.testing.assert_array_equal(worlds.times, ends)
    assert [status.return_time() for status in statuses[1:]] == ends[1:].tolist()
    for index in range(NUM):
        context = scene.diagram.CreateDefaultContext()
        set_up(scene, context, index)
        if index:
            Simulator(scene.diagram, context).AdvanceTo(ends[index])
        np.testing.assert_array_equal(worlds.states[:, index], numbers_of(context))
    with pytest.raises(ValueError, match=r"7 simulations take as many final times, got \(2,\)"):
        batch.advance(worlds, [1.0, 2.0])


def test_outputs_are_evaluated_in_all_worlds(scene: Scene) -> None:
    batch = BatchSimulator(scene.diagram)
    worlds = batch.make_worlds(3, lambda context, index: set_up(scene, context, index))
    ports = [scene.push.get_output_port(), scene.plant.get_body_spatial_velocities_output_port()]
    with pytest.raises(ValueError, match=r"Output port 'body_spatial_velocities'.* does not give a vector"):
        worlds.eval_output(ports[1])
    ports[1] = scene.plant.get_state_output_port()
    for time in (0.0, FIRST):
        batch.advance(worlds, time)
        for port in ports:
            wanted = [port.Eval(port.get_system().GetMyContextFromRoot(worlds.make_context(n))) for n in range(3)]
            values = worlds.eval_output(port)
            np.testing.assert_array_equal(values.T, wanted)
    assert all(worlds._tapes.values())  # compiled code has computed them
    worlds = batch.make_worlds(NUM, lambda context, index: set_up(scene, context, index))  # one has its own Context
    np.testing.assert_array_equal(worlds.eval_output(ports[1])[-2], 0.1 * np.arange(NUM))


class Reader(LeafSystem):
    """xdot is what an abstract input says, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareAbstractInputPort("rate", Value([0.0]))
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(self.get_input_port().Eval(context))


def test_worlds_keep_abstract_values_that_differ() -> None:
    system = Reader()
    batch = BatchSimulator(system, _fixed(system, 0.0))
    worlds = batch.make_worlds(3, lambda context, index: system.get_input_port().FixValue(context, [float(index)]))
    batch.advance(worlds, 1.0)
    batch.advance(worlds, 2.0)
    np.testing.assert_allclose(worlds.states[0], [0.0, 2.0, 4.0])


def _fixed(system: Reader, rate: float) -> Context:
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [rate])
    return context


def test_wrong_worlds_are_refused(scene: Scene) -> None:
    batch = BatchSimulator(scene.diagram)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        batch.make_worlds(-1)
    worlds = batch.make_worlds(2)
    with pytest.raises(IndexError, match="2 of them, no world 2"):
        worlds.make_context(2)
    with pytest.raises(IndexError, match="no world -3"):
        worlds.renew([0, -3])
    with pytest.raises(ValueError, match="was given the context of system"):
        BatchSimulator(Reader(), _fixed(Reader(), 0.0)).advance(worlds, 1.0)
    assert batch.advance(batch.make_worlds(0), 1.0) == []
