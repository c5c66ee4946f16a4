"""Compares the speed of this package with pydrake's in one run: see README.md."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import accuracy_rows
import contact_rows
import control_rows
import framework_rows
import hydroelastic_rows
import kernel_rows
import numpy as np
import optimization_rows
import planning_rows
import plant_rows
import proximity_rows
import rendering_rows
import simulation_rows
import single_call_rows
import start_rows
import study_rows
import tendon_and_terrain_rows
import viewer_rows
import world_rows
from libraries import ROOT, Row, merganser_library, pydrake_library

_SECONDS = 0.5  # that short work is repeated for, so that some runs are disturbed by nothing
_MANY = 10  # times as many runs as asked for, at most

# ---------------------------------------------------------------------- measuring


def check_agreement(row: Row, ours: Any, theirs: Any) -> None:
    """Both packages must compute the same thing before their times are compared."""
    if ours is not None:
        ours = ours if row.compared is None else row.compared(ours)
        theirs = theirs if row.theirs_compared is None else row.theirs_compared(theirs)
        scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=row.tolerance * scale, err_msg=row.name)


def measure(row: Row, repeats: int, clock: Callable[[], float]) -> tuple[float, float | None]:
    """Least times of one call [s], from alternating runs: other work on the machine disturbs those least."""
    our_call, their_call = row.ours(), row.theirs() if row.theirs else None
    first = our_call()
    if their_call is not None:
        check_agreement(row, first, their_call())
    ours, theirs = [], []
    end = time.perf_counter() + _SECONDS
    while len(ours) < repeats or (time.perf_counter() < end and len(ours) < _MANY * repeats):
        ours.append(_time(our_call, row.calls, clock) / row.calls_inside)
        if their_call is not None:
            theirs.append(_time(their_call, row.calls, clock) / row.calls_inside)
    return min(ours), min(theirs) if theirs else None


def _time(function: Callable[[], Any], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls


def compile_beforehand() -> None:
    """Does what other programs have done on a machine that is in use; no row does it by itself."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "merganser", "compile"], check=True, capture_output=True)
    print(f"python -m merganser compile: {time.perf_counter() - start:.1f} s")


def first_run() -> tuple[float, float]:
    """Wall times [s] of example 1 with an empty and with a full kernel cache, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MERGANSER_CACHE_DIR": folder}
        command = [sys.executable, str(ROOT / "examples" / "01_cart_pole_lqr.py"), "--output", folder]

        def run() -> float:
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            return time.perf_counter() - start

        return run(), min(run() for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="least number of runs of each row")
    parser.add_argument("--only", default="", metavar="PATTERN", help="rows whose name this regular expression finds")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, of all threads together")
    parser.add_argument("--cold", action="store_true", help="run whole programs with nothing compiled, too")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu else time.perf_counter
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # programs start from bytecode, as those of users do
    compile_beforehand()
    theirs = pydrake_library()
    print(f"{'work':58s} {'merganser':>12s} {'reference':>12s} {'ratio':>7s}")
    ours = merganser_library()
    modules = (
        plant_rows, kernel_rows, single_call_rows, simulation_rows, framework_rows, contact_rows, accuracy_rows,
        study_rows,
        world_rows,
        tendon_and_terrain_rows,
        optimization_rows,
        control_rows,
        proximity_rows,
        planning_rows,
        hydroelastic_rows,
        rendering_rows,
        viewer_rows,
    )  # fmt: skip
    table = [row for module in modules for row in module.rows(ours, theirs)]
    for row in table:
        if not re.search(arguments.only, row.name):
            continue
        our_time, their_time = measure(row, arguments.repeats, clock)
        reference = "not installed" if their_time is None else f"{1e6 * their_time:9.2f} us"
        ratio = "" if their_time is None else f"{their_time / our_time:7.2f}"
        print(f"{row.name:58s} {1e6 * our_time:9.2f} us {reference:>12s} {ratio}", flush=True)
    start_rows.print_table(theirs is not None, lambda name: re.search(arguments.only, name), arguments.cold)
    if arguments.only:
        return
    cold, warm = first_run()
    print(f"example 1 from start to end: {cold:.1f} s with nothing compiled, {warm:.2f} s afterwards")


if __name__ == "__main__":
    main()
