"""A diagram with a plant and a SceneGraph pickles without help, and the copy simulates the same."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from plants import EXAMPLE_MODELS

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_pickled_diagram_simulates_bit_for_bit_like_the_original(time_step):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    Parser(plant).AddModels(str(EXAMPLE_MODELS / "double_pendulum.urdf"))
    plant.Finalize()
    original = builder.Build()
    states = []
    for diagram in (original, pickle.loads(pickle.dumps(original))):
        simulator = Simulator(diagram)
        plant = diagram.GetSubsystemByName("plant")
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetPositions(context, [0.3, -0.2])
        simulator.AdvanceTo(0.5)
        states.append(plant.GetPositionsAndVelocities(context))
    assert np.array_equal(*states)
