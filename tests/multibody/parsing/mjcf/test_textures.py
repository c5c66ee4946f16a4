"""Textures of MJCF files: made ones on planes and boxes, files on planes, mean colours elsewhere."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from merganser.framework import DiagramBuilder
from merganser.geometry import Box, HalfSpace, Mesh, Role
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.sensors import AddMjcfCameras, GetMjcfCameraConfigs

TEXTURE = '<texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="6" {}/>'
SCENE = """<mujoco model="m"><asset>{}<material name="m" texture="t" texrepeat="3 2" rgba=".5 1 1 1" {}/></asset>
<worldbody><geom name="g" {} material="m"/>
<camera name="top" pos="0 0 2" resolution="64 64" fovy="90"/></worldbody></mujoco>"""


def visual(texture: str = TEXTURE.format(""), geom: str = 'type="plane" size="2 1 .1"', material: str = ""):
    """The builder, the parser, the inspector and the id of the one visual geometry."""
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    parser = Parser(plant)
    parser.AddModelsFromString(SCENE.format(texture, material, geom), "xml")
    plant.Finalize()
    inspector = scene_graph.model_inspector()
    (geometry,) = inspector.GetAllGeometryIds(Role.kIllustration)
    return builder, parser, inspector, geometry


def mesh_of(inspector, geometry) -> tuple[str, str, np.ndarray]:
    """Text of the mesh and of its material, and pixels of its texture."""
    source = inspector.GetShape(geometry).source().in_memory()
    files = source.supporting_files
    picture = next(file for name, file in files.items() if not name.endswith(".mtl"))
    with Image.open(io.BytesIO(picture.contents())) as image:
        pixels = np.array(image.convert("RGB"))
    return source.mesh_file.contents().decode(), files["texture.mtl"].contents().decode(), pixels


def numbers(text: str, word: str) -> np.ndarray:
    return np.array([line.split()[1:] for line in text.splitlines() if line.split()[0] == word], float)


def test_a_checker_covers_a_plane_as_often_as_the_material_says_and_in_its_colour():
    _, _, inspector, geometry = visual()
    mesh, material, pixels = mesh_of(inspector, geometry)
    np.testing.assert_array_equal(np.ptp(numbers(mesh, "v"), axis=0), [4.0, 2.0, 0.0])
    np.testing.assert_array_equal(np.ptp(numbers(mesh, "vt"), axis=0), [3.0, 2.0])
    assert "Kd 0.5 1 1\nd 1" in material
    assert pixels.shape == (6, 8, 3)
    assert pixels[0, 0].tolist() == pixels[-1, -1].tolist() == [255, 0, 0]
    assert pixels[0, -1].tolist() == pixels[-1, 0].tolist() == [0, 0, 255]


@pytest.mark.parametrize(
    ("size", "material", "repeats"),
    [("2 1 .1", 'texuniform="true"', [6.0, 2.0]), ("0 0 .1", "", [75.0, 50.0]), ("0 1 .1", "", [75.0, 2.0])],
)
def test_textures_are_uniform_where_the_file_says_so_and_on_infinite_planes(size, material, repeats):
    _, _, inspector, geometry = visual(geom=f'type="plane" size="{size}"', material=material)
    np.testing.assert_allclose(np.ptp(numbers(mesh_of(inspector, geometry)[0], "vt"), axis=0), repeats)


def test_faces_of_a_box_look_outwards():
    texture = TEXTURE.replace("2d", "cube").format("")
    _, _, inspector, geometry = visual(texture, 'type="box" size=".1 .2 .3"')
    mesh, _, pixels = mesh_of(inspector, geometry)
    assert pixels.shape == (8, 8, 3)
    vertices = numbers(mesh, "v")
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [0.2, 0.4, 0.6])
    triangles = [line.split()[1:] for line in mesh.splitlines() if line[0] == "f"]
    faces = [[int(corner.split("/")[0]) - 1 for corner in triangle] for triangle in triangles]
    assert len(faces) == 12
    for a, b, c in vertices[faces]:
        assert np.cross(b - a, c - a) @ (a + b + c) > 0.0


def test_what_touches_stays_a_half_space_or_a_box():
    for geom, shape in (('type="plane" size="1 1 1"', HalfSpace), ('type="box" size="1 1 1"', Box)):
        _, _, inspector, _ = visual(geom=geom)
        (felt,) = inspector.GetAllGeometryIds(Role.kProximity)
        assert type(inspector.GetShape(felt)) is shape


@pytest.mark.parametrize("builtin", ["checker", "flat", "gradient"])
def test_other_shapes_have_the_mean_colour(builtin):
    _, _, inspector, geometry = visual(TEXTURE.replace("checker", builtin).format(""), 'size=".1"')
    diffuse = inspector.GetIllustrationProperties(geometry).GetProperty("phong", "diffuse").rgba
    expected = [0.5, 0, 0, 1] if builtin == "flat" else [0.25, 0, 0.5, 1]
    np.testing.assert_allclose(diffuse, expected)


def test_marks_are_in_their_colour():
    for mark, where in (("edge", (0, 3)), ("cross", (3, 0))):
        _, _, inspector, geometry = visual(TEXTURE.format(f'mark="{mark}" markrgb="0 1 0"'))
        pixels = mesh_of(inspector, geometry)[2]
        assert pixels[where].tolist() == [0, 255, 0]
        assert pixels[1, 1].tolist() == [255, 0, 0]
    _, _, inspector, geometry = visual(TEXTURE.format('mark="random" random=".3" markrgb="0 1 0"'))
    assert 2 < (mesh_of(inspector, geometry)[2] == [0, 255, 0]).all(axis=2).sum() < 30


def test_a_picture_covers_a_plane_too(tmp_path):
    Image.fromarray(np.full((4, 4, 3), [0, 200, 0], np.uint8)).save(tmp_path / "t.png")
    _, _, inspector, geometry = visual(f'<texture name="t" type="2d" file="{tmp_path / "t.png"}"/>')
    assert mesh_of(inspector, geometry)[2][0, 0].tolist() == [0, 200, 0]


def test_cameras_see_the_checker():
    pytest.importorskip("vtk", reason="vtk is not installed (extra `viz`)")
    builder, parser, inspector, geometry = visual(material='texuniform="true"')
    assert isinstance(inspector.GetShape(geometry), Mesh)
    sensor = AddMjcfCameras(builder, parser)["top"]
    context = builder.Build().CreateDefaultContext()
    image = sensor.color_image_output_port().Eval(sensor.GetMyContextFromRoot(context)).data[..., :3].astype(int)
    middle = image[24:40, 4:60]
    assert (middle[..., 0] > 2 * middle[..., 2]).any() and (middle[..., 2] > 2 * middle[..., 0]).any()


def test_the_background_of_cameras_has_the_colour_of_the_sky():
    sky = '<texture type="skybox" builtin="gradient" rgb1="0 .5 1" rgb2="1 .5 0" width="8" height="8"/>'
    _, parser, _, _ = visual(TEXTURE.format("") + sky)
    assert GetMjcfCameraConfigs(parser)["top"].background.rgba.tolist() == [0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("texture", "message"),
    [
        (TEXTURE.format("").replace('width="8"', ""), "is 0 x 6 pixels; a builtin texture needs some"),
        (TEXTURE.format('mark="dots"'), "Unknown value of attribute 'mark' 'dots'"),
        (TEXTURE.format("").replace("checker", "chess"), "Unknown value of attribute 'builtin' 'chess'"),
    ],
)
def test_words_and_numbers_that_cannot_be_are_refused(texture, message):
    with pytest.raises(ParsingError) as error:
        visual(texture)
    assert message in str(error.value)


def test_a_plane_of_one_colour_is_drawn_in_its_size_and_touches_without_end():
    plain = '<texture name="t" type="2d" builtin="none"/>'
    _, _, inspector, geometry = visual(plain, 'type="plane" size="2 1 .1" pos="0 0 1"')
    source = inspector.GetShape(geometry).source().in_memory()
    vertices = numbers(source.mesh_file.contents().decode(), "v")
    np.testing.assert_array_equal(np.ptp(vertices, axis=0), [4.0, 2.0, 0.0])
    assert list(source.supporting_files) == ["texture.mtl"]
    assert source.supporting_files["texture.mtl"].contents().decode() == "newmtl texture\nKd 0.5 1 1\nd 1\n"
    (touching,) = inspector.GetAllGeometryIds(Role.kProximity)
    assert isinstance(inspector.GetShape(touching), HalfSpace)
    for size in ("0 0 .1", "0 1 .1"):
        _, _, inspector, geometry = visual(plain, f'type="plane" size="{size}"')
        assert isinstance(inspector.GetShape(geometry), HalfSpace)
