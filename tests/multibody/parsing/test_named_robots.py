"""Robots by the names of robot_descriptions: its modules are written here, as it fetches files from the network."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

URDF = """<robot name="arm"><link name="base"/><link name="tip">
  <visual><geometry><mesh filename="package://arm_files/meshes/tip.obj"/></geometry></visual></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The package robot_descriptions with one robot."""
    package = tmp_path / "repository" / "robots" / "arm_files"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "urdf" / "arm.urdf").write_text(URDF)
    (package / "meshes" / "tip.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    parent, module = types.ModuleType("robot_descriptions"), types.ModuleType("robot_descriptions.arm_description")
    parent.__path__ = []
    described: Any = module
    described.REPOSITORY_PATH, described.PACKAGE_PATH = str(tmp_path / "repository"), str(package)
    described.URDF_PATH = str(package / "urdf" / "arm.urdf")
    monkeypatch.setitem(sys.modules, "robot_descriptions", parent)
    monkeypatch.setitem(sys.modules, "robot_descriptions.arm_description", module)
    return module


def test_a_robot_is_added_by_its_name_with_its_packages(arm: types.ModuleType) -> None:
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModels("arm_description")
    assert plant.GetModelInstanceName(instance) == "arm" and plant.HasJointNamed("hinge")
    assert Path(parser.package_map().GetPath("arm_files")) == Path(arm.PACKAGE_PATH)


def test_what_is_missing_is_named(arm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Parser(MultibodyPlant(0.0))
    with pytest.raises(RuntimeError, match=r"leg_description.*no robot of this name"):
        parser.AddModels("leg_description")
    del arm.URDF_PATH
    with pytest.raises(RuntimeError, match="neither URDF nor MJCF"):
        parser.AddModels("arm_description")
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(ImportError, match=r"no file 'arm_description'.*pip install 'merganser\[robots\]'"):
        parser.AddModels("arm_description")
    with pytest.raises(RuntimeError, match="does not exist"):
        parser.AddModels("folder/arm_description")
