"""Diagrams of all kinds as FMUs, simulated by FMPy without this package and a compiler: they give what we give."""

import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from fmu_diagrams import DIAGRAMS

from merganser.analysis import Simulator, SimulatorConfig
from merganser.analysis.fmi import ExportFmu
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig
from merganser.framework.core.context.native_code import may_compile

pytest.importorskip("ziglang", reason="ziglang, which links FMUs, is not installed (extra `fmi`)")
pytest.importorskip("fmpy", reason="FMPy, which simulates FMUs, is not installed")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not may_compile(), reason="FMUs are made on Linux, of compiled code"
)

STEP, END = 1.0 / 64.0, 0.5  # of communication, of the simulation [s]; FMPy's sums of the former are exact
STATE_MACHINES = ("bouncing ball", "thermostat")
MOST_BYTES = 2_000_000  # of a library in the file
HOST = """
import sys
for name in ("merganser", "numba", "llvmlite"):
    sys.modules[name] = None
import fmpy
import numpy as np
path, kind, step, end = sys.argv[1:]
rows = fmpy.simulate_fmu(
    path, fmi_type=kind, stop_time=float(end), output_interval=float(step), relative_tolerance=1e-12,
    record_events=False,
)
np.save(path + kind, np.array(rows.tolist()))
"""


def simulated_by_fmpy(path, kind="CoSimulation"):
    """Times and all outputs, as a program gives them that cannot import this package."""
    done = subprocess.run(
        [sys.executable, "-c", HOST, path, kind, str(STEP), str(END)], capture_output=True, text=True, cwd=path.parent
    )
    assert done.returncode == 0, done.stderr
    return np.load(f"{path}{kind}.npy")


def simulated_here(diagram, context, config):
    """The same of the Simulator."""
    simulator = Simulator(diagram, context.Clone())
    ApplySimulatorConfig(config, simulator)
    context, rows = simulator.get_context(), []
    for n in range(round(END / STEP) + 1):
        simulator.AdvanceTo(n * STEP)
        outputs = [diagram.get_output_port(i).Eval(context) for i in range(diagram.num_output_ports())]
        rows.append(np.concatenate([[n * STEP], *outputs]))
    return np.array(rows)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_fmpy_alone_gives_what_the_simulator_gives(tmp_path, name):
    make, step = DIAGRAMS[name]
    diagram, context = make()
    diagram.set_name("model")
    kinds = ("cs",) if name in STATE_MACHINES else ("cs", "me")
    config = SimulatorConfig() if step is None else SimulatorConfig(max_step_size=step, use_error_control=False)
    ExportFmu(
        diagram, tmp_path / "model.fmu", kinds=kinds, platforms=("linux64", "win64", "darwin64"), context=context,
        config=config,
    )  # fmt: skip
    expected, rows = simulated_here(diagram, context, config), simulated_by_fmpy(tmp_path / "model.fmu")
    assert rows.shape == expected.shape and np.ptp(expected[:, 1:], axis=0).max() > 1e-3
    assert (rows[1:] == expected[1:]).all()  # the first is before updates of the start in FMPy, and after them here
    if "me" in kinds:  # by the solver CVODE, which comes near it when both are as exact as can be
        expected = simulated_here(diagram, context, SimulatorConfig(integration_scheme="runge_kutta5", accuracy=1e-12))
        rows = simulated_by_fmpy(tmp_path / "model.fmu", "ModelExchange")
        away = np.arange(len(rows)) % 16 > 0  # from samples every 0.25 s: FMPy looks after these, and we before
        np.testing.assert_allclose(rows[away], expected[away], rtol=0.0, atol=1e-9)
    with zipfile.ZipFile(tmp_path / "model.fmu") as archive:
        places = [entry.filename for entry in archive.infolist() if "binaries/" in entry.filename]
        assert max(archive.getinfo(place).compress_size for place in places) < MOST_BYTES
        check_libraries({place: archive.read(place) for place in places})


def check_libraries(libraries):
    """Looks at formats, functions, and what other libraries are needed."""
    functions = set(re.findall(rb"\0(fmi3[A-Z]\w+)(?=\0)", next(iter(libraries.values()))))
    needed = re.compile(rb"[\w.+/@-]+\.(?:dll|dylib|so\.\d)\b", re.IGNORECASE)
    known = re.compile(
        rb"(@rpath/)?model\.d\w+|lib[cm]\.so\.6|/usr/lib/libSystem\.B\.dylib|(api-ms-win-crt|kernel32).*", re.IGNORECASE
    )
    marks = {".so": b"\x7fELF", ".dll": b"MZ", ".dylib": bytes.fromhex("cffaedfe")}
    assert len(functions) > 50 and len(libraries) == len(marks)
    for place, content in libraries.items():
        assert content.startswith(marks[place[place.rindex(".") :]])
        assert all(name in content for name in functions)
        assert all(known.fullmatch(name) for name in needed.findall(content)), needed.findall(content)
