"""Rows about images of 640 x 480 pixels, made after the scene has moved: of an arm with meshes, and of many spheres."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row, load

KINDS = ("Color", "Depth", "Label")
NUM_SPHERES = 60
_alive: list[Any] = []  # with the last of its windows, pydrake's VTK would end EGL for ours, too
IIWA = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
# The camera looks along -x, from before the scene.
R_WC = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


def modules(is_ours: bool) -> tuple[Any, Any, Any]:
    """Geometry, math and sensors of one package."""
    if is_ours:
        from merganser import geometry
        from merganser.framework import math
        from merganser.geometry import sensors
    else:
        from pydrake import geometry, math
        from pydrake.systems import sensors
    return geometry, math, sensors


def camera(kind: str, geometry: Any, math: Any, sensors: Any) -> tuple[Any, Any]:
    """Of one kind of image, and its pose."""
    info = sensors.CameraInfo(640, 480, np.pi / 4)
    core = geometry.RenderCameraCore("r", info, geometry.ClippingRange(0.01, 10.0), math.RigidTransform())
    X_WC = math.RigidTransform(math.RotationMatrix(R_WC), [1.8, 0.0, 0.7])
    if kind == "Depth":
        return geometry.DepthRenderCamera(core, geometry.DepthRange(0.1, 5.0)), X_WC
    return geometry.ColorRenderCamera(core, False), X_WC


def summary(kind: str, image: Any) -> Any:
    """Numbers that are nearly the same for both packages: they look at places half a pixel apart."""
    data = image.data
    if kind == "Color":
        return data[:, :, :3].mean(axis=(0, 1)) / 255.0
    is_seen = np.isfinite(data) if kind == "Depth" else data < 32764
    return np.array([is_seen.mean(), data[is_seen].mean()])


def arm_image(kind: str, library: Library, is_ours: bool) -> Call:
    """An iiwa14 with its glTF meshes, at another position each time."""
    geometry, math, sensors = modules(is_ours)
    builder = library.framework.DiagramBuilder()
    plant, graph = library.plant.AddMultibodyPlantSceneGraph(builder, 0.0)
    load(library, plant, IIWA)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    graph.AddRenderer("r", geometry.MakeRenderEngineVtk(geometry.RenderEngineVtkParams()))
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    context = plant.GetMyMutableContextFromRoot(root)
    query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(root))
    seen_by, X_WC = camera(kind, geometry, math, sensors)
    render, world, number = getattr(query, f"Render{kind}Image"), graph.world_frame_id(), [0]

    _alive.append((diagram, root))

    def call() -> Any:
        number[0] += 1
        plant.SetPositions(context, [0.3, 0.6, 0.0, -1.2, 0.0, 0.7, 1e-6 * number[0]])
        return render(seen_by, world, X_WC)

    return call


def sphere_image(kind: str, is_ours: bool) -> Call:
    """Spheres of a frame that moves a little each time."""
    geometry, math, sensors = modules(is_ours)
    graph, rng = geometry.SceneGraph(), np.random.default_rng(0)
    graph.AddRenderer("r", geometry.MakeRenderEngineVtk(geometry.RenderEngineVtkParams()))
    source = graph.RegisterSource("source")
    frame = graph.RegisterFrame(source, geometry.GeometryFrame("frame"))
    for i in range(NUM_SPHERES):
        X_FG = math.RigidTransform(rng.uniform([-0.4, -0.6, 0.3], [0.4, 0.6, 1.1]))
        instance = geometry.GeometryInstance(X_FG, geometry.Sphere(0.06), f"sphere{i}")
        look = geometry.PerceptionProperties()
        look.AddProperty("label", "id", geometry.RenderLabel(i))
        look.AddProperty("phong", "diffuse", geometry.Rgba(*rng.uniform(size=3), 1.0))
        instance.set_perception_properties(look)
        graph.RegisterGeometry(source, frame, instance)
    context = graph.CreateDefaultContext()
    query = graph.get_query_output_port().Eval(context)
    seen_by, X_WC = camera(kind, geometry, math, sensors)
    render, world, number = getattr(query, f"Render{kind}Image"), graph.world_frame_id(), [0]

    _alive.append((graph, context))

    def call() -> Any:
        number[0] += 1
        poses = geometry.FramePoseVector()
        poses.set_value(frame, math.RigidTransform([1e-6 * number[0], 0.0, 0.0]))
        graph.get_source_pose_port(source).FixValue(context, poses)
        return render(seen_by, world, X_WC)

    return call


def points_of_image(is_ours: bool) -> Call:
    """Of a depth image, in the world."""
    _, math, sensors = modules(is_ours)
    if is_ours:
        from merganser.framework import Value
        from merganser.geometry import perception
    else:
        from pydrake import perception
        from pydrake.common.value import Value
    system = perception.DepthImageToPointCloud(sensors.CameraInfo(640, 480, np.pi / 4))
    image = sensors.ImageDepth32F(640, 480)
    image.mutable_data[...] = np.random.default_rng(0).uniform(0.5, 4.0, (480, 640, 1))
    context, pose = system.CreateDefaultContext(), math.RigidTransform(math.RotationMatrix(R_WC), [1.8, 0.0, 0.7])
    system.camera_pose_input_port().FixValue(context, Value(pose))

    def call() -> Any:
        system.depth_image_input_port().FixValue(context, Value(image))
        return system.point_cloud_output_port().Eval(context)

    return call


def mean_of_points(cloud: Any) -> Any:
    return cloud.xyzs().mean(axis=1)


def new_contexts(library: Library, is_ours: bool) -> Call:
    """Of a SceneGraph with a renderer, which each has a copy of."""
    geometry, _, _ = modules(is_ours)
    builder = library.framework.DiagramBuilder()
    plant, graph = library.plant.AddMultibodyPlantSceneGraph(builder, 0.0)
    load(library, plant, IIWA)
    plant.Finalize()
    graph.AddRenderer("r", geometry.MakeRenderEngineVtk(geometry.RenderEngineVtkParams()))

    def call() -> Any:
        return graph.RendererCount(graph.CreateDefaultContext())

    return call


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Images of both scenes, points, and contexts."""
    if importlib.util.find_spec("vtkmodules") is None:
        print("VTK is not installed: the rows of images are left out")
        return

    def row(name: str, make: Callable[..., Call], compared: Any, tolerance: float, *with_library: Any) -> Row:
        mine = [ours] if with_library else []
        others = [theirs] if with_library else []
        reference = None if theirs is None else functools.partial(make, *others, False)
        mine_call = functools.partial(make, *mine, True)
        return Row(name, mine_call, reference, 1, tolerance, compared=compared, theirs_compared=compared)

    for kind in KINDS:
        compared = functools.partial(summary, kind)
        if IIWA.exists():
            make = functools.partial(arm_image, kind)
            yield row(f"iiwa14, 640 x 480: {kind.lower()} image", make, compared, 0.01, True)
        make = functools.partial(sphere_image, kind)
        yield row(f"{NUM_SPHERES} spheres, 640 x 480: {kind.lower()} image", make, compared, 0.01)
    yield row("640 x 480: points of a depth image", points_of_image, mean_of_points, 1e-4)
    if IIWA.exists():
        yield row("iiwa14: new Context of a SceneGraph with a renderer", new_contexts, None, 1e-8, True)
