#!/usr/bin/env bash
# pinocchio (pin) 4.1.0: regressors leave out the armature of joints, which its dynamics have.
#
# rnea, crba, aba, the kinetic energy and their derivatives count model.armature, which is read from MJCF. One would
# guess that the regressors do, too, or that the parameters that they are multiplied by include it: rnea(q, v, a) =
# Y(q, v, a) pi is what identification rests on. But Y pi lacks armature * a, and the regressor of the kinetic energy
# lacks armature * v^2 / 2. Nothing warns.
#
# Seen, for a pendulum with an inertia of 0.4 kg m^2 about its axis and armature="2": rnea is 2.4 for an acceleration of
# 1, Y pi is 0.4. Least squares over rnea's torques find 2.4 about the axis; a model that is given these parameters
# has 4.4, as its armature comes on top.
#
# Instead: subtract model.armature * a from the torques before they are fitted (or fit it with a column of its own).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile pin==4.1.0 numpy==2.4.6
cd "$work" && cat > pendulum.xml <<'MODEL'
<mujoco>
  <worldbody>
    <body name="rod">
      <joint name="hinge" type="hinge" axis="0 1 0" armature="2"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.3 0.4 0.3"/>
    </body>
  </worldbody>
</mujoco>
MODEL
venv/bin/python - <<'PROGRAM'
import numpy as np
import pinocchio

model = pinocchio.buildModelFromMJCF("pendulum.xml")
data = model.createData()
joint = model.njoints - 1
assert model.nv == 1 and list(model.armature) == [2.0]


def torque(a: float) -> float:
    return float(pinocchio.rnea(model, data, np.zeros(1), np.zeros(1), np.array([a]))[0])


def regressor(a: float) -> np.ndarray:
    return pinocchio.computeJointTorqueRegressor(model, data, np.zeros(1), np.zeros(1), np.array([a])).copy()


pi = np.concatenate([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
seen = {
    "mass matrix": float(pinocchio.crba(model, data, np.zeros(1))[0, 0]),
    "rnea": torque(1.0),
    "Y pi": float(regressor(1.0) @ pi),
}
v = np.ones(1)
seen["kinetic energy"] = pinocchio.computeKineticEnergy(model, data, np.zeros(1), v)
seen["its regressor"] = float(pinocchio.computeKineticEnergyRegressor(model, data, np.zeros(1), v) @ pi)
accelerations = np.linspace(-3.0, 3.0, 7)
Y = np.vstack([regressor(a) for a in accelerations])
found = np.linalg.lstsq(Y, np.array([torque(a) for a in accelerations]), rcond=None)[0]
seen["inertia found"] = float(regressor(1.0) @ found)
model.inertias[joint] = pinocchio.Inertia(1.0, np.zeros(3), np.diag([3.0, seen["inertia found"], 3.0]))
data = model.createData()
seen["mass matrix with it"] = float(pinocchio.crba(model, data, np.zeros(1))[0, 0])
for what, value in seen.items():
    print(f"{what}: {value:.6g}")
assert {what: round(value, 9) for what, value in seen.items()} == {
    "mass matrix": 2.4,
    "rnea": 2.4,
    "Y pi": 0.4,
    "kinetic energy": 1.2,
    "its regressor": 0.2,
    "inertia found": 2.4,
    "mass matrix with it": 4.4,
}
PROGRAM
