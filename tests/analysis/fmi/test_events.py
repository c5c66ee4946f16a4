"""State events of FMUs: in model exchange under another solver, in co-simulation, and re-imported."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest
from event_diagrams import (
    GRAVITY,
    RESTITUTION,
    Ball,
    Particular,
    bounce_in_python,
    chattering,
    height_at,
    height_in_python,
    integral_at,
    relay_loop,
    saturating_integrator,
)
from fmu_diagrams import thermostat
from fmu_host import OK, FmuFile

from merganser.analysis import Simulator
from merganser.analysis.fmi import ExportFmu, FmuSystem
from merganser.framework.core.context.native_code import may_compile

pytest.importorskip("ziglang", reason="ziglang, which links FMUs, is not installed (extra `fmi`)")
fmpy = pytest.importorskip("fmpy", reason="FMPy, which simulates FMUs, is not installed")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not may_compile(), reason="FMUs are made on Linux, of compiled code"
)

DIAGRAMS = {
    "ball": (Ball, ["x[0]", "count"], 2.2),
    "relay": (relay_loop, ["level", "relay"], 2.0),
    "thermostat": (lambda: thermostat()[0], ["temperature", "count"], 2.0),
    "integrator": (saturating_integrator, ["y"], 8.0),
}
STEP = 0.02  # between outputs [s]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The FMU of a diagram, by its name and the version of FMI."""
    folder = tmp_path_factory.mktemp("fmus")

    def path_of(name, version="3.0"):
        path = folder / f"{name}{version[0]}.fmu"
        if not path.exists():
            ExportFmu(DIAGRAMS[name][0](), path, version=version)
        return path

    return path_of


def exact(name):
    """Outputs of the Simulator at high accuracy; of the ball and the integrator, in closed form."""
    make, _, end = DIAGRAMS[name]
    simulator = Simulator(make())
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    system, rows = simulator.get_system(), []
    times = STEP * np.arange(round(end / STEP) + 1)
    for time in times:
        simulator.AdvanceTo(time)
        ports = [system.get_output_port(i).Eval(simulator.get_context()) for i in range(system.num_output_ports())]
        rows.append([each[0] for each in ports])
    found = np.array(rows)
    closed = {"ball": height_at, "integrator": integral_at}.get(name)
    if closed is not None:
        found[:, 0] = [closed(time) for time in times]
    return times, found


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("name", DIAGRAMS)
def test_model_exchange_under_cvode_finds_all_events(exported, name, version):
    times, expected = exact(name)
    _, outputs, end = DIAGRAMS[name]
    found = fmpy.simulate_fmu(
        str(exported(name, version)), fmi_type="ModelExchange", stop_time=end, output_interval=STEP,
        relative_tolerance=1e-11, record_events=False, output=outputs,
    )  # fmt: skip
    assert len(found) == len(times)
    values = np.array([found[output] for output in outputs]).T
    is_apart = np.ones(len(times), bool)  # from events, where outputs jump
    if len(outputs) > 1:
        is_apart[1:] = expected[1:, 1] == expected[:-1, 1]
        is_apart[:-1] &= is_apart[1:]
        assert len(set(expected[:, 1])) > 1
    assert values[is_apart] == pytest.approx(expected[is_apart], abs=2e-8)  # of CVODE's own errors


