#!/usr/bin/env bash
# pydrake 1.51.1: DrakeGymEnv never calls its info_handler, and refuses the spaces None that its text offers.
#
# A counter is an environment of Gymnasium, with a function that puts the time into the info, and with None for the space
# of its observations, "a Box of the correct dimension" by the text of the constructor. One would guess that step and
# reset return the info, and that None is taken.
#
# Seen: the info is an empty dict after reset and after step (the constructor compares the handler with the truth value of
# callable(handler), so it never keeps it), and None ends in an AssertionError.
#
# Instead: ask the simulator for what the info should hold after each step, or override step and reset; give both spaces.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 gymnasium==1.4.0
cd "$work" && venv/bin/python - <<'PROGRAM'
import gymnasium
import numpy as np
from pydrake.gym import DrakeGymEnv
from pydrake.systems.analysis import Simulator
from pydrake.systems.primitives import Integrator

space, asked = gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float64), []


def make(observation_space):
    def info(simulator):
        asked.append(simulator)
        return {"time": simulator.get_context().get_time()}

    return DrakeGymEnv(
        Simulator(Integrator(1)), 0.1, space, observation_space, lambda system, context: 0.0, info_handler=info
    )


env = make(space)
_, at_reset = env.reset(seed=1)
*_, at_step = env.step(np.ones(1))
print(f"info after reset {at_reset}, after step {at_step}; the handler has been called {len(asked)} times")
assert at_reset == {} and at_step == {} and not asked
try:
    make(None)
except AssertionError:
    print("None for a space: AssertionError")
else:
    raise SystemExit("None is taken now")
PROGRAM
