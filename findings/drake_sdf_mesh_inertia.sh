#!/usr/bin/env bash
# drake 1.51.1: <inertial auto="true"> of SDFormat with a mesh whose middle is not at its origin.
#
# A cube of 6 kg and 1 m has moments of 1 kg m^2 about its middle, wherever the origin of its file is. With auto="true"
# Drake gives 4 kg m^2 where the origin is a corner: it takes moments about the mesh's origin for those about the mass
# centre, which it has right. One would guess otherwise, since its own CalcSpatialInertia(Mesh, density), and its reader
# of MJCF, give 1 kg m^2, and since a cube around its origin is right. Bodies turn too slowly, and nothing looks wrong
# at rest.
#
# Seen (moments about the mass centre): SDFormat 4, 4, 4; CalcSpatialInertia 1, 1, 1.
#
# Instead: write <inertia> in numbers, from CalcSpatialInertia or from the tool mesh_to_model of pydrake.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
from pathlib import Path

import numpy as np
from pydrake.geometry import Mesh
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import CalcSpatialInertia

CORNERS = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
FACES = "132 143 567 578 126 165 237 276 348 387 415 458"
MODEL = '''<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true"><density>6</density></inertial>
<collision name="c"><geometry><mesh><uri>file://{}</uri></mesh></geometry></collision></link></model></sdf>'''


def moments(inertia):
    return inertia.Shift(inertia.get_com()).CalcRotationalInertia().get_moments()


for corner in (0.0, -0.5):  # where the least coordinates are
    file = Path(f"cube{corner}.obj").resolve()
    vertices = "".join("v {} {} {}\n".format(*(number + corner for number in point)) for point in CORNERS)
    file.write_text(vertices + "".join("f {} {} {}\n".format(*face) for face in FACES.split()))
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(MODEL.format(file), "sdf")
    plant.Finalize()
    read = plant.GetBodyByName("a").default_spatial_inertia()
    computed = CalcSpatialInertia(Mesh(str(file)), 6.0)
    print(f"least corner at {corner}: mass centre {read.get_com()}, moments {moments(read)}, not {moments(computed)}")
    np.testing.assert_allclose(read.get_com(), np.full(3, corner + 0.5), atol=1e-12)
    np.testing.assert_allclose(moments(computed), np.ones(3))
    np.testing.assert_allclose(moments(read), np.full(3, 4.0 if corner == 0.0 else 1.0))
PROGRAM
