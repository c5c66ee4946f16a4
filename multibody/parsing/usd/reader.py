"""Reads models from USD: bodies, shapes, joints, drives and materials of UsdPhysics (package usd-core).

Of other schemas are read: armature, damping, friction, springs and bounds on the speed of joints, and joints that mimic
others, of PhysX, Newton and MuJoCo; actuators of MuJoCo. Lengths and masses become SI, an upward y axis an upward z
axis. Angles of joints and gains of angular drives are in degrees there. One warning names what has no counterpart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from merganser.multibody.parsing.description import DocumentDescription, ModelDescription
from merganser.multibody.parsing.errors import Diagnostics, ParsingError
from merganser.multibody.parsing.usd.bodies import read_bodies
from merganser.multibody.parsing.usd.filters import read_filters
from merganser.multibody.parsing.usd.joints import read_joints
from merganser.multibody.parsing.usd.stage import Array, UsdStage


def read_usd(path: Path, diagnostics: Diagnostics) -> DocumentDescription:
    """Describes what a stage has of UsdPhysics, as one model.

    Args:
        path: a file .usd, .usda, .usdc or .usdz.
        diagnostics: receives a warning for what has no effect here.

    Raises:
        ImportError: usd-core is not installed.
        ParsingError: the stage cannot be opened, has no rigid body, or what it says is no model.
    """
    stage = UsdStage(path, diagnostics)
    model = ModelDescription(stage.model, stage.where)
    shapes = read_bodies(stage, model)
    if not model.links:
        raise ParsingError(stage.where, "the stage has no rigid body (PhysicsRigidBodyAPI).")
    read_joints(stage, model)
    read_filters(stage, model, shapes)
    for prim in stage.prims:
        if prim.IsA(stage.physics.Scene):
            model.gravity = _gravity(stage, stage.physics.Scene(prim))
    stage.warn()
    return DocumentDescription(stage.where, [model], depends_on_files=True)


def _gravity(stage: UsdStage, scene: Any) -> Array | None:
    """The gravity of a scene [m/s^2]: downwards without a direction; None without a magnitude."""
    size, direction = scene.GetGravityMagnitudeAttr().Get(), np.array(scene.GetGravityDirectionAttr().Get())
    if not np.isfinite(size) or size < 0.0:
        return None
    along = stage.R_WU @ (direction / np.linalg.norm(direction)) if np.any(direction) else np.array([0.0, 0.0, -1.0])
    return stage.length * float(size) * along
