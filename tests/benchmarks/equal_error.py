"""Cost of contact scenes at equal error: under error control, in discrete steps, and with pydrake's integrator.

    python tests/benchmarks/equal_error.py [--only PATTERN] [--drake] [--save FILE.json] [--plot FILE.png]

Of each scene of accuracy_rows.py, the runs at accuracies 1e-1 to 1e-7, and those of discrete plants with steps of
1e-2 to 1e-5 s, are compared with a run of this package at 1e-8. All three come to it: in the eight scenes where that
was tried, pydrake's runs at 1e-10 differ from it by 1e-6 to 4e-3, and by two to four times as much at 1e-9. The error
is the largest one of a position (quaternions included) at ten times; that of a run counts as no less than those of
finer ones, which may be larger by chance.

The price of an error is that of the coarsest run that comes as near, with straight lines of logarithms between runs. It
is reported for three errors within what both methods reach, and as a mean over them: processor time without setup,
and steps.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy_rows import Scene, go_to_start, make_simulation, scenes
from libraries import Library, merganser_library, pydrake_library
from numpy.typing import NDArray

Array = NDArray[np.float64]
TRUTH = 1e-8
ACCURACIES = tuple(10.0 ** (-0.5 * k) for k in range(2, 15))
TIME_STEPS = tuple(10.0 ** (-0.5 * k) for k in range(4, 11))
NUM_TIMES = 10  # at which errors are looked at
ENOUGH = 0.2  # processor time of runs that are measured [s]
METHODS = "cenic", "discrete", "pydrake"


class Run(NamedTuple):
    """One simulation.

    Attributes:
        choice: accuracy, or time step [s].
        error: the largest one of a position.
        steps: how many were taken.
        cost: processor time [s].
    """

    choice: float
    error: float
    steps: int
    cost: float


def _positions(scene: Scene, simulator: Any, plant: Any) -> tuple[Array, float]:
    """Positions at all times, shape [NUM_TIMES, num_q], and the processor time of getting there [s]."""
    go_to_start(scene, simulator, plant)
    context, found, cost = plant.GetMyContextFromRoot(simulator.get_context()), [], 0.0
    for k in range(1, NUM_TIMES + 1):
        before = time.process_time()
        simulator.AdvanceTo(scene.time * k / NUM_TIMES)
        cost += time.process_time() - before
        found.append(plant.GetPositions(context).copy())
    return np.array(found), cost


def _measure(library: Library, scene: Scene, truth: Array, accuracy: float, time_step: float = 0.0) -> Run:
    """A run, the fastest of some."""
    simulator, plant = make_simulation(library, scene, accuracy, time_step)
    positions, cost = _positions(scene, simulator, plant)
    spent = 0.0
    while spent < ENOUGH:
        _, again = _positions(scene, simulator, plant)
        cost, spent = min(cost, again), spent + again
    steps = round(scene.time / time_step) if time_step else simulator.get_integrator().get_num_steps_taken()
    return Run(time_step or accuracy, float(np.abs(positions - truth).max()), steps, cost)


def measure_scene(scene: Scene, drake: Library | None) -> dict[str, list[Run]]:
    """All runs of a scene, by method."""
    ours = merganser_library()
    truth, _ = _positions(scene, *make_simulation(ours, scene, TRUTH))
    found = {
        "cenic": [_measure(ours, scene, truth, accuracy) for accuracy in ACCURACIES],
        "discrete": [_measure(ours, scene, truth, 0.0, h) for h in TIME_STEPS],
    }
    if drake is not None:
        found["pydrake"] = [_measure(drake, scene, truth, accuracy) for accuracy in ACCURACIES]
    return found


# ---------------------------------------------------------------------- equal error


def _errors(runs: list[Run]) -> list[float]:
    """The errors of runs, from the coarsest to the finest: each no less than those that follow."""
    return np.maximum.accumulate([run.error for run in reversed(runs)])[::-1].tolist()


def price(runs: list[Run], error: float, of: str) -> float:
    """The cost of an error: a field of runs, by straight lines of logarithms."""
    errors, prices = np.log(_errors(runs)), np.log([getattr(run, of) for run in runs])
    return math.exp(float(np.interp(-math.log(error), -errors, prices)))


def common_errors(one: list[Run], other: list[Run]) -> Array:
    """Three errors within the range that both have, in the order in which they fall."""
    least, most = max(_errors(one)[-1], _errors(other)[-1]), min(_errors(one)[0], _errors(other)[0])
    return np.geomspace(max(most, least), least, 5)[1:4]


def compare(found: dict[str, list[Run]], other: str, of: str) -> tuple[list[float], float]:
    """How many times dearer another method is than error control, at three errors and in the mean."""
    errors = common_errors(found["cenic"], found[other])
    ratios = [price(found[other], e, of) / price(found["cenic"], e, of) for e in errors]
    return ratios, math.exp(float(np.mean(np.log(ratios))))


def describe(name: str, found: dict[str, list[Run]]) -> str:
    """A scene in a few lines."""
    lines = [name]
    for method, runs in found.items():
        lines.append(f"  {method}: " + "; ".join(
            f"{run.choice:.0e}: {run.error:.1e}, {run.steps}, {1e3 * run.cost:.1f} ms" for run in runs
        ))  # fmt: skip
    for other in METHODS[1:]:
        if other in found:
            for of in ("cost", "steps"):
                ratios, mean = compare(found, other, of)
                errors = ", ".join(f"{e:.0e}" for e in common_errors(found["cenic"], found[other]))
                each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
                lines.append(f"  {other} / cenic, {of} at errors {errors}: {each}; mean {mean:.2f}")
    return "\n".join(lines)


def plot(everything: dict[str, dict[str, list[Run]]], path: Path) -> None:
    """Draws errors over processor times."""
    import matplotlib.pyplot as plt

    columns = 4 if len(everything) > 4 else len(everything)
    rows = -(-len(everything) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.1 * rows), layout="constrained", squeeze=False)
    for place, (name, found) in zip(axes.flat, everything.items()):
        for method, runs in found.items():
            place.loglog([1e3 * run.cost for run in runs], [run.error for run in runs], "o-", ms=2, lw=1, label=method)
        place.set_title(name, fontsize=8)
        place.tick_params(labelsize=6)
    for place in axes.flat[len(everything) :]:
        place.set_visible(False)
    axes[0, 0].legend(fontsize=7)
    figure.supxlabel("processor time [ms]", fontsize=9)
    figure.supylabel("largest error of a position [m]", fontsize=9)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Measures, and prints, saves or draws what has been found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="regular expression that names of scenes match")
    parser.add_argument("--drake", action="store_true", help="measure pydrake's integrator, too")
    parser.add_argument("--save", type=Path, help="file for all numbers")
    parser.add_argument("--plot", type=Path, help="file for a figure")
    options = parser.parse_args()
    drake, everything = pydrake_library() if options.drake else None, {}
    for scene in scenes():
        if re.search(options.only, scene.name):
            everything[scene.name] = measure_scene(scene, drake)
            print(describe(scene.name, everything[scene.name]), flush=True)
            if options.save:
                options.save.write_text(json.dumps(everything))
    if options.plot and everything:
        plot(everything, options.plot)


if __name__ == "__main__":
    main()
