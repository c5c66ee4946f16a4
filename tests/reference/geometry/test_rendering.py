"""Images, cameras and their records compared with pydrake's.

pydrake's renderer looks at pixels half a pixel lower and farther right than its CameraInfo says (where the center of
the upper left one is (0, 0)); ours does as CameraInfo says. So ours gets a principal point that is moved accordingly.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image as pillow
from rendered_scenes import looking_at, need_renderer

from merganser import geometry as ours
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.yaml import yaml_dump_typed
from merganser.geometry import sensors as our_sensors
from merganser.multibody import sensors as our_configs

drake = pytest.importorskip("pydrake.geometry", reason="pydrake is not installed (extra `reference`)")
drake_math = pytest.importorskip("pydrake.math")
drake_sensors = pytest.importorskip("pydrake.systems.sensors")
drake_visualization = pytest.importorskip("pydrake.visualization")
drake_yaml = pytest.importorskip("pydrake.common.yaml")

pytestmark = pytest.mark.reference
need_renderer()

MODELS = Path(os.environ.get("MERGANSER_MODELS", Path(__file__).parents[3].parent / "shared" / "models"))
Array = np.ndarray[Any, Any]
WIDTH, HEIGHT, FOCAL = 200, 150, 190.0
VIEWPOINTS = [looking_at([0.0, 0.0, 0.15], p) for p in ([1.2, -0.9, 1.1], [-0.8, -1.0, 0.6], [0.1, 1.3, 1.0])]


# With the last of its windows, pydrake's VTK ends EGL for the whole process, and with it the window of ours.
_alive: list[Any] = []
atexit.register(_alive.clear)


class Scene:
    """Shapes before a camera, in one of the two libraries."""

    def __init__(self, library: Any, params: dict[str, Any], add: Callable[[Scene], None]) -> None:
        self.library, self.is_ours = library, library is ours
        self.graph = library.SceneGraph()
        engine = library.MakeRenderEngineVtk(library.RenderEngineVtkParams(**{
            name: value(library) if callable(value) else value for name, value in params.items()
        }))
        self.graph.AddRenderer("r", engine)
        self.source = self.graph.RegisterSource("s")
        self.num_geometries = 0
        add(self)
        self.query = self.graph.get_query_output_port().Eval(self.graph.CreateDefaultContext())

    def pose(self, X: RigidTransform) -> Any:
        return X if self.is_ours else drake_math.RigidTransform(X.GetAsMatrix4())

    def add(self, shape: Any, X_WG: RigidTransform | None = None, color: Any = None, texture: Any = None) -> None:
        self.num_geometries += 1
        look = self.library.PerceptionProperties()
        look.AddProperty("label", "id", self.library.RenderLabel(self.num_geometries))
        if color is not None:
            look.AddProperty("phong", "diffuse", self.library.Rgba(*color))
        if texture is not None:
            look.AddProperty("phong", "diffuse_map", str(texture))
        X = self.pose(X_WG or RigidTransform())
        instance = self.library.GeometryInstance(X, shape, f"g{self.num_geometries}")
        instance.set_perception_properties(look)
        self.graph.RegisterAnchoredGeometry(self.source, instance)

    def image(self, kind: str, X_WC: RigidTransform) -> Array:
        """Of an off-center camera with different focal lengths."""
        library, moved = self.library, 0.5 if self.is_ours else 0.0
        camera_info = our_sensors.CameraInfo if self.is_ours else drake_sensors.CameraInfo
        info = camera_info(WIDTH, HEIGHT, FOCAL, 1.1 * FOCAL, 90.0 - moved, 80.0 - moved)
        core = library.RenderCameraCore("r", info, library.ClippingRange(0.01, 10.0), self.pose(RigidTransform()))
        if kind == "Depth":
            camera = library.DepthRenderCamera(core, library.DepthRange(0.1, 5.0))
        else:
            camera = library.ColorRenderCamera(core, False)
        render = getattr(self.query, f"Render{kind}Image")
        image = render(camera, library.SceneGraph.world_frame_id(), self.pose(X_WC))
        return image.data.astype(float)


def both(add: Callable[[Scene], None], **params: Any) -> list[Scene]:
    try:
        theirs = Scene(drake, params, add)
        _alive.append(theirs)
        theirs.image("Color", VIEWPOINTS[0])
    except RuntimeError as error:
        pytest.skip(f"pydrake's renderer does not run here: {error}")
    return [Scene(ours, params, add), theirs]


def assert_colors_agree(scenes: list[Scene], mean: float = 0.2, most: float = 6.0) -> None:
    """On average, and for 99 of 100 numbers; edges may be smoothed in other ways."""
    for X_WC in VIEWPOINTS:
        difference = np.abs(scenes[0].image("Color", X_WC) - scenes[1].image("Color", X_WC))
        assert difference.mean() < mean and np.percentile(difference, 99) <= most


def add_primitives(scene: Scene) -> None:
    library = scene.library
    scene.add(library.Box(2.0, 2.0, 0.1), RigidTransform([0, 0, -0.05]), (0.8, 0.8, 0.8, 1.0))
    scene.add(library.Sphere(0.2), RigidTransform([0, 0, 0.2]), (1.0, 0.1, 0.1, 1.0))
    scene.add(library.Cylinder(0.1, 0.5), RigidTransform([-0.3, -0.3, 0.25]))
    scene.add(library.Capsule(0.1, 0.2), RigidTransform([0.3, -0.4, 0.2]), (0.2, 0.3, 0.9, 1.0))
    X_WE = RigidTransform(RollPitchYaw(0.3, 0.2, 0.5), [0.4, 0.3, 0.2])
    scene.add(library.Ellipsoid(0.1, 0.2, 0.15), X_WE, (0.2, 0.9, 0.3, 1.0))


LIT: dict[str, dict[str, Any]] = {
    "the light of the camera": {},
    "physical materials": {"force_to_pbr": True},
    "a point light": {
        "lights": lambda library: [
            library.LightParameter(
                type="point", frame="world", position=[1, -1, 1.5], color=library.Rgba(1, 0.8, 0.6),
                attenuation_values=[1.0, 0.2, 0.1],
            )
        ]
    },
    "a spot light": {
        "lights": lambda library: [
            library.LightParameter(
                type="spot", frame="world", position=[0.5, -0.5, 2], direction=[-0.2, 0.2, -1], cone_angle=20
            )
        ]
    },
    "two directional lights": {
        "lights": lambda library: [
            library.LightParameter(direction=[0.5, 0.5, 1.0], intensity=0.6),
            library.LightParameter(frame="world", direction=[0, 0, -1], intensity=0.5, color=library.Rgba(0, 0, 1)),
        ]
    },
    "exposure": {"exposure": 0.8},
    "occlusion": {"ssao": lambda library: library.SsaoParameter(radius=0.3, sample_count=64)},
    "other defaults": {"default_diffuse": [0.2, 0.9, 0.4, 1.0], "default_clear_color": [0.1, 0.2, 0.3]},
}  # fmt: skip


@pytest.mark.parametrize("light", LIT)
def test_colors_of_primitives_agree_in_the_light_of(light: str) -> None:
    assert_colors_agree(both(add_primitives, **LIT[light]))


def test_shadows_fall_to_the_same_places() -> None:
    def lights(library: Any) -> list[Any]:
        return [library.LightParameter(frame="world", direction=[-1, 0.5, -1.5])]

    scenes = both(add_primitives, cast_shadows=True, shadow_map_size=1024, lights=lights)
    for X_WC in VIEWPOINTS:
        mine, theirs = (scene.image("Color", X_WC)[:, :, :3].max(axis=2) for scene in scenes)
        assert ((mine < 60) != (theirs < 60)).mean() < 0.01


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    y, x = np.mgrid[0:64, 0:128]
    pixels = np.stack([2 * x, 4 * y, 255 * ((x // 16 + y // 16) % 2)], axis=2)
    pillow.fromarray(pixels.astype(np.uint8)).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


TEXTURED: dict[str, Callable[[Any], Any]] = {
    "box": lambda library: library.Box(0.4, 0.5, 0.6),
    "sphere": lambda library: library.Sphere(0.3),
    "ellipsoid": lambda library: library.Ellipsoid(0.2, 0.3, 0.4),
    "capsule": lambda library: library.Capsule(0.2, 0.4),
    "half space": lambda library: library.HalfSpace(),
}


@pytest.mark.parametrize("shape", TEXTURED)
def test_textures_lie_on_primitives_in_the_same_way(shape: str, picture: Path) -> None:
    scenes = both(lambda scene: scene.add(TEXTURED[shape](scene.library), RigidTransform([0, 0, 0.2]), texture=picture))
    assert_colors_agree(scenes)


def test_texture_lies_around_a_cylinder_in_the_same_way(picture: Path) -> None:
    """Its ends are left out: ours show the whole picture, pydrake's one corner of it."""
    scenes = both(lambda scene: scene.add(scene.library.Cylinder(0.3, 2.0), texture=picture))
    for p_WC in ([1.0, 0.2, 0.0], [-0.9, 0.8, 0.0]):
        mine, theirs = (scene.image("Color", looking_at([0, 0, 0], p_WC)) for scene in scenes)
        assert np.abs(mine - theirs).mean() < 0.2


