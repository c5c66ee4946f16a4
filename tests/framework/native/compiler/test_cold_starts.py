"""First uses at once: threads and processes on one empty cache, and forks while something is being compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.native import kernel, native, specialize
from merganser.framework.primitives import Gain, Integrator

signal.alarm(100)  # a deadlock ends here

@native
def force(t, u, y):
    y[0] = t + 2.0 * u[0]

@native
def derivative(xc, u, xdot):
    xdot[0] = u[0] - xc[0]

@kernel
def total(values_in, total_out):
    total_out[0] = 0.0
    for i in range(values_in.shape[0]):
        total_out[0] += values_in[i]

class Block(LeafSystem):
    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(1)
        self.DeclareTimeDerivatives(derivative)
        self.DeclareVectorOutputPort("y", 1, force)

def use():
    block = Block()
    context = block.CreateDefaultContext()
    context.SetTime(0.5)
    context.SetContinuousState([4.0])
    block.get_input_port().FixValue(context, [3.0])
    result = np.zeros(1)
    specialize(total, np.ones(3), result)(np.ones(3), result)
    values = block.get_output_port().Eval(context)[0], block.EvalTimeDerivatives(context)[0], result[0]
    assert values == (6.5, -1.0, 3.0), values
    operations = force.operation("etww"), derivative.operation("ewww")
    addresses = (*(each.address() for each in operations), operations[0].complex_address())
    assert 0 not in addresses
    return addresses
"""

_IN_THREADS = """
start, results = threading.Barrier(8), []

def run():
    start.wait()
    results.append(use())

threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 8 and len(set(results)) == 1, results  # all have the first one's code
hits = sum(force.operation("etww").compiled()._dispatcher.stats.cache_hits.values())
print("hits", hits + sum(code.is_from_disk for code in total.codes.values()))
"""

_FORKS = """
@kernel
def other(x_in):
    return 3.0 * x_in

@kernel
def slow(x_in):
    total = 0.0
    for i in range(10):
        total += np.sin(x_in * i) + np.cos(x_in) ** i + np.exp(-x_in) + np.arctan2(x_in, i) + np.sqrt(np.abs(x_in))
    return total

def fork_and_use():
    child = os.fork()
    if child == 0:
        signal.alarm(50)
        try:
            use()
            assert other(2.0) == 6.0
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return child

def check(child):
    _, status = os.waitpid(child, 0)
    assert status == 0, status

check(fork_and_use())  # nothing compiled
use()
check(fork_and_use())  # after compilation
thread = threading.Thread(target=lambda: slow(0.5))
thread.start()
children = []
while thread.is_alive() and len(children) < 4:  # while something is being compiled
    time.sleep(0.03)
    children.append(fork_and_use())
thread.join()
assert children
for child in children:
    check(child)
use()
print("hits 0")
"""


def start(script, folder):
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(folder), "MERGANSER_COMPILE_HELPERS": "0"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _PRELUDE + script]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def hits(process):
    output, errors = process.communicate()
    assert process.returncode == 0 and errors == "", errors
    return int(output.split()[-1])


def test_eight_threads_in_two_processes_on_one_empty_cache(tmp_path):
    for process in [start(_IN_THREADS, tmp_path), start(_IN_THREADS, tmp_path)]:
        hits(process)
    names = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {".nbk"}
    assert hits(start(_IN_THREADS, tmp_path)) >= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks_before_after_and_while_something_is_compiled(tmp_path):
    assert hits(start(_FORKS, tmp_path)) == 0


_FORKS_OF_THREADS = """
sys.setswitchinterval(1e-6)

def fork():
    for _ in range(50):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

threads = [threading.Thread(target=fork, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20.0)
assert not any(thread.is_alive() for thread in threads)

from merganser.framework.native.compiler import extending

is_telling = threading.Event()
extending.register(lambda: (is_telling.set(), time.sleep(0.5)))
thread = threading.Thread(target=extending.register_all)
thread.start()
is_telling.wait()
child = os.fork()
if child == 0:
    signal.alarm(50)
    use()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
print("hits 0")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks_of_several_threads_and_during_registration_with_numba(tmp_path):
    assert hits(start(_FORKS_OF_THREADS, tmp_path)) == 0


_INTERRUPTS = """
rng, num_interrupts, is_over = np.random.default_rng(5), 0, False

def interrupt():
    while not is_over:
        time.sleep(rng.uniform(0.005, 0.1) * (1.0 + 0.02 * num_interrupts))
        if not is_over:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=interrupt, daemon=True).start()
signal.signal(signal.SIGINT, signal.default_int_handler)
while not is_over:
    try:
        use()
        is_over = True
    except KeyboardInterrupt:
        num_interrupts += 1
assert num_interrupts > 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
use()
print("hits 0")
"""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot interrupt itself")
def test_what_is_interrupted_while_numba_is_imported_or_compiles_can_be_called_again(tmp_path):
    process = start(_INTERRUPTS, tmp_path)
    output, errors = process.communicate()
    assert process.returncode == 0 and output.split()[-2:] == ["hits", "0"], errors


_INTERRUPTED_IMPORT = """
import os, signal, sys
import numpy as np
from merganser.analysis.integrators.jacobian import FullMatrix
from merganser.geometry import Convex, Sphere
from merganser.geometry.hydroelastic.mesh_shapes import convex_volume, inflated

class Strike:
    name = None

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            self.name = None
            os.kill(os.getpid(), signal.SIGINT)

def first_step_of_deformables(scenes=[]):
    from soft_scenes import SoftScene
    def ball():
        scene = SoftScene()
        scene.add_soft(Sphere(0.1), (0.0, 0.0, 0.098), hint=0.12)
        return scene.finish()
    if not scenes:
        scenes.append(ball())
        scenes[0].advance(0.03)
    assert (scenes[0].advance(0.03).vertices() == ball().advance(0.03).vertices()).all()

def hull():
    corners = np.array(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])).reshape(3, 8)
    convex_volume(Convex(corners, "cube"), 0.1)

def surface():
    inflated(np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]]), 0.1)

def implicit_step():
    J, lu, pivots, matrix = np.array([[-1.0]]), np.zeros((1, 1)), np.zeros(1, np.int32), FullMatrix()
    matrix.factor(1.0, J, lu, pivots)
    assert matrix.solve(1.0, J, lu, pivots, np.ones(1)) == 0.5

use, strike = globals()[sys.argv[1]], Strike()
sys.meta_path.insert(0, strike)
signal.signal(signal.SIGINT, signal.default_int_handler)
strike.name = sys.argv[2]
try:
    use()
except KeyboardInterrupt:
    assert strike.name is None and sys.argv[2] in sys.modules, "the import was cut short"
else:
    raise AssertionError("not interrupted")
use()
"""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot interrupt itself")
@pytest.mark.parametrize("use, module", [
    ("first_step_of_deformables", "scipy.sparse._csr"),
    ("first_step_of_deformables", "scipy.sparse.csgraph._reordering"),
    ("hull", "scipy.spatial._qhull"),
    ("surface", "scipy.optimize._nnls"),
    ("implicit_step", "scipy.linalg._misc"),
])  # fmt: skip
def test_ctrl_c_while_a_first_use_imports_scipy_waits_for_it(use: str, module: str) -> None:
    command = [sys.executable, "-c", _INTERRUPTED_IMPORT, use, module]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr
