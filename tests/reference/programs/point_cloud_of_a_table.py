"""What a depth camera sees of boxes on a table, as a cloud of points: cropped, merged, thinned out, with its normals."""

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
    FixedOffsetFrame,
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

builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
scene_graph.AddRenderer("renderer", MakeRenderEngineVtk(RenderEngineVtkParams()))
parser = Parser(plant)
for name, size, color, p in (
    ("table", "1.2 0.8 0.1", "0.5 0.4 0.3", [0.0, 0.0, -0.05]),
    ("red", "0.2 0.1 0.3", "1 0 0", [0.1, 0.05, 0.15]),
    ("blue", "0.1 0.1 0.1", "0 0 1", [-0.2, -0.1, 0.05]),
):
    parser.AddModelsFromString(BOX.format(name=name, size=size, color=color), "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name), RigidTransform(p))
core = RenderCameraCore("renderer", CameraInfo(width=160, height=120, fov_y=0.8), ClippingRange(0.05, 10.0), RigidTransform())
color_camera, depth_camera = ColorRenderCamera(core, False), DepthRenderCamera(core, DepthRange(0.1, 5.0))
clouds = []
for i, yaw in enumerate((0.3, 2.5)):
    X_WC = RigidTransform(RollPitchYaw(-2.3, 0.0, yaw), 1.2 * np.array([np.sin(yaw), -np.cos(yaw), 0.9]))
    frame = plant.AddFrame(FixedOffsetFrame(f"camera{i}", plant.world_frame(), X_WC))
    sensor = builder.AddSystem(
        RgbdSensor(
            parent_id=plant.GetBodyFrameIdOrThrow(plant.world_body().index()), X_PB=X_WC, color_camera=color_camera,
            depth_camera=depth_camera,
        )
    )  # fmt: skip
    sensor.set_name(frame.name())
    builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
    to_cloud = builder.AddSystem(
        DepthImageToPointCloud(
            camera_info=sensor.default_depth_render_camera().core().intrinsics(), pixel_type=PixelType.kDepth32F, scale=1.0,
            fields=BaseField.kXYZs | BaseField.kRGBs,
        )
    )  # fmt: skip
    builder.Connect(sensor.depth_image_32F_output_port(), to_cloud.depth_image_input_port())
    builder.Connect(sensor.color_image_output_port(), to_cloud.color_image_input_port())
    builder.Connect(sensor.body_pose_in_world_output_port(), to_cloud.camera_pose_input_port())
    builder.ExportOutput(to_cloud.point_cloud_output_port(), f"cloud{i}")
plant.Finalize()
diagram = builder.Build()
context = diagram.CreateDefaultContext()
rows = []
for i in range(2):
    cloud = diagram.GetOutputPort(f"cloud{i}").Eval(context)
    cropped = cloud.Crop(lower_xyz=[-0.5, -0.3, -0.01], upper_xyz=[0.5, 0.3, 0.5])
    xyz, rgb = cropped.xyzs(), cropped.rgbs()
    is_red = rgb[0].astype(int) > 2 * rgb[1].astype(int) + 30
    on_top = is_red & (xyz[2] > 0.299)
    rows += [xyz.mean(axis=1), xyz[:, is_red].mean(axis=1), xyz[:, on_top].mean(axis=1), xyz.max(axis=1)]
    rows.append([0.001 * cropped.size(), 0.001 * on_top.sum(), np.isfinite(cloud.xyzs()[2]).mean()])
    clouds.append(cropped)
merged = Concatenate(clouds)
thin = merged.VoxelizedDownSample(voxel_size=0.05)
thin.EstimateNormals(radius=0.1, num_closest=20)
rows.append([0.001 * merged.size(), 0.01 * thin.size(), (abs(thin.normals()[2]) > 0.99).mean()])
np.savetxt("result.txt", rows)