OBJ = """mtllib wall.mtl
v -0.4 -0.4 0
v 0.4 -0.4 0
v 0.4 0.4 0.2
v -0.4 0.4 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl paper
f 1/1/1 2/2/1 3/3/1
f 1/1/1 3/3/1 4/4/1
"""


def test_obj_meshes_with_materials_agree(tmp_path: Path, picture: Path) -> None:
    """Within the picture: beyond its edges ours goes on, as .mtl files have it."""
    (tmp_path / "wall.mtl").write_text(f"newmtl paper\nKd 0.8 1 1\nmap_Kd {picture.name}\n")
    (tmp_path / "wall.obj").write_text(OBJ)
    assert_colors_agree(both(lambda scene: scene.add(scene.library.Mesh(str(tmp_path / "wall.obj"), [1.0, 0.8, 1.0]))))


def test_gltf_meshes_agree() -> None:
    names = [
        "iiwa_description/meshes/iiwa14/visual/link_1.gltf",
        "iiwa_description/meshes/iiwa14/visual/link_2_orange.gltf",
    ]
    for name in names:
        if not (MODELS / name).is_file():
            pytest.skip(f"no model file {name} at {MODELS}; set MERGANSER_MODELS")

    def add(scene: Scene) -> None:
        for y, name in enumerate(names):
            scene.add(scene.library.Mesh(str(MODELS / name)), RigidTransform([0.0, 0.3 * y - 0.2, 0.0]))

    scenes = both(add)
    assert_colors_agree(scenes)
    for X_WC in VIEWPOINTS:
        mine, theirs = (scene.image("Depth", X_WC) for scene in scenes)
        is_seen = np.isfinite(mine) & np.isfinite(theirs)
        assert (np.isfinite(mine) != np.isfinite(theirs)).mean() < 1e-3
        # At edges between surfaces, one of them may see the one and one the other.
        assert (np.abs(mine[is_seen] - theirs[is_seen]) > 1e-5).mean() < 2e-3
        labels = [scene.image("Label", X_WC) for scene in scenes]
        assert (labels[0] != labels[1]).mean() < 1e-3


