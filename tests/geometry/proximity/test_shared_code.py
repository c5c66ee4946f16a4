"""Searches are there when they are called, whatever is asked first."""

import itertools
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from merganser import compiled_programs
from merganser.framework.native.memory import shared_code
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, HeightField, MeshcatCone, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

CORNERS = np.array(list(itertools.product((-0.1, 0.1), repeat=3))).T
SHAPES = (
    Sphere(0.1), Capsule(0.1, 0.2), Box(0.2, 0.2, 0.2), Cylinder(0.1, 0.2), Ellipsoid(0.1, 0.2, 0.3),
    MeshcatCone(0.2, 0.1, 0.1), Convex(CORNERS, "cube"),
)  # fmt: skip

# Asks for derivatives, as the first thing in a process, of a pair with a formula, whose derivatives need a search.
FIRST_CALL = """
import numpy as np
from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RigidTransform_, RotationMatrix_
from merganser.geometry import *
from merganser.framework.native.memory import shared_code

graph = SceneGraph()
source = graph.RegisterSource("source")
frame = graph.RegisterFrame(source, GeometryFrame("frame"))
ball = GeometryInstance(RigidTransform(), Sphere(0.2), "ball")
box = GeometryInstance(RigidTransform(), Box(1, 1, 1), "box")
for instance in (ball, box):
    instance.set_proximity_properties(ProximityProperties())
graph.RegisterGeometry(source, frame, ball)
graph.RegisterAnchoredGeometry(source, box)
graph = graph.ToAutoDiffXd()
poses = FramePoseVector_[AutoDiffXd]()
p_WB = InitializeAutoDiff([0.6, 0.1, 0.2]).ravel()
poses.set_value(frame, RigidTransform_[AutoDiffXd](RotationMatrix_[AutoDiffXd](), p_WB))
context = graph.CreateDefaultContext()
graph.get_source_pose_port(source).FixValue(context, poses)
query = graph.get_query_output_port().Eval(context)
for call in (query.ComputePointPairPenetration, query.ComputeSignedDistancePairwiseClosestPoints):
    for _, cell in shared_code._SHARED.values():
        cell[0] = 0
    (pair,) = call()
    value = -pair.depth if hasattr(pair, "depth") else pair.distance
    np.testing.assert_allclose(value.value(), -0.1, atol=1e-12)
    np.testing.assert_allclose(value.derivatives(), [1.0, 0.0, 0.0], atol=1e-12)
for _, cell in shared_code._SHARED.values():
    cell[0] = 0
for point in query.ComputeSignedDistanceToPoint([1.0, 0.0, 0.0]):
    assert point.distance.derivatives().shape == (3,)
"""


def searches():
    """What is shared by the kernels of proximity."""
    found = shared_code._SHARED.values()
    return [shared for shared in found if shared[0].interpreted.__module__.startswith("merganser.geometry.")]


@pytest.fixture
def empty_cells():
    """As if no search had been called in this process yet."""
    for _, cell in searches():
        cell[0] = 0


def results_of_all_pairs():
    """Distances of pairs of each two shapes, apart and overlapping."""
    pairs = [pair for pair in itertools.combinations_with_replacement(SHAPES, 2) for _ in range(2)]
    engine = ProximityEngine(ProximityArrays([shape for pair in pairs for shape in pair], range(2 * len(pairs))))
    X_WG = np.tile(np.eye(4), (2 * len(pairs), 1, 1))
    X_WG[1::4, :3, 3], X_WG[3::4, :3, 3] = (0.03, 0.05, 0.04), (0.4, 0.5, 0.6)
    distances = engine.signed_distances(X_WG, np.arange(2 * len(pairs)).reshape(-1, 2))["distance"].copy()
    on_field = ProximityEngine(ProximityArrays([HeightField(np.zeros((2, 2)), 1.0, 1.0), Sphere(0.1)], range(2)))
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    found = on_field.signed_distances(X_WG, np.array([[0, 1]]))["distance"]
    return np.concatenate([distances, found, on_field.contact_manifolds(X_WG)[1]["depth"]])


def test_derivatives_may_be_the_first_thing_that_a_process_asks_for():
    process = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_a_search_that_was_never_called_is_found_when_a_pair_needs_it(empty_cells):
    expected = results_of_all_pairs()
    for _, cell in searches():
        cell[0] = 0
    np.testing.assert_array_equal(results_of_all_pairs(), expected)
    assert all(cell[0] for _, cell in searches())


def test_pairs_with_formulas_need_no_search(empty_cells):
    engine = ProximityEngine(ProximityArrays([Sphere(0.1), Capsule(0.1, 0.2), Cylinder(0.1, 0.2)], range(3)))
    engine.signed_distances(np.tile(np.eye(4), (3, 1, 1)), np.array([[0, 1], [0, 2]]))
    assert not any(cell[0] for _, cell in searches())


def test_boxes_that_lie_on_each_other_and_on_the_ground_need_no_search(empty_cells):
    engine = ProximityEngine(ProximityArrays([HalfSpace(), Box(0.1, 0.1, 0.1), Box(0.1, 0.1, 0.1)], range(3)))
    X_WG = np.tile(np.eye(4), (3, 1, 1))
    X_WG[1:, 2, 3] = 0.05 - 1e-4, 0.15 - 2e-4
    _, contacts = engine.contact_manifolds(X_WG, 0.0, np.array([[0, 1], [1, 2]]))
    assert len(contacts) == 8
    assert not any(cell[0] for _, cell in searches())


def test_threads_may_be_first_together(empty_cells):
    expected, found = results_of_all_pairs(), []
    for _, cell in searches():
        cell[0] = 0
    threads = [threading.Thread(target=lambda: found.append(results_of_all_pairs())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for distances in found:
        np.testing.assert_array_equal(distances, expected)


def test_an_interrupt_waits_until_the_search_is_there(empty_cells, monkeypatch):
    hinted_address, calls = shared_code.hinted_address, []

    def interrupted(name):
        calls.append(name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return hinted_address(name)

    monkeypatch.setattr(shared_code, "hinted_address", interrupted)
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run side by side it is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            results_of_all_pairs()
            threading.Event().wait(5.0)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert calls[0] == calls[1]


def test_a_search_that_cannot_be_compiled_leaves_its_pairs_unsolved(empty_cells, monkeypatch, capsys):
    def fail(name):
        raise MemoryError(name)

    monkeypatch.setattr(shared_code, "hinted_address", fail)
    results_of_all_pairs()
    assert "cannot be compiled" in capsys.readouterr().err
    monkeypatch.undo()
    assert np.isfinite(results_of_all_pairs()).all()


def test_arrays_go_to_other_processes():
    shapes = [Box(0.1, 0.1, 0.1), Capsule(0.1, 0.2), Convex(CORNERS, "cube")]
    copied = pickle.loads(pickle.dumps(ProximityArrays(shapes, range(3))))
    np.testing.assert_array_equal(copied.all_pairs, [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(copied.hulls.edges, ProximityArrays(shapes, range(3)).hulls.edges)


def test_all_searches_are_compiled_beforehand_for_who_asks():
    compiled_programs.searches()
    assert len(shared_code.shared_names()) >= 5
    for name in shared_code.shared_names():
        assert shared_code.job_of(name)[0].codes, name
