"""Look at a robot and a pile through cameras: color, depth and labels.

    python examples/08_camera.py [--duration 3] [--output FOLDER]     (needs pip install "merganser[render]")

An arm holds a camera over a table and turns from side to side, while things drop onto the table below. A second camera
is fixed in the room. Each camera is an RgbdSensor, a system like any other: it takes the geometry of the scene graph at
its input port and has images at its output ports, which are rendered when they are read.

A depth image holds z, the distance from the camera's plane, so that pixel (u, v) shows the point

    p_C = z K^-1 [u, v, 1],   K = [fx 0 cx; 0 fy cy; 0 0 1]

of the camera frame C (x right, y down, z away), and a label image has the body of each point. The example takes the
points of the ball out of both images, and compares them with where the plant says that the ball is.

Writes camera.png (both cameras, all images) and camera.gif (what they see over time) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    AddContactMaterial,
    Box,
    Capsule,
    ClippingRange,
    Cylinder,
    DepthRange,
    DepthRenderCamera,
    Ellipsoid,
    LightParameter,
    MakeRenderEngineVtk,
    ProximityProperties,
    RenderCameraCore,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
    SceneGraph,
    Sphere,
)
from merganser.geometry.sensors import (
    CameraInfo,
    ConcatenateImages,
    RgbdSensor,
    VideoWriter,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import CalcSpatialInertia, PdControllerGains

ARM = Path(__file__).parent / "models" / "arm7.urdf"
TIME_STEP = 0.002  # s
WIDTH, HEIGHT = 320, 240  # of the images [pixels]
POSTURE = np.array([0.0, 0.4, 0.0, 1.6, 0.0, np.pi - 2.0, 0.0])  # the hand looks down [rad]
TURN, PERIOD = 0.2, 3.0  # how far and how fast the arm turns from side to side [rad, s]
DENSITY = 500.0  # of what drops [kg/m^3]
BALL = 0.05  # radius [m]
FIXED = {  # sizes and positions [m], colors: a table, and the walls of a tray
    "table": ((1.6, 1.6, 0.04), (0.3, 0.0, -0.02), (0.55, 0.5, 0.45)),
    "left": ((0.4, 0.01, 0.03), (0.52, 0.2, 0.015), (0.2, 0.3, 0.35)),
    "right": ((0.4, 0.01, 0.03), (0.52, -0.2, 0.015), (0.2, 0.3, 0.35)),
    "front": ((0.01, 0.41, 0.03), (0.32, 0.0, 0.015), (0.2, 0.3, 0.35)),
    "back": ((0.01, 0.41, 0.03), (0.72, 0.0, 0.015), (0.2, 0.3, 0.35)),
}
PILE = {
    "ball": (Sphere(BALL), Rgba(0.9, 0.25, 0.2)),
    "crate": (Box(0.12, 0.09, 0.07), Rgba(0.95, 0.75, 0.2)),
    "brick": (Box(0.14, 0.06, 0.05), Rgba(0.7, 0.35, 0.25)),
    "tin": (Cylinder(0.04, 0.1), Rgba(0.35, 0.6, 0.9)),
    "pill": (Capsule(0.03, 0.08), Rgba(0.45, 0.8, 0.45)),
    "egg": (Ellipsoid(0.04, 0.04, 0.06), Rgba(0.95, 0.9, 0.85)),
}


# 1. The model: what drops is registered once for contact and once for the eye. A visual geometry is seen by cameras
#    with its body's index as label; the parser does the same for the visuals of the arm's file.
def add_model(plant):
    (arm,) = Parser(plant).AddModels(str(ARM))
    for index in plant.GetJointActuatorIndices(arm):
        plant.get_joint_actuator(index).set_controller_gains(PdControllerGains(p=2000.0, d=100.0))
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.7), properties=material)
    for name, (size, p_WG, color) in FIXED.items():
        X_WG, shape = RigidTransform(p_WG), Box(*size)
        plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape, name, material)
        plant.RegisterVisualGeometry(plant.world_body(), X_WG, shape, name, [*color, 1.0])
    pile = plant.AddModelInstance("pile")
    for name, (shape, color) in PILE.items():
        body = plant.AddRigidBody(name, pile, CalcSpatialInertia(shape, DENSITY))
        plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, material)
        plant.RegisterVisualGeometry(body, RigidTransform(), shape, name, color.rgba)
    plant.Finalize()
    return arm


class Turn(LeafSystem):
    """Desired positions and velocities of the arm."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorOutputPort("desired_state", 14, self.calc_desired_state)

    def calc_desired_state(self, context, output):
        w = 2.0 * np.pi / PERIOD
        q, v = POSTURE.copy(), np.zeros(7)
        q[0], v[0] = TURN * np.sin(w * context.get_time()), TURN * w * np.cos(w * context.get_time())
        output.SetFromVector(np.concatenate([q, v]))


# 2. A camera: which renderer draws for it, its intrinsics, what it can see, and the frame that carries it.
def add_camera(builder, scene_graph, name, parent, X_PC, fov_y, far):
    core = RenderCameraCore("renderer", CameraInfo(WIDTH, HEIGHT, fov_y), ClippingRange(0.02, 10.0), RigidTransform())
    camera = DepthRenderCamera(core, DepthRange(0.1, far))
    sensor = builder.AddNamedSystem(name, RgbdSensor(parent, X_PC, camera))
    builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
    return sensor


def look_at(eye, target):
    """The pose of a camera at `eye` whose z axis points to `target`, and whose y axis points down."""
    z = np.subtract(target, eye) / np.linalg.norm(np.subtract(target, eye))
    x = np.cross(z, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(z, [0.0, 0.0, 1.0]))
    return RigidTransform(RotationMatrix(np.column_stack([x, np.cross(z, x), z])), eye)


