"""Render engines that users write, and cameras and labels, none of which need VTK."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    FramePoseVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    MakeRenderEngineGltfClient,
    PerceptionProperties,
    RenderCameraCore,
    RenderEngine,
    RenderLabel,
    SceneGraph,
    Sphere,
    kHasRenderEngineGl,
    kHasRenderEngineGltfClient,
    kHasRenderEngineVtk,
)
from merganser.geometry.sensors import CameraInfo, ImageDepth32F, ImageRgba8U

INFO = CameraInfo(8, 6, 1.0)


class Recorder(RenderEngine):
    """Records its calls; depths are the heights of the geometries."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []
        self.places: dict[GeometryId, float] = {}

    def UpdateViewpoint(self, X_WR: RigidTransform) -> None:
        self.calls.append(("viewpoint", X_WR.translation().tolist()))

    def DoRegisterVisual(self, id: GeometryId, shape: Any, properties: Any, X_WG: RigidTransform) -> bool:
        self.calls.append(("register", type(shape).__name__, X_WG.translation().tolist()))
        return not properties.HasProperty("recorder", "ignores")

    def DoUpdateVisualPose(self, id: GeometryId, X_WG: RigidTransform) -> None:
        self.places[id] = X_WG.translation()[2]

    def DoRemoveGeometry(self, id: GeometryId) -> bool:
        return self.places.pop(id, None) is not None

    def DoClone(self) -> RenderEngine:
        clone = Recorder()
        clone.places = dict(self.places)
        return clone

    def DoRenderDepthImage(self, camera: Any, depth_image_out: ImageDepth32F) -> None:
        depth_image_out.mutable_data[...] = sum(self.places.values())


def core(name: str = "r", X_BS: RigidTransform | None = None) -> RenderCameraCore:
    return RenderCameraCore(name, INFO, ClippingRange(0.1, 9.0), X_BS or RigidTransform())


def test_an_engine_of_a_user_gets_geometries_poses_and_viewpoints() -> None:
    graph = SceneGraph()
    graph.AddRenderer("r", Recorder())
    source = graph.RegisterSource("s")
    frame = graph.RegisterFrame(source, GeometryFrame("f"))
    for number, (ignores, X_FG) in enumerate([(False, [0, 0, 1]), (True, [0, 0, 50]), (False, [0, 0, 2])]):
        instance = GeometryInstance(RigidTransform(X_FG), Sphere(0.1), f"g{number}")
        look = PerceptionProperties()
        if ignores:
            look.AddProperty("recorder", "ignores", True)
        instance.set_perception_properties(look)
        graph.RegisterGeometry(source, frame, instance)
    assert graph.GetRendererTypeName("r").endswith("test_user_engines.Recorder")
    assert graph.GetRendererParameterYaml("r") == "UnknownRenderEngine: {}"
    context = graph.CreateDefaultContext()
    poses = FramePoseVector()
    poses.set_value(frame, RigidTransform([0, 0, 10]))
    graph.get_source_pose_port(source).FixValue(context, poses)
    camera = DepthRenderCamera(core(X_BS=RigidTransform([0, 0, 0.5])), DepthRange(0.2, 8.0))
    query = graph.get_query_output_port().Eval(context)
    image = query.RenderDepthImage(camera, frame, RigidTransform([1, 0, 0]))
    assert (image.data == 11.0 + 12.0).all()
    engine = query._source.state().renderers.engine("r")
    assert engine.calls == [("viewpoint", [1.0, 0.0, 10.5])]
    with pytest.raises(NotImplementedError, match=r"Recorder has no DoRenderColorImage\(\)\. Write it in the class"):
        query.RenderColorImage(ColorRenderCamera(core()), frame, RigidTransform())


def test_clone_of_an_engine_knows_its_geometries_and_must_be_of_its_type() -> None:
    engine, id = Recorder(), GeometryId.get_new_id()
    assert engine.RegisterVisual(id, Sphere(0.1), PerceptionProperties(), RigidTransform())
    clone = engine.Clone()
    assert clone.has_geometry(id) and clone.geometry_ids() == [id]

    class Wrong(Recorder):
        """Returns another engine, as it inherits DoClone()."""

    with pytest.raises(RuntimeError, match=r"Wrong\.DoClone\(\) must return another Wrong; it returned <"):
        Wrong().Clone()


def test_engine_without_hooks_says_which_one_is_missing() -> None:
    engine = RenderEngine()
    with pytest.raises(NotImplementedError, match="DoRegisterVisual"):
        engine.RegisterVisual(GeometryId.get_new_id(), Sphere(1.0), PerceptionProperties(), RigidTransform())
    with pytest.raises(RuntimeError, match="UpdateViewpoint"):  # as pydrake's is
        engine.UpdateViewpoint(RigidTransform())
    assert engine.default_render_label() == RenderLabel.kUnspecified
    with pytest.raises(RuntimeError, match=r"cannot have the label RenderLabel\.kUnspecified"):
        engine.GetRenderLabelOrThrow(PerceptionProperties())
    assert engine.Clone() is not engine


