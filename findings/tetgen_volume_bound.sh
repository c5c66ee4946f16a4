#!/usr/bin/env bash
# tetgen 0.8.4 (the Python package): maxvolume bounds nothing, until fixedvolume is set, and then only about.
#
# tetrahedralize(maxvolume=0.001) of a unit cube gives six tetrahedra of 1/6 m^3, without a word: the bound counts only
# with fixedvolume=True. One would guess that an argument called maxvolume is a bound. With fixedvolume=True it is a
# wish: some tetrahedra are larger, by a sixth here, so that a mesh is not as fine as a convergence study takes it to
# be.
#
# Seen (unit cube, bound 0.001): 6 tetrahedra, largest 0.167; with fixedvolume=True 1773, largest 0.0012.
#
# Instead: fixedvolume=True always, and check the largest volume; ask for less than is needed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile tetgen==0.8.4 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
import tetgen

VERTICES = np.array([(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], float)
FACES = "132 143 567 578 126 165 237 276 348 387 415 458"
TRIANGLES = np.array([[int(i) - 1 for i in face] for face in FACES.split()], np.int32)
BOUND = 0.001

largest = {}
for options in ({}, {"fixedvolume": True}):
    points, tetrahedra, *_ = tetgen.TetGen(VERTICES, TRIANGLES).tetrahedralize(maxvolume=BOUND, quiet=True, **options)
    corners = points[tetrahedra]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    print(f"maxvolume={BOUND}, {options}: {len(volumes)} tetrahedra, largest {volumes.max():.4f}")
    np.testing.assert_allclose(volumes.sum(), 1.0)
    largest[bool(options)] = volumes.max()
assert largest[False] > 0.1 and BOUND < largest[True] < 2.0 * BOUND
PROGRAM