@pytest.mark.parametrize("name", DIAGRAMS)
def test_events_of_imported_units_are_those_of_the_diagram(exported, name):
    times, expected = exact(name)
    _, outputs, _ = DIAGRAMS[name]
    unit = FmuSystem(str(exported(name)), kind="me")
    simulator = Simulator(unit)
    simulator.get_mutable_integrator().set_target_accuracy(1e-7)
    for time in times[:: len(times) // 7]:
        simulator.AdvanceTo(time)
        values = [unit.GetOutputPort(output).Eval(simulator.get_context())[0] for output in outputs]
        assert values[:1] == pytest.approx(expected[round(time / STEP), :1], abs=1e-5)


def follow(simulator, instance, outputs, num_steps):
    """Steps of an instance for co-simulation; it gives the outputs of the Simulator to the last bit."""
    system, time = simulator.get_system(), simulator.get_context().get_time()
    for _ in range(num_steps):
        assert instance.step(time, STEP) == OK, instance.messages
        time += STEP
        simulator.AdvanceTo(time)
        ports = [system.get_output_port(i).Eval(simulator.get_context())[0] for i in range(system.num_output_ports())]
        assert instance.get(*outputs).tolist() == ports


@pytest.mark.parametrize("name", DIAGRAMS)
def test_co_simulation_with_events_equals_the_simulator_to_the_bit(exported, name):
    make, outputs, _ = DIAGRAMS[name]
    follow(Simulator(make()), FmuFile(exported(name)).co_simulation().start(), outputs, 80)


def update(instance):
    """Leaves event mode, after all updates; returns whether the unit asks for the end, and its next event [s]."""
    flags, time = np.zeros(5, np.bool_), np.zeros(1)
    assert instance.UpdateDiscreteStates(*(flags[n : n + 1] for n in range(5)), time) == OK
    assert not flags[0]
    return bool(flags[1]), float(time[0]) if flags[4] else np.inf


def test_steps_of_co_simulation_end_at_events_where_the_host_allows_it(exported):
    instance = FmuFile(exported("ball")).co_simulation(uses_events=True, may_return_early=True).start()
    assert update(instance) == (False, np.inf) and instance.EnterStepMode() == OK
    time, ends = 0.0, []
    while time < 1.5:
        assert instance.step(time, 0.5) == OK
        is_event, is_ended, is_early, last = instance.outlook
        assert is_event == is_early and not is_ended
        assert last == instance.get("time")[0] and (is_early or last == pytest.approx(time + 0.5))
        time = last
        if is_event:
            before = instance.get("x[1]")[0]
            assert instance.EnterEventMode() == OK and update(instance)[0] is False and instance.EnterStepMode() == OK
            assert instance.get("x[0]", "x[1]").tolist() == [0.0, -RESTITUTION * before]
            ends.append(time)
    first = np.sqrt(2.0 / GRAVITY)
    flights = 2.0 * first * np.cumsum([0.0, RESTITUTION, RESTITUTION**2])
    assert ends == pytest.approx(first + flights, abs=1e-11)


def test_early_returns_at_events_are_ends_of_steps_for_fmpy(exported):
    _, expected = exact("ball")
    found = fmpy.simulate_fmu(
        str(exported("ball")), fmi_type="CoSimulation", stop_time=2.2, output_interval=STEP, output=["x[0]", "count"],
        early_return_allowed=True, use_event_mode=True,
    )  # fmt: skip
    assert [height_at(time) for time in found["time"]] == pytest.approx(found["x[0]"], abs=1e-9)
    assert found["count"][-1] == expected[-1, 1] > 3.0


def model_exchange(path):
    """An instance in continuous time, with its number of indicators."""
    instance, number = FmuFile(path).model_exchange().start(), np.zeros(1, np.uint64)
    update(instance)
    assert instance.EnterContinuousTimeMode() == instance.GetNumberOfEventIndicators(number) == OK
    return instance, int(number[0])


def state_event(instance, time, x):
    """Has an event carried out at a state; returns the state after it."""
    assert instance.SetTime(time) == instance.SetContinuousStates(x, len(x)) == instance.EnterEventMode() == OK
    ended, _ = update(instance)
    assert instance.EnterContinuousTimeMode() == instance.GetContinuousStates(x, len(x)) == OK
    return ended


def test_an_indicator_begins_on_the_side_to_which_its_function_goes(exported):
    """However far below zero the host has found the floor, the ball is above it after the bounce."""
    instance, count = model_exchange(exported("ball"))
    z = np.zeros(count)
    for below in (0.0, 1e-17, 1e-9, 1e-3):
        for x in (np.array([1.0, 0.0]), np.array([-below, -2.0])):
            state_event(instance, 0.5, x)
        assert instance.get("count")[0] > 0.0 and x[1] == 1.4
        assert instance.GetEventIndicators(z, count) == OK and z[0] > 0.0
        assert instance.SetContinuousStates(np.array([-1e-6 - 2.0 * below, -1.0]), 2) == OK
        assert instance.GetEventIndicators(z, count) == OK and z[0] < 0.0


def test_saved_states_keep_events_that_are_pending(exported):
    instance, count = model_exchange(exported("ball"))
    state, z = np.zeros(1, np.uint64), np.zeros((2, count))
    assert instance.SetTime(0.5) == instance.SetContinuousStates(np.array([-1e-12, -2.0]), 2) == OK
    assert instance.EnterEventMode() == instance.GetFMUState(state) == OK
    found = []
    for n in range(2):
        update(instance)
        assert instance.GetEventIndicators(z[n], count) == OK
        found.append(instance.get("x[0]", "x[1]", "count").tolist())
        assert instance.SetFMUState(int(state[0])) == OK
    assert found[0] == found[1] == [0.0, 1.4, 1.0] and (z[0] == z[1]).all()
    assert instance.FreeFMUState(state) == OK


@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_chattering_ends_the_simulation(tmp_path, kind):
    ExportFmu(chattering(), tmp_path / "friction.fmu")
    found = fmpy.simulate_fmu(str(tmp_path / "friction.fmu"), fmi_type=kind, stop_time=5.0, output_interval=0.1)
    assert found["time"][-1] == pytest.approx(0.5, abs=0.11) and abs(found["y"][-1]) < 1e-9


def test_bounces_without_end_end_co_simulation_where_they_accumulate(exported):
    found = fmpy.simulate_fmu(str(exported("ball")), fmi_type="CoSimulation", stop_time=5.0, output_interval=0.1)
    last = np.sqrt(2.0 / GRAVITY) * (1.0 + RESTITUTION) / (1.0 - RESTITUTION)
    assert last - 0.001 < found["time"][-1] < last + 0.101


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ball(calc=height_in_python), r"witness function 'floor' of system '::ball'"),
        (lambda: Ball(update=bounce_in_python), r"the unrestricted update event of system '::ball'"),
        (Particular, r"DoGetWitnessFunctions of system '::ball', which reads its context"),
    ],
)
def test_events_of_python_functions_are_refused_by_path(tmp_path, make, message):
    ball = make()
    ball.set_name("ball")
    with pytest.raises(ValueError, match=rf"(?s){message}.*@native"):
        ExportFmu(ball, tmp_path / "no.fmu")


def test_a_million_steps_take_no_more_memory(exported):
    instance = FmuFile(exported("integrator")).co_simulation().start()
    assert instance.step(0.0, 100.0) == OK
    before, time = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 100.0
    for _ in range(30):
        assert instance.step(time, 4000.0) == OK  # of about 13 steps a second
        time += 4000.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1000  # [KiB]
