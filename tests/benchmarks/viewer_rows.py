"""Rows about what a viewer costs a simulation: an arm, many bodies, and contacts, with and without a page that shows
them.

A page is a process that reads what comes by the websocket, as a browser would. Rows "speed kept" have this
package's own simulation without one as reference: their ratio is the speed that is kept.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from libraries import ROOT, Call, Library, Row, load

ARM = ROOT / "examples" / "models" / "arm7.urdf"
NUM_BODIES = 400
NUM_RESTING = 100
SPAN = 1.0  # simulated in each call [s]
READER = """
import asyncio, sys
from tornado.websocket import websocket_connect

async def read():
    socket = await websocket_connect(sys.argv[1], max_message_size=1 << 30)
    print("connected", flush=True)
    while await socket.read_message() is not None:
        pass

asyncio.run(read())
"""
_alive: list[Any] = []  # Meshcats of pydrake, which may end only in the thread where they began
NONE, NO_PAGE, PAGE = "no viewer", "no page is open", "a page is open"


def geometry_of(library: Library) -> Any:
    """The module with the viewer, of either package."""
    if library.plant.__name__.startswith("pydrake"):
        import pydrake.geometry

        return pydrake.geometry
    import merganser.geometry

    return merganser.geometry


def visualization_of(library: Library) -> Any:
    """The module with all viewers of a plant, of either package."""
    if library.plant.__name__.startswith("pydrake"):
        import pydrake.visualization

        return pydrake.visualization
    import merganser.multibody.visualization

    return merganser.multibody.visualization


def make_viewer(
    library: Library, builder: Any, scene_graph: Any, period: float, audience: str, with_all: bool = False
) -> Any:
    """A Meshcat that draws the scene, or everything about a plant, with or without an open page."""
    if audience == NONE:
        return None
    geometry = geometry_of(library)
    meshcat = geometry.Meshcat(port=0)
    if geometry.__name__.startswith("pydrake"):
        _alive.append(meshcat)
    if with_all:
        visualization = visualization_of(library)
        config = visualization.VisualizationConfig(publish_period=period)
        visualization.ApplyVisualizationConfig(config, builder, meshcat=meshcat)
    else:
        params = geometry.MeshcatVisualizerParams(publish_period=period)
        geometry.MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat, params)
    if audience == PAGE:
        reader = subprocess.Popen([sys.executable, "-c", READER, meshcat.ws_url()], stdout=subprocess.PIPE)
        assert reader.stdout is not None and reader.stdout.readline() == b"connected\n"
        atexit.register(reader.kill)
    return meshcat


def moving_arm(library: Library, audience: str) -> Call:
    """An arm that falls and swings without a motor, in steps of 1 ms; drawn at 64 Hz."""
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, 0.001)
    load(library, plant, ARM)
    plant.Finalize()
    return advancing(library, builder, plant, make_viewer(library, builder, scene_graph, 1 / 64, audience))


def flying_boxes(library: Library, audience: str) -> Call:
    """Boxes that fly and tumble, in steps of 5 ms; drawn at 32 Hz."""
    geometry = geometry_of(library)
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, 0.005)
    for i in range(NUM_BODIES):
        body = plant.AddRigidBody(f"box{i}", library.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        X_BG = plant.GetFrameByName(f"box{i}").GetFixedPoseInBodyFrame()
        plant.RegisterVisualGeometry(body, X_BG, geometry.Box(0.1, 0.2, 0.3), "box", [0.5, 0.5, 0.5, 1.0])
    plant.Finalize()
    return advancing(library, builder, plant, make_viewer(library, builder, scene_graph, 1 / 32, audience))


def resting_boxes(library: Library, audience: str) -> Call:
    """Boxes on the ground, four contact points each, in steps of 5 ms; all viewers at 32 Hz, with contact forces."""
    geometry = geometry_of(library)
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, 0.005)
    X, friction = plant.world_frame().GetFixedPoseInBodyFrame(), library.plant.CoulombFriction(0.8, 0.8)
    plant.RegisterCollisionGeometry(plant.world_body(), X, geometry.HalfSpace(), "ground", friction)
    for i in range(NUM_RESTING):
        body = plant.AddRigidBody(f"box{i}", library.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.3, 0.3, 0.3))
        plant.RegisterCollisionGeometry(body, X, geometry.Box(0.3, 0.3, 0.3), "box", friction)
        plant.RegisterVisualGeometry(body, X, geometry.Box(0.3, 0.3, 0.3), "box", [0.5, 0.5, 0.5, 1.0])
    plant.Finalize()
    meshcat = make_viewer(library, builder, scene_graph, 1 / 32, audience, with_all=True)
    q = [x for i in range(NUM_RESTING) for x in (1.0, 0.0, 0.0, 0.0, 0.5 * (i % 10), 0.5 * (i // 10), 0.15)]
    return advancing(library, builder, plant, meshcat, q)


def advancing(library: Library, builder: Any, plant: Any, meshcat: Any, q: list[float] | None = None) -> Call:
    """Simulates a second more with each call; returns where things are."""
    simulator = library.analysis.Simulator(builder.Build())
    inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    if q is not None:
        plant.SetPositions(inside, q)
    elif plant.num_actuators():
        plant.get_actuation_input_port().FixValue(inside, [0.0] * plant.num_actuators())
        plant.SetPositions(inside, [0.1 * (i + 1) for i in range(plant.num_positions())])
    else:
        plant.SetVelocities(inside, [0.01 * (i % 7) for i in range(plant.num_velocities())])
    simulator.Initialize()

    def second(_alive: Any = meshcat) -> Any:
        simulator.AdvanceTo(simulator.get_context().get_time() + SPAN)
        return plant.GetPositions(inside)

    return second


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """All scenes, beside pydrake's and beside no viewer at all."""
    try:
        import tornado  # noqa: F401
    except ImportError:
        return  # the extra `view` is not installed
    scenes = (
        ("arm at 1 kHz, drawn at 64 Hz", moving_arm, 1e-6),
        (f"{NUM_BODIES} bodies drawn at 32 Hz", flying_boxes, 1e-6),
        (f"{NUM_RESTING} boxes at rest, with contacts at 32 Hz", resting_boxes, 1e-2),  # they sink as deep as they may
    )
    for name, make, tolerance in scenes:
        for audience in (NO_PAGE, PAGE):
            mine = functools.partial(make, ours, audience)
            reference = None if theirs is None else functools.partial(make, theirs, audience)
            yield Row(f"1 s, {name}, {audience}", mine, reference, 1, tolerance=tolerance)
            yield Row(f"1 s, {name}, {audience}: speed kept", mine, functools.partial(make, ours, NONE), 1)