def test_depths_and_labels_of_primitives_agree_as_far_as_triangles_are_round() -> None:
    scenes = both(add_primitives)
    for X_WC in VIEWPOINTS:
        mine, theirs = (scene.image("Depth", X_WC) for scene in scenes)
        is_seen = np.isfinite(mine) & np.isfinite(theirs)
        assert np.median(np.abs(mine[is_seen] - theirs[is_seen])) < 2e-4  # the sagitta of an edge of a 50th of a circle
        labels = [scene.image("Label", X_WC) for scene in scenes]
        assert (labels[0] != labels[1]).mean() < 0.01


# ---------------------------------------------------------------------- images, systems, records


def test_facts_about_pixels_agree() -> None:
    for name in our_sensors.PixelType.__members__:
        mine, theirs = (
            lib.ImageTraits[getattr(lib.PixelType, name)] for lib in (our_sensors, drake_sensors)
        )
        assert int(our_sensors.PixelType[name]) == int(getattr(drake_sensors.PixelType, name))
        assert (mine.kNumChannels, mine.ChannelType) == (theirs.kNumChannels, theirs.ChannelType)
        assert int(mine.kPixelFormat) == int(theirs.kPixelFormat)
    for label in ("kEmpty", "kDoNotRender", "kDontCare", "kUnspecified", "kMaxUnreserved"):
        mine, theirs = (getattr(library.RenderLabel, label) for library in (ours, drake))
        assert int(mine) == int(theirs) and repr(mine) == repr(theirs)


