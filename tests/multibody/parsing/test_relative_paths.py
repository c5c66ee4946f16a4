"""Model files and what they name are found from any working folder, which may change after they are read."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from merganser.framework import DiagramBuilder
from merganser.geometry import Mesh, Role
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.mjcf import LoadMjcfOptions
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from tests.support.odd_models import CUBE_OBJ

MESH = '<mesh name="cube" file="{}"/>'
BODY = '<body name="b"><joint/><geom type="mesh" mesh="cube" mass="1"/></body>'
LINK = """<link name="b"><inertial><mass value="1"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/>
</inertial><visual><geometry><mesh filename="parts/cube.obj"/></geometry></visual></link>"""


def mjcf(assets: str, body: str = BODY, before: str = "") -> str:
    return f'<mujoco model="m">{before}<asset>{assets}</asset><worldbody>{body}</worldbody></mujoco>'


TEXTURED = '<texture name="t" type="2d" file="t.png"/><material name="t" texture="t"/>'
FILES = {
    "mesh.xml": mjcf(MESH.format("parts/cube.obj")),
    "meshdir.xml": mjcf(MESH.format("cube.obj"), before='<compiler meshdir="parts"/>'),
    "assetdir.xml": mjcf(MESH.format("cube.obj"), before='<compiler assetdir="./parts/"/>'),
    "strippath.xml": mjcf(MESH.format("C:\\home\\cube.obj"), before='<compiler strippath="true" meshdir="parts"/>'),
    "texture.xml": mjcf(
        TEXTURED + MESH.format("cube.obj"), BODY.replace("mass", 'material="t" mass'), '<compiler assetdir="parts"/>'
    ),
    "field.xml": mjcf(
        '<hfield name="h" file="parts/t.png" size="1 1 .1 .1"/>' + MESH.format("parts/cube.obj"),
        '<geom type="hfield" hfield="h"/>' + BODY,
    ),
    "include.xml": '<mujoco model="m"><include file="parts/middle.xml"/></mujoco>',
    "attach.xml": mjcf('<model name="k" file="parts/child.xml"/>', '<attach model="k" prefix="k-"/>'),
    "parts/child.xml": mjcf(MESH.format("cube.obj")),
    "parts/middle.xml": f'<mujoco><option timestep="0.003"/><asset>{MESH.format("parts/cube.obj")}</asset>'
    '<worldbody><include file="parts/inner.xml"/></worldbody></mujoco>',
    "parts/inner.xml": f"<mujocoinclude>{BODY}</mujocoinclude>",
    "robot.urdf": f'<robot name="r">{LINK}</robot>',
    "model.sdf": '<sdf version="1.9"><model name="s"><link name="b"><visual name="v"><geometry><mesh>'
    "<uri>parts/cube.obj</uri></mesh></geometry></visual></link></model></sdf>",
    "outer.sdf": '<sdf version="1.9"><model name="o"><include><uri>model.sdf</uri></include></model></sdf>',
    "scene.dmd.yaml": "directives:\n- add_model: { name: m, file: robot.urdf }\n",
}
READ = [name for name in FILES if not name.startswith("parts/")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models" / "parts").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    for name, text in FILES.items():
        (tmp_path / "models" / name).write_text(text)
    (tmp_path / "models" / "parts" / "cube.obj").write_text(CUBE_OBJ)
    heights = (np.arange(64).reshape(8, 8) * 3).astype(np.uint8)
    Image.fromarray(heights).save(tmp_path / "models" / "parts" / "t.png")
    return tmp_path


@pytest.mark.parametrize("name", READ)
def test_files_that_a_model_names_are_found_whatever_folder_is_the_working_one(name, folder, monkeypatch):
    for working, path in (
        ("", f"models/{name}"), ("", folder / "models" / name), ("models", name), ("models", f"./{name}"),
        ("work", f"../models/{name}"), ("models/parts", f"../{name}"),
    ):  # fmt: skip
        monkeypatch.chdir(folder / working)
        builder = DiagramBuilder()
        plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.001)
        Parser(plant).AddModels(path)
        monkeypatch.chdir(folder / "work")
        plant.Finalize()
        builder.Build().CreateDefaultContext()
        inspector = scene_graph.model_inspector()
        shapes = [inspector.GetShape(g) for g in inspector.GetAllGeometryIds(Role.kIllustration)]
        named = [shape.source().path() for shape in shapes if isinstance(shape, Mesh) and shape.source().is_path()]
        assert named and all(file.is_absolute() and file.is_file() for file in named), path


def test_options_of_included_files_are_found_too(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert LoadMjcfOptions("models/include.xml").time_step == 0.003
