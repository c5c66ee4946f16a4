"""Depth cameras above boxes on a table: images to clouds of points, cropped, merged, thinned out, with their normals.

pydrake's renderer looks half a pixel farther to the right and lower than its cameras say. No edge of a box is where
that makes a difference.
"""

import numpy as np
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    BaseField,
    CameraInfo,
    ClippingRange,
    ColorRenderCamera,
    Concatenate,
    DepthImageToPointCloud,
    DepthRange,
    DepthRenderCamera,
    DiagramBuilder,
    MakeRenderEngineVtk,
    Parser,
    PixelType,
    RenderCameraCore,
    RenderEngineVtkParams,
    RgbdSensor,
    RigidTransform,
    RollPitchYaw,
)

BOX = """<robot name="{name}"><link name="{name}"><visual><geometry><box size="{size}"/></geometry>
<material name="{name}"><color rgba="{color} 1"/></material></visual></link></robot>"""
FOCAL_LENGTH, HEIGHT = 150.0, 1.5  # [pixels], [m]
CAMERAS = [
    RigidTransform(RollPitchYaw(np.pi, 0.0, 0.4), [-1.5, 0.0, HEIGHT]),
    RigidTransform(RollPitchYaw(np.pi, 0.0, np.pi / 2), [1.5, 0.0, HEIGHT]),
]


def add_box(parser, plant, name, color, X_WC, height, pixels):
    """A box that a camera sees from above, so many pixels wide and high, a quarter of a pixel off its center."""
    depth = HEIGHT - height
    width, length = np.array(pixels) * depth / FOCAL_LENGTH
    parser.AddModelsFromString(BOX.format(name=name, size=f"{width} {length} {height}", color=color), "urdf")
    offset = 0.25 * depth / FOCAL_LENGTH
    X_CB = RigidTransform([offset, offset, HEIGHT - 0.5 * height])
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name), X_WC @ X_CB)


builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
scene_graph.AddRenderer("renderer", MakeRenderEngineVtk(RenderEngineVtkParams()))
parser = Parser(plant)
parser.AddModelsFromString(BOX.format(name="table", size="8 4 0.1", color="0.5 0.4 0.3"), "urdf")
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("table"), RigidTransform([0.0, 0.0, -0.05]))
add_box(parser, plant, "red", "1 0 0", CAMERAS[0], height=0.32, pixels=(30, 20))
add_box(parser, plant, "blue", "0 0 1", CAMERAS[1], height=0.11, pixels=(16, 44))
intrinsics = CameraInfo(160, 120, FOCAL_LENGTH, FOCAL_LENGTH, 79.5, 59.5)
core = RenderCameraCore("renderer", intrinsics, ClippingRange(0.05, 10.0), RigidTransform())
for i, X_WC in enumerate(CAMERAS):
    sensor = builder.AddSystem(
        RgbdSensor(
            parent_id=plant.GetBodyFrameIdOrThrow(plant.world_body().index()),
            X_PB=X_WC,
            color_camera=ColorRenderCamera(core, False),
            depth_camera=DepthRenderCamera(core, DepthRange(0.1, 5.0)),
        )
    )
    sensor.set_name(f"camera{i}")
    builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
    to_cloud = builder.AddSystem(
        DepthImageToPointCloud(
            camera_info=sensor.default_depth_render_camera().core().intrinsics(),
            pixel_type=PixelType.kDepth32F,
            scale=1.0,
            fields=BaseField.kXYZs | BaseField.kRGBs,
        )
    )
    builder.Connect(sensor.depth_image_32F_output_port(), to_cloud.depth_image_input_port())
    builder.Connect(sensor.color_image_output_port(), to_cloud.color_image_input_port())
    builder.Connect(sensor.body_pose_in_world_output_port(), to_cloud.camera_pose_input_port())
    builder.ExportOutput(to_cloud.point_cloud_output_port(), f"cloud{i}")
plant.Finalize()
diagram = builder.Build()
context = diagram.CreateDefaultContext()

rows, clouds = [], []
for i, X_WC in enumerate(CAMERAS):
    cloud = diagram.GetOutputPort(f"cloud{i}").Eval(context)
    low = X_WC.translation() * [1.0, 1.0, 0.0] - [0.503, 0.303, 0.1]
    cropped = cloud.Crop(lower_xyz=low, upper_xyz=low + [1.006, 0.606, 1.0])
    xyz, rgb = cropped.xyzs(), cropped.rgbs().astype(int)
    is_box = rgb[2 * i] > 2 * rgb[1] + 30
    rows += [xyz.mean(axis=1), xyz[:, is_box].mean(axis=1), xyz.max(axis=1), 0.01 * rgb[:, is_box].mean(axis=1).round()]
    rows.append([0.001 * cropped.size(), 0.001 * is_box.sum(), np.isfinite(cloud.xyzs()[2]).mean()])
    clouds.append(cropped)
merged = Concatenate(clouds)
thin = merged.VoxelizedDownSample(voxel_size=0.0437)
thin.EstimateNormals(radius=0.08, num_closest=20)
points, normals = thin.xyzs(), abs(thin.normals())
rows += [points.mean(axis=1), (points * points).mean(axis=1), normals.mean(axis=1)]
rows.append([0.001 * merged.size(), 0.01 * thin.size(), (normals[2] > 0.99).mean()])
np.savetxt("result.txt", rows)
