#!/usr/bin/env bash
# mujoco 4.0.0: armature of a tendon between two branches of a tree lacks the part that couples them.
#
# The armature a of a tendon adds a kinetic energy of a (J v)^2 / 2, says the documentation, and so a J^T J to the mass
# matrix. One would guess that a push on one joint also moves the other joint of such a tendon, as it does where both are
# in a chain. But the mass matrix has entries only for joints of which one carries the other, and those of the armature
# that fall elsewhere are left out, without a word. Two fingers on a palm, or two bodies that a tendon joins, then move
# as if each were alone with a J_k^2 on its diagonal. A differential gear made so does nothing.
#
# Seen: two hinges in a chain: off-diagonal entry -0.6 from the armature; side by side: 0.0 instead of -0.6.
#
# Instead: for branches, add a J^T J to the full mass matrix yourself and solve with it, with J of mju_sparse2dense() and
# qfrc_smooth, whose part a J^T Jdot v is whole; or model the gear by a joint with armature and equality constraints.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile mujoco==4.0.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
import numpy as np

LINK = '<body pos="{x} 0 0"><joint name="{name}" axis="0 1 0"/><geom size=".1" mass="1"/>{inside}</body>'


def coupling(bodies):
    """What the armature adds to the entry of both hinges."""
    entries = []
    for armature in (0.0, 0.3):
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><worldbody>{bodies}</worldbody><tendon><fixed armature="{armature}"><joint joint="a" coef="1"/>'
            '<joint joint="b" coef="-2"/></fixed></tendon></mujoco>'
        )
        data, M = mujoco.MjData(model), np.zeros((2, 2))
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, M)
        entries.append(M[0, 1])
    return entries[1] - entries[0]


chain = coupling(LINK.format(x=0, name="a", inside=LINK.format(x=1, name="b", inside="")))
branches = coupling(LINK.format(x=0, name="a", inside="") + LINK.format(x=1, name="b", inside=""))
print(f"a chain: {chain:.1f}; two branches: {branches:.1f}")
assert abs(chain + 0.6) < 1e-12
assert branches == 0.0
PROGRAM
