"""One model as a plant of merganser and as a plant of pydrake.

Import it after pytest.importorskip("pydrake").
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydrake.math
import pydrake.multibody.parsing
import pydrake.multibody.plant
import pydrake.multibody.tree
import pytest
from explicit_products import as_pydrake
from joint_mechanisms import library
from plant_comparison import Side
from plants import MODELS

import merganser.framework.math
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant


@dataclass
class Pair:
    """A merganser plant and a pydrake plant, both finalized, with a Context each."""

    ours: MultibodyPlant
    theirs: Any

    def __post_init__(self) -> None:
        self.context = self.ours.CreateDefaultContext()
        self.their_context = self.theirs.CreateDefaultContext()
        for index in range(self.ours.num_model_instances()):  # read where the model has PD controllers
            self.fix_desired_state(index, np.zeros(2 * self.ours.num_actuated_dofs(index)))

    def sides(self, seed: int = 0) -> tuple[Side, Side]:
        """Ours and theirs, for the functions of plant_comparison.py."""
        frames = map(self.ours.get_frame, self.ours.GetFrameIndices())
        names = tuple((int(frame.model_instance()), frame.name()) for frame in frames)
        return (
            Side(library("ours"), self.ours, self.context, names, seed),
            Side(library("theirs"), self.theirs, self.their_context, names, seed),
        )

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        for plant, context in ((self.ours, self.context), (self.theirs, self.their_context)):
            plant.SetPositions(context, q)
            plant.SetVelocities(context, v)

    def set_random_state(self, rng: np.random.Generator) -> None:
        """A normally distributed state, quaternions not of unit length, within the limits of joints.

        Beyond them, pydrake's continuous plants go on without limits.
        """
        q = rng.normal(size=self.ours.num_positions())
        q = np.clip(q, self.ours.GetPositionLowerLimits(), self.ours.GetPositionUpperLimits())
        self.set_state(q, rng.normal(size=self.ours.num_velocities()))

    def fix_desired_state(self, instance: int, x_d: np.ndarray) -> None:
        self.ours.get_desired_state_input_port(instance).FixValue(self.context, x_d)
        index = pydrake.multibody.tree.ModelInstanceIndex(instance)
        self.theirs.get_desired_state_input_port(index).FixValue(self.their_context, x_d)

    def fix_actuation(self, u: np.ndarray) -> None:
        self.ours.get_actuation_input_port().FixValue(self.context, u)
        self.theirs.get_actuation_input_port().FixValue(self.their_context, u)


def load_both(files: list[str | Path], welded_frames: tuple[str, ...] = (), time_step: float = 0.0) -> Pair:
    """Loads model files into both libraries.

    Args:
        files: relative to the folder of real robots, or absolute.
        welded_frames: frames to weld to the world.
        time_step: of both plants [s].
    """
    ours = as_pydrake(MultibodyPlant(time_step))
    theirs = pydrake.multibody.plant.MultibodyPlant(time_step)
    if time_step > 0.0:
        for plant in (ours, theirs):
            plant.SetUseSampledOutputPorts(False)  # so that a step is a discrete update
    sides = (
        (ours, Parser(ours), merganser.framework.math),
        (theirs, pydrake.multibody.parsing.Parser(theirs), pydrake.math),
    )
    for plant, parser, math in sides:
        package_map = parser.package_map()
        if package_map.Contains("drake_models"):
            package_map.Remove("drake_models")
        if MODELS.is_dir():
            package_map.Add("drake_models", str(MODELS))
        for file in files:
            path = MODELS / file
            if not path.is_file():
                pytest.skip(f"model file {path} is missing; set MERGANSER_MODELS to the folder of the robots")
            parser.AddModels(str(path))
        for name in welded_frames:
            X_WF = math.RigidTransform(math.RollPitchYaw(0.3, -0.2, 0.5), [0.1, 0.2, 0.3])
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name), X_WF)
        plant.Finalize()
    return Pair(ours, theirs)
