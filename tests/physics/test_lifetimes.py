"""Diagrams and contexts that are let go while what came from them is still held and used."""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.framework.native import native
from merganser.framework.primitives import Gain, Integrator, LogVectorOutput
from merganser.geometry import (
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    ProximityProperties,
    SceneGraph,
    Sphere,
)

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("plan")


def make_decay():
    """The diagram of xdot = -x with a log, and its parts."""
    builder = DiagramBuilder()
    integrator, gain = builder.AddSystem(Integrator([1.0])), builder.AddSystem(Gain(k=-1.0, size=1))
    builder.Cascade(integrator, gain)
    builder.Cascade(gain, integrator)
    log = LogVectorOutput(integrator.get_output_port(), builder, 0.1)
    return builder.Build(), integrator, gain, log


def let_go():
    """Frees unreferenced objects, and reuses their memory for other ones."""
    gc.collect()
    return [np.full(size, np.nan) for size in (1, 2, 3, 4, 7, 10, 100, 1000) for _ in range(50)]


def test_simulator_alone_goes_on():
    simulator = Simulator(make_decay()[0])
    simulator.AdvanceTo(0.5)
    keep = let_go()
    simulator.AdvanceTo(1.0)
    value = simulator.get_context().get_continuous_state_vector()[0]
    assert value == pytest.approx(np.exp(-1.0), abs=1e-3) and keep


def test_views_outlive_context_and_diagram():
    diagram, integrator, gain, log = make_decay()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(1.0)
    context = simulator.get_mutable_context()
    vector = context.get_mutable_continuous_state_vector()
    array = integrator.get_output_port().Eval(integrator.GetMyContextFromRoot(context))
    value = vector.CopyToVector()
    samples = log.FindLog(context)
    times, data = samples.sample_times(), samples.data()
    expected = times.copy(), data.copy()
    part = gain.GetMyContextFromRoot(context)
    gone = weakref.ref(simulator)
    del diagram, integrator, simulator, context, log, samples
    keep = let_go()
    assert gone() is None and keep
    assert vector.CopyToVector() == value == array
    assert (times == expected[0]).all() and (data == expected[1]).all()
    vector.SetFromVector([3.0])
    assert gain.get_output_port().Eval(part).shape == (1,)


def test_ports_outlive_their_diagram():
    _, integrator, gain, _ = make_decay()
    ports = integrator.get_output_port(), gain.get_input_port()
    systems = weakref.ref(integrator)
    del integrator, gain
    keep = let_go()
    names = [port.get_system().GetSystemPathname() for port in ports]
    assert names == ["::Diagram::Integrator", "::Diagram::Gain"] and keep
    assert systems() is ports[0].get_system()


def test_context_outlives_its_diagram():
    context = make_decay()[0].CreateDefaultContext()
    keep = let_go()
    clone = context.Clone()
    context.SetContinuousState([5.0])
    system = context.system
    simulator = Simulator(system, clone)
    del context, system, clone
    keep = let_go()
    simulator.AdvanceTo(0.1)
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(np.exp(-0.1), abs=1e-3) and keep


def test_native_function_outlives_all_but_the_simulator():
    class Block(LeafSystem):
        def __init__(self):
            super().__init__()

            @native
            def derivative(xc, xdot):
                xdot[0] = -2.0 * xc[0]

            self.DeclareContinuousState(1)
            self.DeclareTimeDerivatives(derivative)

    simulator = Simulator(Block())
    del Block
    simulator.get_mutable_context().SetContinuousState([1.0])
    simulator.AdvanceTo(0.1)
    keep = let_go()
    simulator.AdvanceTo(0.5)
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(np.exp(-1.0), abs=1e-3) and keep


def test_query_objects_and_results_outlive_the_scene():
    scene_graph = SceneGraph()
    source = scene_graph.RegisterSource("maker")
    frames = [scene_graph.RegisterFrame(source, GeometryFrame(name)) for name in ("a", "b")]
    for frame in frames:
        ball = GeometryInstance(RigidTransform(), Sphere(1.0), "ball")
        ball.set_proximity_properties(ProximityProperties())
        scene_graph.RegisterGeometry(source, frame, ball)
    context = scene_graph.CreateDefaultContext()
    poses = FramePoseVector()
    for i, frame in enumerate(frames):
        poses.set_value(frame, RigidTransform([1.5 * i, 0.0, 0.0]))
    scene_graph.get_source_pose_port(source).FixValue(context, poses)
    query = scene_graph.get_query_output_port().Eval(context)
    baked, inspector = copy.copy(query), query.inspector()
    [pair] = query.ComputePointPairPenetration()
    del context, scene_graph, poses, ball
    keep = let_go()
    for held in (query, baked):
        [again] = held.ComputePointPairPenetration()
        assert again.depth == pair.depth == 0.5 and keep
        assert again.nhat_BA_W.tolist() == pair.nhat_BA_W.tolist() == [-1.0, 0.0, 0.0]
    del held, query, baked
    keep = let_go()
    assert inspector.num_geometries() == 2 and pair.p_WCa.shape == (3,) and keep
