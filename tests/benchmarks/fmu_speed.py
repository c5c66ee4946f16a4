"""How fast FMUs run in FMPy's loop: beside our own Simulator, and beside a PythonFMU of the same equations.

    python tests/benchmarks/fmu_speed.py

Processor time of a communication step of 10 ms, in which the outputs are recorded; the least of several runs. It needs
the extra `fmi`, and for the last row `pip install pythonfmu`, with a Python that has a shared library.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import fmu_diagrams as diagrams

from merganser.analysis import Simulator, SimulatorConfig
from merganser.analysis.fmi import ExportFmu
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig
from merganser.framework import BasicVector, LeafSystem
from merganser.framework.native import native

STEP, NUM_STEPS, REPEATS = 0.01, 500, 7
MODELS = {
    "cart-pole with PID, steps of 1 ms": (diagrams.cart_pole_with_pid, 0.001),
    "arm with PD and gravity, steps of 1 ms": (diagrams.arm_with_pd_and_gravity, 0.001),
    "quadruped on the ground, steps of 2 ms": (diagrams.quadruped, 0.01),
    "deformable ball under a plate, steps of 10 ms": (diagrams.soft_ball, 0.01),
}
# A cart-pole with PID control by its equations, with Kutta's method of third order in steps of 1 ms: for PythonFMU, and
# as a native function of a block of our own.
EQUATIONS = """
import math

M, m, l, inertia, g, h = 1.2, 0.3, 0.4, 0.0160108, 9.81, 0.001


def derivatives(xc, xdot):
    u = -10.0 * xc[0] - 1.0 * xc[4] - 3.0 * xc[2]
    s, c, w = math.sin(xc[1]), math.cos(xc[1]), xc[3]
    # A pole that hangs down at zero: [M + m, m l c; m l c, m l^2 + I] [dv; dw] = [u + m l s w^2; -m g l s].
    first, second = u + m * l * s * w * w, -m * g * l * s
    total, along, about = M + m, m * l * c, m * l * l + inertia
    det = total * about - along * along
    xdot[0], xdot[1], xdot[4] = xc[2], w, xc[0]
    xdot[2], xdot[3] = (about * first - along * second) / det, (total * second - along * first) / det
"""
PYTHON_FMU = (
    EQUATIONS
    + """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class CartPole(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.x = [0.1, 0.2, 0.0, 0.0, 0.0]
        for n in range(4):
            getter = lambda n=n: self.x[n]
            self.register_variable(Real(f"x[{n}]", causality=Fmi2Causality.output, getter=getter))

    def do_step(self, time, step):
        for _ in range(round(step / h)):
            x = self.x
            a, b, c = [0.0] * 5, [0.0] * 5, [0.0] * 5
            derivatives(x, a)
            derivatives([x[i] + 0.5 * h * a[i] for i in range(5)], b)
            derivatives([x[i] + h * (2 * b[i] - a[i]) for i in range(5)], c)
            self.x = [x[i] + h * (a[i] + 4 * b[i] + c[i]) / 6 for i in range(5)]
        return True
"""
)


def least_time(run: Callable[[], Any]) -> tuple[float, Any]:
    """Of one step [s], with the result of the last run."""
    times, result = [], None
    for _ in range(REPEATS):
        start = time.process_time()
        result = run()
        times.append((time.process_time() - start) / NUM_STEPS)
    return min(times), result


def with_simulator(diagram: Any, context: Any, step: float) -> Callable[[], Any]:
    """A simulation by our own Simulator; gives the outputs at its end."""
    config = SimulatorConfig(max_step_size=step, use_error_control=False)

    def run() -> Any:
        simulator, rows = Simulator(diagram, context.Clone()), []
        ApplySimulatorConfig(config, simulator)
        now, port = simulator.get_context(), diagram.get_output_port(0)
        for n in range(NUM_STEPS):
            simulator.AdvanceTo((n + 1) * STEP)
            rows.append(port.Eval(now))
        return rows[-1]

    return run


def with_fmpy(path: Path) -> Callable[[], Any]:
    """The same by FMPy's loop, in an instance that is there."""
    folder = fmpy.extract(str(path), str(path.with_suffix("")))
    description = fmpy.read_model_description(folder)
    instance = fmpy.instantiate_fmu(folder, description, fmi_type="CoSimulation")

    def run() -> Any:
        instance.reset()
        rows = fmpy.simulate_fmu(
            folder, model_description=description, fmu_instance=instance, fmi_type="CoSimulation", validate=False,
            stop_time=NUM_STEPS * STEP, output_interval=STEP,
        )  # fmt: skip
        return np.array(rows[-1].tolist()[1:])

    return run


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'step of 10 ms':46s} {'Simulator':>12s} {'FMPy':>12s}   ratio")
        for text, (make, step) in MODELS.items():
            diagram, context = make()
            path = folder / f"{make.__name__}.fmu"
            ExportFmu(diagram, path, kinds=("cs",), context=context, step=step)
            ours, expected = least_time(with_simulator(diagram, context, step))
            theirs, found = least_time(with_fmpy(path))
            np.testing.assert_allclose(found, expected, atol=1e-9)
            print(f"{text:46s} {1e6 * ours:9.1f} us {1e6 * theirs:9.1f} us {ours / theirs:7.2f}", flush=True)
        if importlib.util.find_spec("pythonfmu") is not None:
            compare_with_python(folder)


def native_cart_pole(folder: Path) -> LeafSystem:
    """A block whose derivatives are the equations."""
    (folder / "equations.py").write_text(EQUATIONS)
    sys.path.append(str(folder))
    block = LeafSystem()
    block.set_name("cart_pole")
    index = block.DeclareContinuousState(BasicVector([0.1, 0.2, 0.0, 0.0, 0.0]))
    block.DeclareTimeDerivatives(native(importlib.import_module("equations").derivatives))
    block.DeclareStateOutputPort("x", index)
    return block


def compare_with_python(folder: Path) -> None:
    """Prints the time of a PythonFMU, beside that of our FMU of the same equations."""
    (folder / "cart_pole.py").write_text(PYTHON_FMU)
    subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", "cart_pole.py"], cwd=folder, check=True)
    ExportFmu(native_cart_pole(folder), folder / "native.fmu", kinds=("cs",), step=0.001)
    theirs, found = least_time(with_fmpy(folder / "CartPole.fmu"))
    ours, expected = least_time(with_fmpy(folder / "native.fmu"))
    np.testing.assert_allclose(found, expected[:4], atol=1e-9)
    print(
        f"PythonFMU {1e6 * theirs:.1f} us, our FMU of the same equations {1e6 * ours:.1f} us: {theirs / ours:.1f} times"
    )


if __name__ == "__main__":
    main()