# 3. The diagram: plant, renderer, two cameras, and a film of what both see.
def build(film):
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    arm = add_model(plant)
    turn = builder.AddNamedSystem("turn", Turn())
    builder.Connect(turn.get_output_port(), plant.get_desired_state_input_port(arm))

    sun = LightParameter(type="directional", direction=[-0.4, 0.5, -1.0], frame="world", intensity=0.9)
    lamp = LightParameter(type="point", position=[0.0, 0.0, 0.0], frame="camera", intensity=0.3)
    params = RenderEngineVtkParams(
        default_clear_color=[0.85, 0.9, 0.95], lights=[sun, lamp], cast_shadows=True, shadow_map_size=1024
    )
    scene_graph.AddRenderer("renderer", MakeRenderEngineVtk(params))
    world = SceneGraph.world_frame_id()
    hand = plant.GetBodyFrameIdOrThrow(plant.GetBodyByName("link_7").index())
    eye = look_at([1.55, -1.0, 1.0], [0.3, 0.0, 0.3])
    cameras = [
        add_camera(builder, scene_graph, "room", world, eye, fov_y=0.65, far=3.0),
        add_camera(builder, scene_graph, "hand", hand, RigidTransform([0.0, 0.0, 0.06]), fov_y=1.1, far=0.6),
    ]

    sides = builder.AddNamedSystem("sides", ConcatenateImages(rows=1, cols=2))
    writer = builder.AddNamedSystem("film", VideoWriter(filename=str(film), fps=10.0, backend="PIL"))
    for col, camera in enumerate(cameras):
        builder.Connect(camera.color_image_output_port(), sides.get_input_port(row=0, col=col))
    builder.Connect(sides.get_output_port(), writer.get_input_port())
    return builder.Build(), plant, arm, cameras, writer


def simulate(duration, film):
    diagram, plant, arm, cameras, writer = build(film)
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, arm, POSTURE)
    random = np.random.default_rng(1)
    for i, name in enumerate(PILE):
        angle = 2.4 * i
        p_WB = [0.52 + 0.07 * np.cos(angle), 0.07 * np.sin(angle), 0.3 - 0.05 * i]
        X_WB = RigidTransform(RotationMatrix.MakeZRotation(random.uniform(0.0, 6.0)), p_WB)
        plant.SetFreeBodyPose(context, plant.GetBodyByName(name), X_WB)
    simulator.AdvanceTo(duration)
    wall_time = duration / simulator.get_actual_realtime_rate()  # without compilation
    writer.Save()
    print(f"{duration:g} s with two cameras in {wall_time:.2f} s, real-time factor {duration / wall_time:.1f}")
    return plant, cameras, simulator.get_context()


# 4. Points from pixels: those labelled as the ball must lie on it.
def ball_errors(plant, camera, root_context):
    """How far the seen points of the ball lie from its surface, one for each pixel [m]."""
    context = camera.GetMyContextFromRoot(root_context)
    depth = camera.depth_image_32F_output_port().Eval(context).data[:, :, 0]
    label = camera.label_image_output_port().Eval(context).data[:, :, 0]
    X_WC = camera.body_pose_in_world_output_port().Eval(context)
    ball = plant.GetBodyByName("ball")
    v, u = np.nonzero((label == int(ball.index())) & np.isfinite(depth))
    K = camera.default_depth_render_camera().core().intrinsics().intrinsic_matrix()
    p_C = depth[v, u] * np.linalg.solve(K, np.array([u, v, np.ones_like(u)]))
    p_W = X_WC.multiply(p_C)
    X_WB = plant.EvalBodyPoseInWorld(plant.GetMyContextFromRoot(root_context), ball)
    return np.linalg.norm(p_W.T - X_WB.translation(), axis=1) - BALL


def plot(cameras, root_context, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    rows = figure.subplots(len(cameras), 3)
    for camera, (color_axes, depth_axes, label_axes) in zip(cameras, rows):
        context = camera.GetMyContextFromRoot(root_context)
        color_axes.imshow(camera.color_image_output_port().Eval(context).data)
        depth = camera.depth_image_32F_output_port().Eval(context).data[:, :, 0]
        seen = depth_axes.imshow(np.where(np.isfinite(depth), depth, np.nan), cmap="viridis")
        depth_axes.set_facecolor("0.9")
        figure.colorbar(seen, ax=depth_axes, label="z [m]")
        label = camera.label_image_output_port().Eval(context).data[:, :, 0]
        nothing = label == int(RenderLabel.kEmpty)
        label_axes.imshow(np.ma.masked_where(nothing, label), cmap="tab20", vmin=0, vmax=19)
        color_axes.set_ylabel(f"camera in the {camera.get_name()}")
    for axes, title in zip(rows[0], ("color", "depth (gray: out of range)", "labels: one color for each body")):
        axes.set_title(title)
    for axes in rows.flat:
        axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=3.0, help="simulated time [s]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    plant, cameras, root_context = simulate(options.duration, options.output / "camera.gif")
    plot(cameras, root_context, options.output / "camera.png")
    print(f"Picture: {options.output / 'camera.png'}, what the cameras saw: {options.output / 'camera.gif'}")
    for camera in cameras:
        errors = np.abs(ball_errors(plant, camera, root_context))
        if len(errors) == 0:
            print(f"The camera in the {camera.get_name()} does not see the ball.")
            continue
        print(
            f"The camera in the {camera.get_name()} sees the ball with {len(errors)} pixels,"
            f" whose points lie on it within {1e6 * errors.max():.1f} micrometers."
        )
        if errors.max() > 1e-4:
            raise SystemExit("The images do not agree with the plant.")


if __name__ == "__main__":
    main()
