#!/usr/bin/env bash
# mujoco 4.0.0: a mesh file that is written again within a second is not read again.
#
# MuJoCo keeps assets that it has read in a cache of the process, and seems to know a file by its path and its time in
# whole seconds. A program that writes part.obj, loads the model, changes part.obj and loads again, as searches for a
# shape do, simulates the old shape as long as both fall into one second. One would guess that MjModel.from_xml_path
# reads the files that are there, or that the cache looks at their content.
#
# Seen (a cube of 1 kg, then one of 8 kg in the same file): 1 kg both times; 8 kg after a pause of 1.1 s.
#
# Instead: a new name for each version of a file, meshes in the dictionary `assets` of from_xml_string, or vertices in
# the XML.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import time
from pathlib import Path

import mujoco

FACES = "132 143 567 578 126 165 237 276 348 387 415 458"
MODEL = '''<mujoco model="m"><asset><mesh name="m" file="{}" inertia="exact"/></asset><worldbody><body name="b">
<freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>'''


def mass_of_cube(size, file):
    corners = [(x, y, z) for z in (0, size) for x, y in ((0, 0), (size, 0), (size, size), (0, size))]
    lines = ["v {} {} {}".format(*corner) for corner in corners]
    Path(file).write_text("\n".join([*lines, *("f {} {} {}".format(*face) for face in FACES.split())]))
    return mujoco.MjModel.from_xml_string(MODEL.format(Path(file).resolve())).body_mass[1]


time.sleep(1.05 - time.time() % 1.0)  # begins with a second
masses = mass_of_cube(1, "a.obj"), mass_of_cube(2, "a.obj"), mass_of_cube(2, "b.obj")
print("written again at once:", masses[1], "kg, not", masses[2])
time.sleep(1.1)
later = mass_of_cube(2, "a.obj")
print("written again a second later:", later, "kg")
assert [round(m, 6) for m in (*masses, later)] == [1.0, 1.0, 8.0, 8.0]
PROGRAM