def test_conversions_and_colors_of_depths_and_labels_agree() -> None:
    rng = np.random.default_rng(0)
    depths = rng.uniform(0.0, 70.0, (20, 30, 1)).astype(np.float32)
    depths[rng.random(depths.shape) < 0.1] = 0.0
    depths[rng.random(depths.shape) < 0.1] = np.inf
    labels = rng.integers(0, 32768, (20, 30, 1)).astype(np.int16)
    results = []
    for lib, visualization in ((our_sensors, our_sensors), (drake_sensors, drake_visualization)):
        meters, millimeters, again = lib.ImageDepth32F(30, 20), lib.ImageDepth16U(30, 20), lib.ImageDepth32F(30, 20)
        label, colors = lib.ImageLabel16I(30, 20), [lib.ImageRgba8U(30, 20) for _ in range(3)]
        meters.mutable_data[...], label.mutable_data[...] = depths, labels
        lib.ConvertDepth32FTo16U(meters, millimeters)
        lib.ConvertDepth16UTo32F(millimeters, again)
        visualization.ColorizeDepthImage().Calc(meters, colors[0])
        visualization.ColorizeDepthImage().Calc(millimeters, colors[1])
        visualization.ColorizeLabelImage().Calc(label, colors[2])
        results.append([image.data.copy() for image in (millimeters, again, *colors)])
    for mine, theirs in zip(*results):
        np.testing.assert_allclose(mine.astype(float), theirs.astype(float), rtol=1e-6, atol=0)


def test_camera_configs_agree_and_are_written_in_the_same_way() -> None:
    arguments: dict[str, Any] = {"width": 100, "height": 80, "center_x": 40.0, "show_rgb": True, "z_far": 3.0}
    dumps = []
    for configs, library, dump in (
        (our_configs, ours, yaml_dump_typed), (drake_sensors, drake, drake_yaml.yaml_dump_typed)
    ):  # fmt: skip
        params = library.RenderEngineVtkParams(
            lights=[library.LightParameter(color=library.Rgba(1.0, 0.5, 0.0))], exposure=0.5
        )
        config = configs.CameraConfig(
            **arguments, focal=configs.CameraConfig.FovDegrees(x=60.0, y=50.0), renderer_class=params
        )
        color, depth = config.MakeCameras()
        info = depth.core().intrinsics()
        numbers = [info.focal_x(), info.focal_y(), info.center_x(), info.center_y(), info.fov_x(), info.fov_y()]
        dumps.append((dump(config), numbers, color.show_window(), depth.depth_range().max_depth()))
    assert dumps[0][0] == dumps[1][0] and dumps[0][2:] == dumps[1][2:]
    np.testing.assert_allclose(dumps[0][1], dumps[1][1], rtol=1e-14)


def test_parameters_of_engines_have_the_same_text() -> None:
    texts = []
    for library in (ours, drake):
        graph = library.SceneGraph()
        params = library.RenderEngineVtkParams(
            default_diffuse=[0.1, 0.2, 0.3, 1.0], lights=[library.LightParameter(type="point")],
            ssao=library.SsaoParameter(), force_to_pbr=True,
        )  # fmt: skip
        try:
            graph.AddRenderer("r", library.MakeRenderEngineVtk(params))
            _alive.append(graph)
        except RuntimeError as error:
            pytest.skip(f"pydrake's renderer does not run here: {error}")
        texts.append((graph.GetRendererTypeName("r"), yaml.safe_load(graph.GetRendererParameterYaml("r"))))
    assert texts[0] == texts[1]
