#!/usr/bin/env bash
# drake 1.51.1 and trimesh 5.2.0: one mesh written as .obj and as .gltf stands in two ways.
#
# glTF defines +y as up. Drake turns what it reads from .gltf so that +y becomes +z; trimesh neither turns what it reads
# nor what it writes. A mesh that trimesh (or a script of your own) writes with z up, as robots have it, therefore
# stands in Drake as .obj and lies as .gltf. One would guess that the format changes nothing: coordinates go out and
# come in, trimesh reads back what it wrote, and inertias that trimesh has computed are about other axes than the
# geometry then.
#
# Seen (a box of 1 x 2 x 3 m, its middle at z = 5; bounds of its hull in Drake):
#     .obj:  (-0.5, -1, 3.5) to (0.5, 1, 6.5)
#     .gltf: (-0.5, -6.5, -1) to (0.5, -3.5, 1)
#
# Instead: turn the vertices by -90 degrees about x before trimesh writes .gltf, or keep to .obj for collision shapes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6 trimesh==5.2.0
cd "$work" && venv/bin/python - <<'PROGRAM'
from pathlib import Path

import numpy as np
import trimesh
from pydrake.geometry import Convex


def bounds(file):
    hull = Convex(file).GetConvexHull()
    vertices = np.array([hull.vertex(i) for i in range(hull.num_vertices())])
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


box = trimesh.creation.box((1.0, 2.0, 3.0))
box.apply_translation([0.0, 0.0, 5.0])
box.export("box.obj")
for name, content in trimesh.Scene(box).export(file_type="gltf").items():
    Path(name).write_bytes(content)
for file, expected in (("box.obj", box.bounds), ("model.gltf", [[-0.5, -6.5, -1.0], [0.5, -3.5, 1.0]])):
    print(file, "in trimesh", trimesh.load(file).bounds.tolist(), "in Drake", bounds(file).tolist())
    np.testing.assert_allclose(trimesh.load(file).bounds, box.bounds, atol=1e-6)
    np.testing.assert_allclose(bounds(file), expected, atol=1e-6)
PROGRAM
