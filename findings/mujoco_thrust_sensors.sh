#!/usr/bin/env bash
# mujoco 4.0.0: a force sensor takes the thrust of an actuator at a site for a force that passes through the joint.
#
# A weight on a vertical rail without friction is held by a force of its weight. The rail carries nothing along itself, so
# that a force sensor between the weight and the rail should show zero, whatever holds the weight. It does, if that is an
# external force on the body or a motor that pulls a rope (a spatial tendon). If it is a motor with a site as its
# transmission, which is how thrusters and propellers are modelled and by its documentation applies a force at that site,
# the sensor shows the whole weight, as it does for a motor in the joint. So loads of arms that carry thrusters, and of
# drones on test stands, come out wrong by the thrust, while accelerations are right.
#
# Seen: external force: 0.000 N; motor of a rope: 0.000 N; motor at a site: 9.810 N; motor of the joint: 9.810 N.
#
# Instead: subtract the thrust, in the frame of the site of the sensor, or apply it by xfrc_applied.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco

MODEL = """
<mujoco>
  <worldbody>
    <site name="ceiling" pos="0 0 2"/>
    <body name="weight" pos="0 0 1">
      <joint name="rail" type="slide" axis="0 0 1" damping="20"/>
      <geom type="sphere" size=".05" mass="1"/>
      <site name="hook"/>
    </body>
  </worldbody>
  <tendon><spatial name="rope"><site site="ceiling"/><site site="hook"/></spatial></tendon>
  <actuator>{}</actuator>
  <sensor><force site="hook"/></sensor>
</mujoco>"""


def sensed(actuator, control, external=0.0):
    """The force along the rail that the sensor shows, with the weight at rest [N]."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(actuator))
    data = mujoco.MjData(model)
    data.ctrl[:] = control
    data.xfrc_applied[1, 2] = external
    for _ in range(100):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    assert abs(data.qvel[0]) < 1e-9 and abs(data.qacc[0]) < 1e-9
    return abs(float(data.sensordata[2]))


external = sensed("", [], 9.81)
rope = sensed('<motor tendon="rope"/>', -9.81)
site = sensed('<motor site="hook" gear="0 0 1 0 0 0"/>', 9.81)
joint = sensed('<motor joint="rail"/>', 9.81)
print(f"external force: {external:.3f} N; motor of a rope: {rope:.3f} N; motor at a site: {site:.3f} N; "
      f"motor of the joint: {joint:.3f} N")
assert mujoco.__version__ == "4.0.0"
assert external < 1e-6 and rope < 1e-6
assert abs(site - 9.81) < 1e-6 and abs(joint - 9.81) < 1e-6
PROGRAM
