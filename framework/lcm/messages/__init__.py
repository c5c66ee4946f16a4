"""Message types of robots, sensors and viewers, by topic: the types that `from drake import lcmt_...` gives."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.lcm.messages.manipulators import (
        lcmt_acrobot_u,
        lcmt_acrobot_x,
        lcmt_acrobot_y,
        lcmt_allegro_command,
        lcmt_allegro_status,
        lcmt_call_python,
        lcmt_call_python_data,
        lcmt_iiwa_command,
        lcmt_iiwa_status,
        lcmt_iiwa_status_telemetry,
        lcmt_jaco_command,
        lcmt_jaco_status,
        lcmt_panda_command,
        lcmt_panda_status,
        lcmt_planar_gripper_command,
        lcmt_planar_gripper_finger_command,
        lcmt_planar_gripper_finger_face_assignment,
        lcmt_planar_gripper_finger_face_assignments,
        lcmt_planar_gripper_finger_status,
        lcmt_planar_gripper_status,
        lcmt_planar_manipuland_status,
        lcmt_planar_plant_state,
        lcmt_schunk_wsg_command,
        lcmt_schunk_wsg_status,
    )
    from merganser.framework.lcm.messages.signals import (
        lcmt_drake_signal,
        lcmt_force_torque,
        lcmt_header,
        lcmt_image,
        lcmt_image_array,
        lcmt_point,
        lcmt_point_cloud,
        lcmt_point_cloud_field,
        lcmt_quaternion,
        lcmt_robot_plan,
        lcmt_robot_state,
        lcmt_scope,
    )
    from merganser.framework.lcm.messages.viewers import (
        lcmt_contact_results_for_viz,
        lcmt_hydroelastic_contact_surface_for_viz,
        lcmt_hydroelastic_quadrature_per_point_data_for_viz,
        lcmt_point_pair_contact_info_for_viz,
        lcmt_viewer_command,
        lcmt_viewer_draw,
        lcmt_viewer_geometry_data,
        lcmt_viewer_link_data,
        lcmt_viewer_load_robot,
    )

__all__ = [
    "lcmt_acrobot_u",
    "lcmt_acrobot_x",
    "lcmt_acrobot_y",
    "lcmt_allegro_command",
    "lcmt_allegro_status",
    "lcmt_call_python",
    "lcmt_call_python_data",
    "lcmt_contact_results_for_viz",
    "lcmt_drake_signal",
    "lcmt_force_torque",
    "lcmt_header",
    "lcmt_hydroelastic_contact_surface_for_viz",
    "lcmt_hydroelastic_quadrature_per_point_data_for_viz",
    "lcmt_iiwa_command",
    "lcmt_iiwa_status",
    "lcmt_iiwa_status_telemetry",
    "lcmt_image",
    "lcmt_image_array",
    "lcmt_jaco_command",
    "lcmt_jaco_status",
    "lcmt_panda_command",
    "lcmt_panda_status",
    "lcmt_planar_gripper_command",
    "lcmt_planar_gripper_finger_command",
    "lcmt_planar_gripper_finger_face_assignment",
    "lcmt_planar_gripper_finger_face_assignments",
    "lcmt_planar_gripper_finger_status",
    "lcmt_planar_gripper_status",
    "lcmt_planar_manipuland_status",
    "lcmt_planar_plant_state",
    "lcmt_point",
    "lcmt_point_cloud",
    "lcmt_point_cloud_field",
    "lcmt_point_pair_contact_info_for_viz",
    "lcmt_quaternion",
    "lcmt_robot_plan",
    "lcmt_robot_state",
    "lcmt_schunk_wsg_command",
    "lcmt_schunk_wsg_status",
    "lcmt_scope",
    "lcmt_viewer_command",
    "lcmt_viewer_draw",
    "lcmt_viewer_geometry_data",
    "lcmt_viewer_link_data",
    "lcmt_viewer_load_robot",
]

_TOPICS = ("signals", "viewers", "manipulators", "examples")


def __getattr__(name: str) -> Any:
    if name in __all__:  # types are made when they are first asked for
        for topic in _TOPICS:
            module = importlib.import_module(f"{__name__}.{topic}")
            if hasattr(module, name):
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
