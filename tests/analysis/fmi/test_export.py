"""Diagrams as FMUs: they compute what the Simulator computes, need only the C library, and refuse wrong calls."""

import importlib.util
import random
import re
import sys
import zipfile

import numpy as np
import pytest
from event_diagrams import relay_loop
from fmu_diagrams import cart_pole_with_pid, thermostat
from fmu_host import ERROR, OK, FmuFile

from merganser.analysis import Simulator, SimulatorConfig
from merganser.analysis.estimators import ExtendedKalmanFilter, UnscentedKalmanFilter
from merganser.analysis.fmi import ExportFmu
from merganser.analysis.fmi.closed_plan import ClosedPlan, context_apart
from merganser.analysis.fmi.description import Variables
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig
from merganser.cli import main
from merganser.framework import BasicVector, ContinuousStateIndex, DiagramBuilder, LeafSystem
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import native
from merganser.framework.primitives import (
    Adder,
    Integrator,
    LinearSystem,
    Sine,
    TransportDelay,
    VectorLogSink,
    ZeroOrderHold,
)

pytest.importorskip("ziglang", reason="ziglang, which links FMUs, is not installed (extra `fmi`)")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not may_compile(), reason="FMUs are made on Linux, of compiled code"
)

STEP = 0.01  # of communication [s]
FIXED = SimulatorConfig(max_step_size=0.004, use_error_control=False)


@native
def swing(xc, torque, length, xdot):
    xdot[0] = xc[1]
    xdot[1] = torque[0] - 9.81 / length[0] * np.sin(xc[0])


class Pendulum(LeafSystem):
    """A pendulum of a user's own functions."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(BasicVector([0.3, 0.0]))
        self.DeclareVectorInputPort("torque", 1, units="N*m")
        self.DeclareNumericParameter(BasicVector([0.5]), name="length")
        self.DeclareTimeDerivatives(swing)
        self.DeclareStateOutputPort("x", ContinuousStateIndex(0))


class PythonGain(LeafSystem):
    """A block of Python functions."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, lambda context, y: y.SetFromVector(self.get_input_port().Eval(context)))


def add(builder, name, system):
    return builder.AddNamedSystem(name, system)


def sampled_pendulum():
    """A pendulum under a torque that is sampled at two rates, which meet now and then; one signal is logged."""
    builder = DiagramBuilder()
    sine, total = add(builder, "sine", Sine(1.0, 2.0, 0.0, 1)), add(builder, "total", Adder(2, 1))
    fast, slow = add(builder, "fast", ZeroOrderHold(0.03, 1)), add(builder, "slow", ZeroOrderHold(0.05, 1))
    pendulum, log = add(builder, "pendulum", Pendulum()), add(builder, "log", VectorLogSink(2, 0.1))
    builder.Connect(sine.get_output_port(0), fast.get_input_port())
    builder.Connect(fast.get_output_port(), slow.get_input_port())
    builder.Connect(slow.get_output_port(), total.get_input_port(0))
    builder.ExportInput(total.get_input_port(1), "u")
    builder.Connect(total.get_output_port(), pendulum.get_input_port())
    builder.Connect(pendulum.get_output_port(), log.get_input_port())
    builder.ExportOutput(pendulum.get_output_port(), "x")
    builder.ExportOutput(total.get_output_port(), "torque")
    diagram = builder.Build()
    diagram.set_name("sampled_pendulum")
    return diagram


