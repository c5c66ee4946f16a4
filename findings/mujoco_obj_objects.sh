#!/usr/bin/env bash
# mujoco 4.0.0 (and drake 1.51.1): of an .obj with several objects, MuJoCo weighs the first one and collides with all.
#
# Modelling programs write a part with several pieces as several "o" (or "g") sections of one .obj. MuJoCo takes the
# faces of the first section for mass and drawing, but the vertices of all sections for the convex hull that touches
# others. One would guess that it takes all of the file, or one section with what belongs to it. Without the "o" lines
# the same vertices and faces are all taken. There is no warning.
#
# Seen (two cubes of 1 m, 2 m apart, density 1000):
#     with "o" lines:    MuJoCo 12 triangles and 1000 kg, touches a ball above the second cube; Drake 2000 kg
#     without:           MuJoCo 24 triangles
#
# Instead: join the sections (delete "o" and "g" lines), or write one file for each piece.
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

FACES = "132 143 567 578 126 165 237 276 348 387 415 458"
MODEL = '''<mujoco model="m"><asset><mesh name="m" file="{}" inertia="exact"/></asset><worldbody><body name="b">
<freejoint/><geom type="mesh" mesh="m" density="1000"/></body><body name="ball" pos="3.5 .5 2"><geom size=".5"/></body>
</worldbody></mujoco>'''


def cube(number):
    corners = [(3 * number + x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    lines = ["v {} {} {}".format(*corner) for corner in corners]
    return lines + ["f " + " ".join(str(int(i) + 8 * number) for i in face) for face in FACES.split()]


def write(name, *titles):
    Path(f"{name}.obj").write_text("\n".join([*titles[:1], *cube(0), *titles[1:], *cube(1)]))
    Path(f"{name}.xml").write_text(MODEL.format(f"{name}.obj"))
    return f"{name}.xml"


found = {}
for file in (write("sections", "o first", "o second"), write("groups", "g first", "g second"), write("joined")):
    model = mujoco.MjModel.from_xml_path(file)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    distance = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(file)
    plant.Finalize()
    masses = model.body_mass[1], plant.GetBodyByName("b").default_mass()
    found[file] = model.mesh_facenum[0], *masses, distance
    print(f"{file}: {model.mesh_facenum[0]} triangles, MuJoCo {masses[0]:.0f} kg, Drake {masses[1]:.0f} kg,", end=" ")
    print(f"{distance:.3f} m to a ball 0.5 m above the second cube")
for file in ("sections.xml", "groups.xml"):
    np.testing.assert_allclose(found[file], [12, 1000.0, 2000.0, 0.5], rtol=1e-6)
np.testing.assert_allclose(found["joined.xml"], [24, 2000.0, 2000.0, 0.5], rtol=1e-6)
PROGRAM
