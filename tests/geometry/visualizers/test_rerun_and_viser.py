"""A scene in rerun and in viser: what their own libraries find there."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Sphere
from merganser.geometry.visualizers import RerunVisualizer, ViserVisualizer
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import SpatialInertia


def falling_ball(builder: DiagramBuilder) -> Any:
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.RegisterVisualGeometry(ball, RigidTransform([0.0, 0.0, 0.2]), Sphere(0.1), "ball", [1.0, 0.5, 0.0, 1.0])
    plant.RegisterVisualGeometry(plant.world_body(), RigidTransform(), Box(1, 1, 0.1), "floor", [0.5, 0.5, 0.5, 0.5])
    plant.Finalize()
    plant.SetDefaultFloatingBaseBodyPose(ball, RigidTransform([0.0, 0.0, 1.0]))
    return scene_graph


def test_a_recording_of_rerun_has_the_ball_and_the_floor(tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    builder, path = DiagramBuilder(), tmp_path / "run.rrd"
    visualizer = RerunVisualizer.AddToBuilder(builder, falling_ball(builder))
    visualizer.recording.save(path)
    Simulator(builder.Build()).AdvanceTo(0.3)
    visualizer.recording.flush()
    del visualizer, builder
    names = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", path], capture_output=True, text=True, check=True
    ).stdout
    assert "/visualizer/ball" in names and "/visualizer/floor" in names


def test_viser_shows_the_ball_where_it_is() -> None:
    pytest.importorskip("viser")
    builder = DiagramBuilder()
    visualizer = ViserVisualizer.AddToBuilder(builder, falling_ball(builder))
    try:
        diagram = builder.Build()
        diagram.ToAutoDiffXd()  # as Linearize does
        simulator = Simulator(diagram)
        simulator.AdvanceTo(0.25)
        nodes = visualizer._canvas._nodes
        at = {path: np.array(node.position) for path, node in nodes.items()}
        frame = next(path for path in at if path.endswith("ball") and path.count("/") == 1)
        assert at[frame][2] == pytest.approx(1.0 - 0.5 * 9.81 * 0.25**2, abs=0.02)
        np.testing.assert_allclose(at[f"{frame}/ball"], [0.0, 0.0, 0.2])
        mesh = nodes[f"{frame}/ball/0"]
        np.testing.assert_allclose(np.linalg.norm(mesh.vertices, axis=1), 0.1, atol=1e-6)
        assert tuple(mesh.color) == (255, 128, 0) and nodes["visualizer/floor/0"].opacity == 0.5
        host, port = visualizer.server.get_host(), visualizer.server.get_port()
        assert host == "localhost"
        socket.create_connection((host, port), timeout=5.0).close()
    finally:
        visualizer.server.stop()


@pytest.mark.parametrize(("module", "make"), [("rerun", RerunVisualizer), ("viser", ViserVisualizer)])
def test_a_missing_package_is_named(module: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs the package {module}.*pip install 'merganser\[{module}\]'"):
        make()