def input_at(number):
    return 0.25 * (number // 7 % 3 - 1)


def simulated(diagram, config, num_steps):
    """What the Simulator gives for all outputs, after each step."""
    simulator, rows, time = Simulator(diagram), [], 0.0
    if config is not None:
        ApplySimulatorConfig(config, simulator)
    context = simulator.get_context()
    for number in range(num_steps):
        for n in range(diagram.num_input_ports()):
            port = diagram.get_input_port(n)
            port.FixValue(context, [input_at(number)] * port.size())
        simulator.AdvanceTo(time + STEP)
        time += STEP
        outputs = [diagram.get_output_port(n).Eval(context) for n in range(diagram.num_output_ports())]
        rows.append(np.concatenate(outputs))
    return np.array(rows)


def stepped(instance, names, num_steps, start=0):
    """The same of an instance for co-simulation."""
    rows, time = [], float(instance.get("time")[0])
    for number in range(start, start + num_steps):
        instance.set(**{name: input_at(number) for name in instance.file.inputs})
        assert instance.step(time, STEP) == OK, instance.messages
        time += STEP
        rows.append(instance.get(*names))
    return np.array(rows)


OUTPUTS = ("x[0]", "x[1]", "torque")


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    path = tmp_path_factory.mktemp("fmu") / "sampled.fmu"
    ExportFmu(sampled_pendulum(), path, config=FIXED)
    return FmuFile(path)


def test_co_simulation_equals_the_simulator_to_the_bit(fmu):
    expected = simulated(sampled_pendulum(), FIXED, 100)
    assert (stepped(fmu.co_simulation().start(), OUTPUTS, 100) == expected).all()
    assert np.ptp(expected, axis=0).min() > 0.1


def test_error_control_and_relays_give_the_same_bits_too(tmp_path):
    ExportFmu(relay_loop(), tmp_path / "relay.fmu", kinds=("cs",))
    instance = FmuFile(tmp_path / "relay.fmu").co_simulation().start()
    expected = simulated(relay_loop(), None, 150)
    assert (stepped(instance, ("level", "relay"), 150) == expected).all()
    assert set(expected[:, 1]) == {1.0, -1.5}


def test_state_machines_with_functions_of_python_are_refused(tmp_path):
    diagram, _ = thermostat(lambda count: count + 1.0)
    with pytest.raises(ValueError, match=r"an action or guard of system '::.*machine'"):
        ExportFmu(diagram, tmp_path / "python.fmu", kinds=("cs",))


def test_plants_follow_their_inputs_to_the_bit(tmp_path):
    diagram, _ = cart_pole_with_pid()
    ExportFmu(diagram, tmp_path / "cart_pole.fmu", kinds=("cs",), step=FIXED.max_step_size)
    instance = FmuFile(tmp_path / "cart_pole.fmu").co_simulation().start()
    assert "plant.cart_pole_PolePin_q" in instance.file.numbers
    expected = simulated(diagram, FIXED, 60)
    assert (stepped(instance, ("x[0]", "x[1]", "x[2]", "x[3]"), 60) == expected).all()


def test_observers_with_a_model_inside_give_the_same_bits_too(tmp_path):
    pendulum = Pendulum()
    context = pendulum.CreateDefaultContext()
    pendulum.get_input_port().FixValue(context, [0.0])
    observer = ExtendedKalmanFilter(pendulum, context, np.eye(2), np.eye(2))
    ExportFmu(observer, tmp_path / "observer.fmu", kinds=("cs",), step=FIXED.max_step_size)
    file = FmuFile(tmp_path / "observer.fmu")
    outputs = [each.get("name") for each in file.root.iter("Float64") if each.get("causality") == "output"]
    expected = simulated(observer, FIXED, 40)
    assert (stepped(file.co_simulation().start(), outputs, 40) == expected).all() and np.ptp(expected) > 0.1


def test_filters_of_sampled_systems_give_the_same_bits_too(tmp_path):
    observed = LinearSystem([[1.0, 0.1], [-0.2, 0.9]], [[0.0], [0.1]], [[1.0, 0.0]], [[0.0]], 0.05)
    context = observed.CreateDefaultContext()
    observed.get_input_port().FixValue(context, [0.0])
    for n, kind in enumerate((ExtendedKalmanFilter, UnscentedKalmanFilter)):
        observer = kind(observed, context, 0.1 * np.eye(2), np.eye(1))
        ExportFmu(observer, tmp_path / f"{n}.fmu", kinds=("cs",))
        file = FmuFile(tmp_path / f"{n}.fmu")
        outputs = [each.get("name") for each in file.root.iter("Float64") if each.get("causality") == "output"]
        expected = simulated(observer, None, 60)
        assert (stepped(file.co_simulation().start(), outputs, 60) == expected).all() and np.ptp(expected) > 0.01


def test_the_library_needs_the_c_library_only(fmu):
    content = fmu.library.read_bytes()
    assert set(re.findall(rb"\blib[\w+-]+\.(?:so|a)[.\d]*", content)) == {b"libc.so.6", b"libm.so.6"}
    assert max(re.findall(rb"GLIBC_2\.(\d+)", content), key=int) <= b"17"
    assert fmu.library.stat().st_size < 400_000


@native
def choose(u, y):
    y[0] = u[int(u[0])]


def test_indices_out_of_bounds_are_errors(tmp_path):
    block = LeafSystem()
    block.set_name("chooser")
    block.DeclareVectorInputPort("u", 3)
    block.DeclareVectorOutputPort("y", 1, choose)
    ExportFmu(block, tmp_path / "chooser.fmu")
    file = FmuFile(tmp_path / "chooser.fmu")
    instance = file.co_simulation().start()
    instance.set(**{"u[0]": 2.0, "u[2]": 5.0})
    assert instance.get("y") == 5.0
    instance.set(**{"u[0]": 7.0})
    assert instance.GetFloat64(np.array([file.numbers["y"]], np.uint32), 1, np.zeros(1), 1) == ERROR
    assert "values could not be computed" in instance.messages[-1]


def test_images_have_no_addresses_of_this_process():
    def image():
        system = sampled_pendulum()
        context = context_apart(system.CreateDefaultContext())
        variables = Variables(system, context, None, None, None)
        closed = ClosedPlan(Simulator(system, context), variables.computed, variables.output_ports)
        return closed.image(True).image, context  # which stays

    (first, _), (second, _) = image(), image()
    assert first.content == second.content
    assert first.addresses == second.addresses and first.codes == second.codes


def test_any_number_of_rates_gives_the_same_bits(tmp_path):
    def build():
        builder = DiagramBuilder()
        sine, total = add(builder, "sine", Sine(1.0, 2.0, 0.0, 1)), add(builder, "total", Adder(12, 1))
        for n in range(12):
            hold = add(builder, f"hold{n}", ZeroOrderHold(0.01 * (n + 1), 1, offset_sec=0.01 * (n % 2)))
            builder.Connect(sine.get_output_port(0), hold.get_input_port())
            builder.Connect(hold.get_output_port(), total.get_input_port(n))
        builder.ExportOutput(total.get_output_port(), "total")
        return builder.Build()

    ExportFmu(build(), tmp_path / "rates.fmu")
    instance = FmuFile(tmp_path / "rates.fmu").co_simulation().start()
    assert (stepped(instance, ("total",), 200) == simulated(build(), None, 200)).all()


@pytest.mark.parametrize(("version", "place"), [("2.0", "model.png"), ("3.0", "documentation/diagram.png")])
def test_there_is_a_picture_of_the_diagram_where_matplotlib_is(tmp_path, monkeypatch, version, place):
    ExportFmu(sampled_pendulum(), tmp_path / "with.fmu", version=version)
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *of: None if name == "matplotlib" else find(name, *of))
    ExportFmu(sampled_pendulum(), tmp_path / "without.fmu", version=version)
    files = []
    for name in ("with.fmu", "without.fmu"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            files.append({entry: archive.read(entry) for entry in archive.namelist()})
    assert files[0].pop(place).startswith(b"\x89PNG") and f"../{place}".encode() in files[0]["documentation/index.html"]
    assert files[0].keys() == files[1].keys() and b"<img" not in files[1]["documentation/index.html"]


def test_instances_share_nothing(fmu):
    first, second = fmu.co_simulation().start(), fmu.co_simulation().start()
    before = second.get(*OUTPUTS)
    rows = stepped(first, OUTPUTS, 30)
    assert (second.get(*OUTPUTS) == before).all()
    assert (stepped(second, OUTPUTS, 30) == rows).all()


def test_states_are_saved_serialized_and_restored_anywhere(fmu):
    first, other, state, again = fmu.co_simulation().start(), fmu.co_simulation(), np.zeros(1, np.uint64), None
    stepped(first, OUTPUTS, 17)
    assert first.GetFMUState(state) == OK
    expected = stepped(first, OUTPUTS, 20, start=17)
    size, again = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    assert first.SerializedFMUStateSize(int(state[0]), size) == OK
    content = np.zeros(int(size[0]), np.uint8)
    assert first.SerializeFMUState(int(state[0]), content, int(size[0])) == OK
    assert first.SetFMUState(int(state[0])) == OK
    assert (stepped(first, OUTPUTS, 20, start=17) == expected).all()
    assert other.DeserializeFMUState(content, int(size[0]), again) == OK
    assert other.SetFMUState(int(again[0])) == OK
    assert (stepped(other, OUTPUTS, 20, start=17) == expected).all()
    assert first.FreeFMUState(state) == other.FreeFMUState(again) == OK and state[0] == 0


def test_parameters_and_start_values_count(fmu):
    diagram = sampled_pendulum()
    simulator = Simulator(diagram)
    ApplySimulatorConfig(FIXED, simulator)
    context = simulator.get_context()
    diagram.get_input_port(0).FixValue(context, [0.0])
    pendulum = diagram.GetSubsystemByName("pendulum")
    own = pendulum.GetMyContextFromRoot(context)
    own.SetContinuousState([1.0, 0.2])
    own.get_mutable_numeric_parameter(0).SetFromVector([0.8])
    instance = fmu.co_simulation()
    instance.set(**{"pendulum.x[0]": 1.0, "pendulum.x[1]": 0.2, "pendulum.length": 0.8})
    instance.start()
    simulator.AdvanceTo(STEP)
    assert instance.step(0.0, STEP) == OK
    assert (instance.get("x[0]", "x[1]") == own.get_continuous_state_vector().CopyToVector()).all()


def test_model_exchange_gives_derivatives_and_time_events(fmu):
    instance, flags, event = fmu.model_exchange(), np.zeros(5, np.bool_), np.zeros(1)
    instance.start()
    assert instance.UpdateDiscreteStates(flags, flags[1:], flags[2:], flags[3:], flags[4:], event) == OK
    assert flags[4] and event[0] == 0.03
    assert instance.EnterContinuousTimeMode() == OK
    assert instance.SetTime(0.03) == instance.SetContinuousStates(np.array([0.5, -0.1]), 2) == OK
    derivatives = np.zeros(2)
    assert instance.GetContinuousStateDerivatives(derivatives, 2) == OK
    assert derivatives == pytest.approx([-0.1, -9.81 / 0.5 * np.sin(0.5)], rel=1e-15)  # the sine is sampled at 0 so far
    assert instance.EnterEventMode() == OK
    assert instance.UpdateDiscreteStates(flags, flags[1:], flags[2:], flags[3:], flags[4:], event) == OK
    assert instance.get("fast.xd")[0] == np.sin(2.0 * 0.03) and event[0] == 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.DoStep(0.0, 0.1, True, None, None, None, None), "fmi3DoStep: it cannot be called now"),
        (lambda i: i.GetFloat64(np.array([999], np.uint32), 1, np.zeros(1), 1), "value reference 999"),
        (lambda i: i.GetFloat64(np.zeros(2, np.uint32), 2, np.zeros(1), 1), "2 value references but 1 values"),
        (lambda i: i.SetFloat64(np.zeros(1, np.uint32), 1, np.ones(1), 1), "value reference 0 cannot be set now"),
        (lambda i: i.SetFloat64(np.ones(1, np.uint32), 1, np.array([np.nan]), 1), "must be finite, got nan"),
        (lambda i: i.GetInt32(np.zeros(1, np.uint32), 1, np.zeros(1), 1), "fmi3GetInt32: all variables"),
        (lambda i: i.GetContinuousStates(np.zeros(1), 1), "an array of 2 numbers is needed, got 1"),
        (lambda i: i.start() and i.step(0.5, 0.1), "the communication point is 0.5 s, but the time is 0 s"),
        (lambda i: i.start() and i.step(0.0, -0.1), "step size must be positive"),
        (lambda i: i.ExitInitializationMode(), "the state of the instance is 'instantiated'"),
        (lambda i: i.SetFMUState(None), "the state is not one of this model"),
    ],
)
def test_wrong_calls_are_refused_and_logged_by_name(fmu, call, message):
    instance = fmu.co_simulation()
    assert call(instance) == ERROR
    assert message in instance.messages[-1] and instance.messages[-1].startswith("fmi3")


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
def test_any_order_of_calls_does_no_harm(fmu, kind):
    draw, one = random.Random(0), getattr(fmu, kind)()
    numbers, references = np.zeros(40), np.arange(40, dtype=np.uint32)
    flags, state = np.zeros(5, np.bool_), np.zeros(1, np.uint64)
    calls = [
        lambda: one.EnterInitializationMode(False, 0.0, draw.choice([0.0, 1.0]), False, 0.0),
        lambda: one.ExitInitializationMode(),
        lambda: one.EnterEventMode(),
        lambda: one.EnterContinuousTimeMode(),
        lambda: one.EnterStepMode(),
        lambda: one.UpdateDiscreteStates(flags, flags, flags, flags, flags, numbers),
        lambda: one.step(float(draw.choice([0.0, 0.1])), draw.choice([0.1, 0.0])),
        lambda: one.GetFloat64(references, draw.randrange(20), numbers, draw.randrange(20)),
        lambda: one.SetFloat64(references[1:], draw.randrange(3), np.ones(3), draw.randrange(3)),
        lambda: one.GetContinuousStateDerivatives(numbers, draw.randrange(4)),
        lambda: one.SetContinuousStates(np.ones(4), draw.randrange(4)),
        lambda: one.SetTime(draw.choice([0.0, 0.3, float("nan")])),
        lambda: one.GetFMUState(state),
        lambda: one.SetFMUState(int(state[0])),
        lambda: one.FreeFMUState(state),
        lambda: one.Reset(),
        lambda: one.GetBoolean(references, draw.randrange(2), flags, draw.randrange(2)),
        lambda: one.CompletedIntegratorStep(True, flags, flags),
        lambda: one.GetEventIndicators(numbers, draw.randrange(2)),
        lambda: one.GetNumberOfEventIndicators(state),
        lambda: one.GetDirectionalDerivative(
            references,
            draw.randrange(9),
            references,
            draw.randrange(9),
            numbers,
            draw.randrange(9),
            numbers,
            draw.randrange(9),
        ),
        lambda: one.GetAdjointDerivative(
            references,
            draw.randrange(9),
            references,
            draw.randrange(9),
            numbers,
            draw.randrange(9),
            numbers,
            draw.randrange(9),
        ),
    ]
    assert {draw.choice(calls)() for _ in range(3000)} == {OK, ERROR}


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_fmpy_finds_nothing_wrong_and_follows_the_closed_form(tmp_path, version):
    fmpy = pytest.importorskip("fmpy", reason="FMPy, which simulates FMUs, is not installed")
    validation = pytest.importorskip("fmpy.validation")
    builder = DiagramBuilder()
    sine, integral = add(builder, "sine", Sine(1.0, 2.0, 0.0, 1)), add(builder, "integral", Integrator(1))
    builder.Connect(sine.get_output_port(0), integral.get_input_port())
    builder.ExportOutput(integral.get_output_port(), "y")
    path = tmp_path / "wave.fmu"
    ExportFmu(builder.Build(), path, version=version)
    assert validation.validate_fmu(str(path)) == []
    for kind in ("CoSimulation", "ModelExchange"):
        y = fmpy.simulate_fmu(str(path), fmi_type=kind, stop_time=1.0, output_interval=0.1, relative_tolerance=1e-9)
        assert y["y"][-1] == pytest.approx((1.0 - np.cos(2.0)) / 2.0, abs=1e-5)  # of our own error control at 1e-4


