#!/usr/bin/env bash
# mujoco 4.0.0: moment arms of a tendon that runs along the inside of a sphere are not the slope of its own length.
#
# A tendon with a side site within the sphere is kept inside of it and touches it in one point. One would guess that the
# moment arm, d(length)/d(position), fits to rounding, as it does where a tendon goes around the outside: the point of
# contact makes the length stationary. But that point is found by a few steps of Newton's method, which end early. The
# length does not show that, as its error is the square of the point's; the moment arm does, by 6e-8 m. So a comparison of
# tendon forces to 1e-9 fails for models of hands and arms, whose muscles run inside of such surfaces, and the better
# reference is the difference of lengths.
#
# Seen: outside: 1.3e-11 at most, which is the error of the differences; inside: 6.0e-08.
#
# Instead: compare moment arms with differences of ten_length (fourth order, steps of 1e-5 rad) where a tendon wraps
# inside.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
import numpy as np


def worst(side):
    """The largest difference between moment arm and slope of the length, where the tendon touches the sphere [m]."""
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco>
  <worldbody>
    <site name="start" pos="-.3 0 .05"/>
    <site name="side" pos="0 0 {side}"/>
    <geom name="ball" type="sphere" size=".1" contype="0" conaffinity="0"/>
    <body>
      <joint axis="0 1 0"/>
      <geom type="capsule" size=".01" fromto="0 0 0 .4 0 0"/>
      <site name="end" pos=".35 .02 .05"/>
    </body>
  </worldbody>
  <tendon>
    <spatial><site site="start"/><geom geom="ball" sidesite="side"/><site site="end"/></spatial>
  </tendon>
</mujoco>""")
    data, h = mujoco.MjData(model), 1e-5

    def at(q):
        data.qpos[0] = q
        mujoco.mj_forward(model, data)
        return float(data.ten_length[0]), float(np.ravel(data.ten_J)[0]), int(data.ten_wrapnum[0])

    found = []
    for q in np.linspace(-3.0, 3.0, 121):
        far, near = at(q + 2 * h)[0] - at(q - 2 * h)[0], at(q + h)[0] - at(q - h)[0]
        _, arm, num_points = at(q)
        if num_points > 2:
            found.append(abs(arm - (8.0 * near - far) / (12.0 * h)))
    return max(found)


outside, inside = worst(0.3), worst(0.05)
print(f"around the outside: {outside:.1e} m; along the inside: {inside:.1e} m")
assert outside < 1e-10
assert 1e-8 < inside < 1e-6
PROGRAM
