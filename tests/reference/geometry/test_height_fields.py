"""Height fields beside MuJoCo: the deepest contact of balls. Its other contacts, at inner edges, are not compared."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.geometry import HeightField, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

mujoco = pytest.importorskip("mujoco")
TOP, DEPTH = 0.1, 1e-3  # of the field, and by which the balls overlap with it [m]


@pytest.mark.parametrize("radius", [0.3, 0.05])
def test_balls_are_as_deep_as_in_mujoco(radius):
    rng = np.random.default_rng(0)
    heights = rng.uniform(0.0, 1.0, (8, 9))
    heights[0, :2] = 0.0, 1.0  # MuJoCo makes them fill this range
    elevation = " ".join(map(str, heights[::-1].ravel()))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="h" nrow="8" ncol="9" size=".5 .4 {TOP} .2" elevation="{elevation}"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/><body><freejoint/>'
        f'<geom size="{radius}"/></body></worldbody></mujoco>'
    )
    data, X_WG = mujoco.MjData(model), np.tile(np.eye(4), (2, 1, 1))
    engine = ProximityEngine(ProximityArrays([HeightField(TOP * heights, 1.0, 0.8, 0.2), Sphere(radius)], [0, 1]))
    for x, y in rng.uniform([-0.35, -0.25], [0.35, 0.25], (60, 2)):
        low, high = 0.0, 1.0
        for _ in range(50):
            X_WG[1, :3, 3] = x, y, 0.5 * (low + high)
            is_above = engine.signed_distances(X_WG, np.array([[0, 1]]))["distance"][0] > -DEPTH
            low, high = (low, X_WG[1, 2, 3]) if is_above else (X_WG[1, 2, 3], high)
        data.qpos[:3] = X_WG[1, :3, 3]
        mujoco.mj_forward(model, data)
        deepest = engine.contact_manifolds(X_WG)[1]["depth"].max()
        assert deepest == pytest.approx(DEPTH, abs=1e-12)
        assert min(contact.dist for contact in data.contact) == pytest.approx(-DEPTH, abs=1e-8)  # its data are singles