def test_a_diagram_of_a_program_is_exported_from_the_command_line(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text("from merganser.framework.primitives import Integrator\n\ndiagram = Integrator(1)\n")
    assert main(["fmu", f"{program}:diagram", "-o", str(tmp_path / "out.fmu"), "--fmi", "2.0"]) == 0
    assert "out.fmu: " in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "out.fmu") as file:
        assert b'fmiVersion="2.0"' in file.read("modelDescription.xml")


def test_python_blocks_are_refused_by_their_paths(tmp_path):
    builder = DiagramBuilder()
    gain, integral = add(builder, "slow", PythonGain()), add(builder, "integral", Integrator(1))
    builder.Connect(gain.get_output_port(), integral.get_input_port())
    builder.ExportInput(gain.get_input_port())
    with pytest.raises(ValueError, match=r"(?s)::slow.*@native"):
        ExportFmu(builder.Build(), tmp_path / "no.fmu")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ("se",)}, "kinds must be among 'cs', 'me'"),
        ({"version": "1.0"}, "version must be among"),
        ({"platforms": ("amiga",)}, "platforms must be among 'linux64'"),
        ({"step": 0.0}, "step must be positive"),
        ({"outputs": ["z"]}, "has no output port 'z'; it has level, relay"),
        ({"parameters": ["motor"]}, "no block 'motor' with numeric parameters"),
    ],
)
def test_what_is_not_built_is_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        ExportFmu(relay_loop(), tmp_path / "no.fmu", **arguments)
    assert not list(tmp_path.iterdir())


def test_blocks_that_keep_samples_of_every_step_have_no_model_exchange(tmp_path):
    with pytest.raises(ValueError, match=r"no model exchange .*block '.*delay' keeps a sample of every step"):
        delay = TransportDelay(0.1)
        delay.set_name("delay")
        ExportFmu(delay, tmp_path / "no.fmu")


def test_other_platforms_get_libraries_of_their_formats(tmp_path):
    ExportFmu(sampled_pendulum(), tmp_path / "all.fmu", platforms=("win64", "darwin-aarch64"), config=FIXED)
    with zipfile.ZipFile(tmp_path / "all.fmu") as archive:
        windows = archive.read("binaries/x86_64-windows/sampled_pendulum.dll")
        mac = archive.read("binaries/aarch64-darwin/sampled_pendulum.dylib")
    assert windows[:2] == b"MZ" and b"fmi3DoStep" in windows
    assert mac[:4] == bytes.fromhex("cffaedfe") and b"_fmi3DoStep" in mac
