#!/usr/bin/env bash
# mujoco 4.0.0 (and drake 1.51.1): a closed mesh that is not convex weighs too much by default.
#
# The volume of a closed mesh with its faces outward is well defined, and one would guess that mass = density * volume.
# By default (inertia="legacy" of <mesh>) MuJoCo sums pyramids from the middle to each face as if all were positive:
# where a face looks towards the middle, as in a bracket, a cup or a gripper's finger, it counts twice over. Drake reads
# the same file with the exact volume, so that one model has two masses. There is no warning.
#
# Seen (a U of 7 m^3 and density 1): MuJoCo 8.62 kg by default, 7 kg with inertia="exact"; Drake 7 kg.
#
# Instead: inertia="exact" on each <mesh> (or in <default>), or masses in numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
from pathlib import Path

import mujoco
import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

OUTLINE = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
TOP = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
MODEL = '''<mujoco model="m"><asset><mesh name="m" file="u.obj" {}/></asset><worldbody><body name="b"><freejoint/>
<geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>'''

n = len(OUTLINE)
vertices = [(*point, z) for z in (0, 1) for point in OUTLINE]
sides = [(i, (i + 1) % n, (i + 1) % n + n, i + n) for i in range(n)]
faces = [f[::-1] for f in TOP] + [tuple(i + n for i in f) for f in TOP]
faces += [q for a, b, c, d in sides for q in ((a, b, c), (a, c, d))]
lines = ["v {} {} {}".format(*v) for v in vertices] + ["f {} {} {}".format(*(i + 1 for i in f)) for f in faces]
Path("u.obj").write_text("\n".join(lines))

corners = np.array(vertices, float)[np.array(faces)]
volume = np.linalg.det(corners).sum() / 6.0
masses = []
for kind in ("", 'inertia="exact"'):
    Path("u.xml").write_text(MODEL.format(kind))
    masses.append(mujoco.MjModel.from_xml_path("u.xml").body_mass[1])
plant = MultibodyPlant(0.0)
Parser(plant).AddModels("u.xml")
plant.Finalize()
drakes = plant.GetBodyByName("b").default_mass()
found = [volume, *masses, drakes]
print("volume {:.3f} m^3; MuJoCo by default {:.3f} kg, exact {:.3f} kg; Drake {:.3f} kg".format(*found))
np.testing.assert_allclose(found, [7.0, 8.6175, 7.0, 7.0], rtol=1e-4)
PROGRAM
