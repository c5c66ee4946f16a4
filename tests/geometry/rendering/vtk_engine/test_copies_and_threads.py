"""Copies of scenes, what is left of them, threads and processes."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from rendered_scenes import (
    INFO,
    WORLD,
    color_camera,
    depth_camera,
    images_of,
    moving_scene,
    need_renderer,
)

from merganser.framework import PickleSystem
from merganser.framework.math import RigidTransform
from merganser.geometry.sensors import CameraInfo

need_renderer()

Array = np.ndarray[Any, Any]


def test_copies_of_contexts_graphs_and_queries_see_what_the_originals_see() -> None:
    scene = moving_scene()
    context = scene.new_context(RigidTransform([0.2, 0.0, 0.0]))
    expected = images_of(scene, context)
    clone = context.Clone()
    scene.move(context, RigidTransform([-0.4, 0.0, 0.0]))
    moved = images_of(scene, context)
    assert not np.array_equal(expected[2], moved[2])
    for ours, theirs in zip(images_of(scene, clone), expected):
        np.testing.assert_array_equal(ours, theirs)
    snapshot = copy.copy(scene.query(clone))
    scene.move(clone, RigidTransform())
    frozen = snapshot.RenderLabelImage(color_camera(INFO), WORLD, RigidTransform()).data[:, :, 0]
    np.testing.assert_array_equal(frozen, expected[2])
    graph, its_context = pickle.loads(PickleSystem(scene.graph, context))
    query = graph.get_query_output_port().Eval(its_context)
    again = query.RenderColorImage(color_camera(INFO), WORLD, RigidTransform()).data
    np.testing.assert_array_equal(again, moved[0])
    twin = copy.deepcopy(scene.graph)
    assert twin.GetRendererTypeName("r") == scene.graph.GetRendererTypeName("r") != ""


def test_scene_outlives_the_context_and_the_graph_that_its_query_came_from() -> None:
    scene = moving_scene()
    snapshot = copy.copy(scene.query())
    expected = scene.depths(INFO).copy()
    del scene
    gc.collect()
    image = snapshot.RenderDepthImage(depth_camera(INFO), WORLD, RigidTransform())
    np.testing.assert_array_equal(image.data[:, :, 0], expected)


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_two_hundred_engines_leave_nothing_behind() -> None:
    info = CameraInfo(32, 24, 1.0)

    def one() -> None:
        scene = moving_scene()
        images_of(scene, info=info)

    for _ in range(30):
        one()
    gc.collect()
    before = resident_mb()
    for _ in range(200):
        one()
    gc.collect()
    assert resident_mb() - before < 40.0
    from merganser.geometry.rendering.vtk_engine import window as canvas

    (only,) = canvas._canvases.values()
    assert only._window.GetRenderers().GetNumberOfItems() < 20  # those of scenes of other tests, perhaps


def test_threads_draw_one_after_the_other_and_see_their_own_scenes() -> None:
    scene = moving_scene()
    places = {x: CameraInfo(64 + int(80 * x), 48, 1.0) for x in (0.0, 0.2, 0.4, 0.6)}
    expected = {x: images_of(scene, scene.new_context(RigidTransform([x, 0, 0])), info) for x, info in places.items()}
    problems: list[Any] = []

    def work(x: float) -> None:
        try:
            for _ in range(8):
                found = images_of(scene, scene.new_context(RigidTransform([x, 0, 0])), places[x])
                problems.extend(kind for kind in range(3) if not np.array_equal(found[kind], expected[x][kind]))
                other = moving_scene()  # is made, draws and is deleted in this thread
                images_of(other)
                del other
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


FORKED = """
import os, sys
sys.path.insert(0, {path!r})
from rendered_scenes import images_of, moving_scene
scene = moving_scene()
if {draws_before}:
    images_of(scene)
child = os.fork()
if child == 0:
    try:
        images_of(scene)
        print("drawn", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    del scene
    sys.exit(7)
print(os.waitpid(child, 0)[1] >> 8)
images_of(scene)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("draws_before", [False, True])
def test_forked_process_draws_unless_its_parent_has_and_ends_in_any_case(draws_before: bool) -> None:
    support = os.path.dirname(sys.modules["rendered_scenes"].__file__ or "")
    program = FORKED.format(path=support, draws_before=draws_before)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    first, *_, last = run.stdout.splitlines()
    assert last == "7"
    assert first.startswith("This process was forked from one that had rendered" if draws_before else "drawn")
