"""Directives for an arm with a gripper and a camera, whose drivers are to be tried."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
Q_0 = np.array([0.1, 0.5, -0.2, -1.0, 0.3, 0.6, 0.0])  # of the arm


def write_directives(folder: Path) -> str:
    """Directives: an arm on a base that is turned, a gripper with fingers 40 mm apart, and a camera at the elbow.

    Args:
        folder: for the model files that are needed.
    """
    arm = re.sub(r'<joint name="base_weld".*?</joint>', "", (MODELS / "arm7.urdf").read_text(), flags=re.DOTALL)
    (folder / "arm.urdf").write_text(arm)
    (folder / "camera.urdf").write_text(
        '<robot name="camera"><link name="camera"><inertial><origin xyz="0 0 0.05"/><mass value="0.5"/>'
        '<inertia ixx="1e-3" iyy="2e-3" izz="2.5e-3"/></inertial></link></robot>'
    )
    q = "".join(f"joint_{n}: [{value}], " for n, value in enumerate(Q_0, 1))
    return f"""
directives:
- add_model: {{name: arm, file: "file://{folder}/arm.urdf", default_joint_positions: {{{q}}}}}
- add_weld:
    parent: world
    child: arm::base
    X_PC: {{translation: [1, 2, 3], rotation: !Rpy {{deg: [10, 20, 30]}}}}
- add_model:
    name: wsg
    file: "file://{MODELS}/parallel_gripper.sdf"
    default_joint_positions: {{left_finger_slide: [-0.02], right_finger_slide: [0.02]}}
- add_weld: {{parent: "arm::link_7", child: "wsg::body", X_PC: {{translation: [0, 0.01, 0.09]}}}}
- add_model: {{name: camera, file: "file://{folder}/camera.urdf"}}
- add_weld: {{parent: "arm::link_5", child: "camera::camera", X_PC: {{translation: [0.05, 0, 0]}}}}
"""
