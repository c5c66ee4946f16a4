"""Masks and limits of joints against pydrake's."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")

pytestmark = pytest.mark.reference

MODELS = Path(__file__).resolve().parents[4] / "examples" / "models"


def robot(root: str) -> tuple[Any, Any, Any]:
    """An arm, a gripper and bodies on joints of all kinds; the module of planning; all names."""
    planning = importlib.import_module("pydrake.planning" if root == "pydrake" else "merganser.multibody.planning")
    lib = importlib.import_module(f"{root}.all")
    plant = lib.MultibodyPlant(0.0)
    for name in ("arm7.urdf", "parallel_gripper.sdf"):
        lib.Parser(plant).AddModels(str(MODELS / name))
    world = plant.world_frame()
    plant.WeldFrames(world, plant.GetFrameByName("body"))
    instance = plant.AddModelInstance("others")
    for name, make in (
        ("turning", lambda f: lib.RevoluteJoint("turning", world, f, [0, 0, 1])),
        ("limited", lambda f: lib.RevoluteJoint("limited", world, f, [0, 0, 1], -1.0, 1.0)),
        ("universal", lambda f: lib.UniversalJoint("universal", world, f)),
        ("planar", lambda f: lib.PlanarJoint("planar", world, f)),
        ("screw", lambda f: lib.ScrewJoint("screw", world, f, [0, 0, 1], 0.1, 0.0)),
    ):
        body = plant.AddRigidBody(name, instance, lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.AddJoint(make(body.body_frame()))
    plant.Finalize()
    return plant, planning, lib


def facts(root: str) -> list[Any]:
    plant, planning, _ = robot(root)
    mask = planning.DofMask.MakeFromModel(plant, "parallel_gripper")
    other = planning.DofMask.MakeFromModel(plant, plant.GetModelInstanceByName("arm7"))
    both = mask.Union(other)
    found: list[Any] = [mask.size(), mask.count(), both.count(), both.Subtract(mask) == other, both[3], mask[3]]
    found += [mask.GetSelectedToFullIndex(), mask.GetFullToSelectedIndex(), [int(i) for i in both.GetJoints(plant)]]
    found.append(planning.GetContinuousRevoluteJointIndices(plant))
    for limits in (planning.JointLimits(plant), planning.JointLimits(plant, both)):
        for kind in ("position", "velocity", "acceleration"):
            found += [getattr(limits, f"{kind}_{side}")().tolist() for side in ("lower", "upper")]
        n = limits.num_positions()
        found += [limits.CheckInPositionLimits(np.full(n, q), tolerance=0.1) for q in (0.0, 0.1, 3.05)]
    return found


def test_masks_and_limits_of_a_robot() -> None:
    assert facts("merganser") == facts("pydrake")
