#!/usr/bin/env bash
# yourdfpy 0.0.60, urchin 0.0.30, pinocchio (pin) 4.1.0 and mujoco 4.0.0: a joint that mimics a joint that mimics one.
#
# Fingers of three links are often described so: the middle joint mimics the first, the last mimics the middle one. One
# would guess that a library that follows <mimic> follows it along a chain, or refuses the file. - yourdfpy follows the
# first mimic, warns that the second one's leader "is not actuated", and puts the last joint at its offset. - urchin puts
# it at its offset without a word. - pinocchio raises when it is asked for mimics (mimic=True), with a message about
# its own joint types, and ignores them by default. - MuJoCo makes an equality of each, and holds both.
#
# Seen, with the first joint at 0.3 rad, multipliers 2 and 2, and offset 0.1 (the three joints: 0.3, 0.7, 1.4):
# yourdfpy and urchin 0.3, 0.7, 0.0; pinocchio raises ValueError; MuJoCo two equalities, whose errors are zero there.
#
# Instead: let all joints of a chain mimic the first one, with products of the multipliers (4 and 0.2 here), before the
# file goes to a library that draws or plans with it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile yourdfpy==0.0.60 urchin==0.0.30 pin==4.1.0 mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - 2>/dev/null <<'PROGRAM'
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import urchin
import yourdfpy

INERTIAL = """<inertial><origin xyz="0 0 0.1"/><mass value="0.1"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>"""
LINKS = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("palm", "near", "middle", "far"))


def joint(name: str, parent: str, child: str, mimic: str) -> str:
    return f"""<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
        <axis xyz="0 0 1"/>{mimic}<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""


finger = f"""<robot name="finger">{LINKS}
{joint("first", "palm", "near", "")}
{joint("second", "near", "middle", '<mimic joint="first" multiplier="2" offset="0.1"/>')}
{joint("third", "middle", "far", '<mimic joint="second" multiplier="2"/>')}
</robot>"""
Path("finger.urdf").write_text(finger)
names = ("palm", "near", "middle", "far")


def angles(poses: list[np.ndarray]) -> list[float]:
    """Angles of the three joints, about z, by the poses of the links."""
    absolute = [np.arctan2(pose[1, 0], pose[0, 0]) for pose in poses]
    return [round(float(angle), 9) for angle in np.diff(absolute)]


robot = yourdfpy.URDF.load("finger.urdf")
robot.update_cfg({"first": 0.3})
seen = {"yourdfpy": angles([robot.get_transform(name, "palm") for name in names])}

tree = urchin.URDF.load("finger.urdf")
poses = tree.link_fk(cfg={"first": 0.3})
seen["urchin"] = angles([poses[tree.link_map[name]] for name in names])

try:
    pinocchio.buildModelFromXML(finger, mimic=True)
    seen["pinocchio"] = "a model"
except ValueError:
    seen["pinocchio"] = "ValueError"

model = mujoco.MjModel.from_xml_string(finger)
data = mujoco.MjData(model)
data.qpos[:] = [0.3, 0.7, 1.4]
mujoco.mj_forward(model, data)
seen["mujoco"] = (model.neq, float(np.abs(data.efc_pos[: model.neq]).max()) < 1e-12)
for library, what in seen.items():
    print(f"{library:10s} {what}")
assert seen == {
    "yourdfpy": [0.3, 0.7, 0.0],
    "urchin": [0.3, 0.7, 0.0],
    "pinocchio": "ValueError",
    "mujoco": (2, True),
}
PROGRAM
