"""Deformable bodies in the colors of their stress, in a Meshcat and in recordings."""

from __future__ import annotations

import numpy as np
import pytest
from soft_bodies import config

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance, IllustrationProperties, Meshcat, MeshcatVisualizer
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.visualization import StressVisualizer, StressVisualizerParams
from merganser.multibody.visualization.plant_visualizers import colors_of_stresses


def test_a_bar_is_drawn_in_the_colors_of_its_stress_instead_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    geometry = GeometryInstance(RigidTransform([0.1, 0.0, 1.0]), Box(0.2, 0.1, 0.1), "bar")
    geometry.set_illustration_properties(IllustrationProperties())
    body = plant.deformable_model().GetBody(plant.mutable_deformable_model().RegisterDeformableBody(
        geometry, config(), 0.05
    ))  # fmt: skip
    body.SetWallBoundaryCondition([1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
    plant.Finalize()
    meshcat, drawn = Meshcat(), []
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    stress = StressVisualizer.AddToBuilder(builder, plant, meshcat, StressVisualizerParams(greatest=1e4))
    draw = meshcat.SetTriangleColorMesh

    def watch(path: str, vertices: np.ndarray, triangles: np.ndarray, colors: np.ndarray, **kwargs: object) -> None:
        drawn.append((path, vertices, colors))
        draw(path, vertices, triangles, colors, **kwargs)

    hidden = []
    monkeypatch.setattr(meshcat, "SetTriangleColorMesh", watch)
    monkeypatch.setattr(meshcat, "SetProperty", lambda *arguments: hidden.append(arguments))
    simulator = Simulator(builder.Build())
    visualizer.StartRecording()
    simulator.AdvanceTo(0.2)
    stress.ForcedPublish(stress.GetMyContextFromRoot(simulator.get_context()))
    visualizer.PublishRecording()
    assert ("visualizer/DefaultModelInstance/bar", "visible", False) in hidden
    assert {path for path, *_ in drawn} == {"stress/DefaultModelInstance/bar"} and len(drawn) > 5
    _, p_WV, colors = drawn[-1]
    context = plant.GetMyContextFromRoot(simulator.get_context())
    assert abs(np.sort(p_WV[2])[:3] - np.sort(body.GetPositions(context)[2])[:3]).max() < 1e-9
    stresses = body.von_mises_stresses(context, at_vertices=True)
    assert stresses.max() > 2.0 * np.median(stresses) > 0.0
    assert colors.max(axis=1) == pytest.approx(colors_of_stresses(stresses, 1e4).max(axis=0), abs=0.05)
    assert abs(drawn[0][2] - colors_of_stresses(np.zeros(1), 1e4).T).max() < 1e-9
    meshcat.Delete()


def test_colors_go_from_blue_to_red_and_stay_there() -> None:
    blue, green, red, beyond, torn = colors_of_stresses(np.array([0.0, 0.5, 1.0, 7.0, np.nan]), 1.0)
    assert blue[2] > blue[0] and green[1] == max(green) and red[0] > 0.8 and (red == beyond).all()
    assert (torn == red).all() and (colors_of_stresses(np.zeros(2), 0.0) == blue).all()


def test_settings_that_cannot_be_are_refused() -> None:
    plant, meshcat = MultibodyPlant(0.01), Meshcat()
    with pytest.raises(RuntimeError, match="finalized plant"):
        StressVisualizer(plant, meshcat)
    plant.Finalize()
    for name in ("greatest", "publish_period"):
        with pytest.raises(RuntimeError, match=f"{name} must not be negative; given -1"):
            StressVisualizer(plant, meshcat, StressVisualizerParams(**{name: -1.0}))
    with pytest.raises(TypeError, match="takes a MultibodyPlant, a Meshcat"):
        StressVisualizer(meshcat, plant)  # type: ignore[arg-type]