def test_wrong_frames_cameras_and_renderers_are_named() -> None:
    graph = SceneGraph()
    graph.AddRenderer("r", Recorder())
    query = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
    depth, world = DepthRenderCamera(core(), DepthRange(0.2, 8.0)), graph.world_frame_id()
    with pytest.raises(TypeError, match=r"RenderColorImage\(\) takes a ColorRenderCamera, a FrameId and a "):
        query.RenderColorImage(depth, world, RigidTransform())
    with pytest.raises(RuntimeError, match="There is no frame with id"):
        query.RenderDepthImage(depth, type(world).get_new_id(), RigidTransform())
    with pytest.raises(RuntimeError, match=r"belongs to no Context"):
        type(query)().RenderDepthImage(depth, world, RigidTransform())
    with pytest.raises(TypeError, match=r"AddRenderer\(\) takes a name and a RenderEngine; given 'x' and 3"):
        graph.AddRenderer("x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A color image is an ImageRgba8U"):
        Recorder().RenderColorImage(ColorRenderCamera(core()), ImageDepth32F(8, 6))  # type: ignore[arg-type]
    RenderEngine.ThrowIfInvalid(INFO, ImageRgba8U(8, 6), "color")


def test_labels_equal_their_numbers_and_reserved_ones_cannot_be_made() -> None:
    assert [int(label) for label in (
        RenderLabel.kDontCare, RenderLabel.kDoNotRender, RenderLabel.kEmpty, RenderLabel.kUnspecified
    )] == [32764, 32765, 32766, 32767]  # fmt: skip
    assert RenderLabel.kMaxUnreserved == 32763 and RenderLabel(3) == 3 == RenderLabel(3) != RenderLabel(4)
    assert RenderLabel.kEmpty.is_reserved() and not RenderLabel(32763).is_reserved()
    assert len({RenderLabel(3), RenderLabel(3), RenderLabel(4)}) == 2
    for value in (-1, 32764, 40000):
        with pytest.raises(RuntimeError, match=f"from 0 to 32763; given {value}"):
            RenderLabel(value)
    for label in (RenderLabel(5), RenderLabel.kDontCare):
        assert copy.deepcopy(label) is label and pickle.loads(pickle.dumps(label)) == label


def test_cameras_check_their_ranges_and_never_change() -> None:
    for build in (ClippingRange, DepthRange):
        for limits in ((0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (-1.0, 1.0)):
            with pytest.raises(RuntimeError, match=f"The limits of a {build.__name__} must be positive and finite"):
                build(*limits)
    with pytest.raises(RuntimeError, match="must lie within its clipping range"):
        DepthRenderCamera(core(), DepthRange(0.05, 5.0))
    with pytest.raises(TypeError, match="RenderCameraCore takes a CameraInfo as intrinsics; given 3"):
        RenderCameraCore("r", 3, ClippingRange(0.1, 9.0), RigidTransform())  # type: ignore[arg-type]
    camera = DepthRenderCamera(core=core(), depth_range=DepthRange(min_in=0.2, min_out=8.0))
    for same in (DepthRenderCamera(camera), DepthRenderCamera(other=camera), pickle.loads(pickle.dumps(camera))):
        assert same == camera and hash(same) == hash(camera)
    assert camera != DepthRenderCamera(core("other"), DepthRange(0.2, 8.0))
    pose = camera.core().sensor_pose_in_camera_body()
    pose.set_translation([9.0, 9.0, 9.0])
    assert camera.core().sensor_pose_in_camera_body().translation().tolist() == [0.0, 0.0, 0.0]


BAD_CAMERAS: dict[str, tuple[tuple[Any, ...], str]] = {
    "size": ((0, 3, 1.0), "the width is 0, and must be positive"),
    "field of view": ((4, 3, 3.2), "fov_y is 3.2, and must be between 0 and pi"),
    "focal length": ((4, 3, 0.0, np.inf, 2.0, 2.0), "focal_x is 0.0, .*; focal_y is inf, and must be positive"),
    "principal point": ((4, 3, 9.0, 9.0, 4.0, 2.0), "center_x is 4.0, and must be between 0 and 4"),
    "matrix": ((4, 3, np.ones((3, 3))), r"the intrinsic matrix is .* must have the form \[\[f_x, 0, c_x\]"),
}


@pytest.mark.parametrize("name", BAD_CAMERAS)
def test_impossible_cameras_are_refused(name: str) -> None:
    arguments, message = BAD_CAMERAS[name]
    with pytest.raises(RuntimeError, match=message):
        CameraInfo(*arguments)


def test_cameras_made_in_three_ways_are_equal() -> None:
    info = CameraInfo(64, 48, 0.8)
    f = 24.0 / np.tan(0.4)
    assert info == CameraInfo(64, 48, f, f, 31.5, 23.5) == CameraInfo(64, 48, intrinsic_matrix=info.intrinsic_matrix())
    assert info.fov_y() == pytest.approx(0.8) and info.fov_x() == pytest.approx(2.0 * np.arctan(32.0 / f))
    assert pickle.loads(pickle.dumps(info)) == info == copy.deepcopy(info)
    with pytest.raises(TypeError, match="given 2 more arguments"):
        CameraInfo(64, 48, 1.0, 2.0)  # type: ignore[call-overload]


def test_engines_that_are_not_there_say_so() -> None:
    assert (kHasRenderEngineVtk, kHasRenderEngineGl, kHasRenderEngineGltfClient) == (True, True, False)
    with pytest.raises(RuntimeError, match="kHasRenderEngineGltfClient is False"):
        MakeRenderEngineGltfClient()


def test_geometry_is_imported_without_vtk_and_its_absence_names_the_extra() -> None:
    program = """
import sys
import merganser.geometry, merganser.multibody.plant, merganser.all
from merganser.geometry import RenderEngineVtkParams, MakeRenderEngineVtk
assert not [name for name in sys.modules if name.startswith("vtk")]
sys.modules["vtkmodules"] = None
try:
    MakeRenderEngineVtk(RenderEngineVtkParams())
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == (
        'Rendering needs VTK, which is not installed. Install the extra: pip install "merganser[render]".\n'
    )
