"""FmuSystem: model exchange and co-simulation against closed forms, copies of Contexts, derivatives, bad input."""

from __future__ import annotations

import logging
import math
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_fmu import make_fmu

from merganser.analysis import InitializeParams, Simulator
from merganser.analysis.fmi import FmuSystem
from merganser.framework import DiagramBuilder, InputPortSelection, OutputPortSelection
from merganser.framework.primitives import FirstOrderTaylorApproximation, Integrator, LogVectorOutput, Sine


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fmu")


@pytest.fixture
def tank(folder: Path) -> Path:
    return make_fmu(folder)


def level(time: float, start: float = 0.0, rate: float = 2.0, k: float = 0.5) -> float:
    """x(t) of x' = -k x + rate."""
    return start * math.exp(-k * time) + rate / k * (1.0 - math.exp(-k * time))


def end_of(system: FmuSystem, time: float) -> Simulator:
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.Initialize()
    simulator.AdvanceTo(time)
    return simulator


def output(system: FmuSystem, simulator: Simulator, name: str) -> float:
    return float(system.GetOutputPort(name).Eval(simulator.get_context())[0])


def test_model_exchange_follows_the_closed_form(tank: Path) -> None:
    system = FmuSystem(tank)
    simulator = end_of(system, 1.2)
    assert output(system, simulator, "x") == pytest.approx(level(1.2), abs=1e-8)
    assert output(system, simulator, "through") == pytest.approx(level(1.2) + 20.0, abs=1e-8)


def test_indicators_and_time_events_are_found(tank: Path) -> None:
    system = FmuSystem(tank)
    simulator = Simulator(system)
    passage = -2.0 * math.log(1.0 - 1.0 / 4.0)  # where x = 1
    simulator.AdvanceTo(passage - 1e-3)
    assert output(system, simulator, "count") == 0.0
    simulator.AdvanceTo(1.7)
    assert [output(system, simulator, name) for name in ("count", "halves")] == [1.0, 3.0]


def test_co_simulation_steps_as_a_discrete_system(tank: Path) -> None:
    system = FmuSystem(tank, kind="cs", step=0.25)
    simulator = end_of(system, 1.2)
    assert output(system, simulator, "x") == pytest.approx(level(1.25), abs=1e-12)  # the step from 1.0 s on
    assert FmuSystem(tank, kind="cs").GetOutputPort("x").size() == 1  # with the step of the file


def test_inputs_come_from_other_blocks(tank: Path) -> None:
    builder = DiagramBuilder()
    system = builder.AddNamedSystem("tank", FmuSystem(tank))
    sine = builder.AddSystem(Sine(1.0, 3.0, 0.0, 1))
    builder.Connect(sine.get_output_port(0), system.GetInputPort("u"))
    log = LogVectorOutput(system.GetOutputPort("x"), builder, publish_period=0.1)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.AdvanceTo(2.0)
    found = log.FindLog(simulator.get_context())
    t, k, w = found.sample_times(), 0.5, 3.0
    exact = (k * np.sin(w * t) - w * np.cos(w * t) + w * np.exp(-k * t)) / (k * k + w * w)
    np.testing.assert_allclose(found.data()[0], exact, atol=1e-7)


def test_an_output_of_the_state_alone_may_be_fed_back(tank: Path) -> None:
    builder = DiagramBuilder()
    system = builder.AddSystem(FmuSystem(tank))
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(system.GetOutputPort("x"), system.GetInputPort("u"))
    builder.Connect(system.GetOutputPort("through"), integrator.get_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    system.GetMyMutableContextFromRoot(context).SetContinuousState([1.0])
    assert diagram.EvalTimeDerivatives(context).CopyToVector() == pytest.approx([0.5, 11.0])
    assert system.GetDirectFeedthroughs() == [(0, 1), (1, 1)]


@pytest.mark.parametrize(("kind", "step"), [("me", None), ("cs", 0.125)])
def test_copies_of_a_context_go_on_by_themselves(tank: Path, kind: str, step: float | None) -> None:
    system = FmuSystem(tank, kind=kind, step=step)
    simulator = end_of(system, 0.9)
    copy = simulator.get_context().Clone()
    simulator.AdvanceTo(2.3)
    other = Simulator(system, copy)
    other.get_mutable_integrator().set_target_accuracy(1e-9)
    other.Initialize(InitializeParams(suppress_initialization_events=True))
    other.AdvanceTo(2.3)
    for name in ("x", "count", "halves"):
        assert output(system, other, name) == pytest.approx(output(system, simulator, name), abs=1e-9)


def test_without_copies_an_old_state_is_refused(folder: Path) -> None:
    system = FmuSystem(make_fmu(folder, can_copy=False), kind="cs", step=0.125)
    simulator = end_of(system, 0.5)
    copy = simulator.get_context().Clone()
    simulator.AdvanceTo(1.0)
    other = Simulator(system, copy)
    with pytest.raises(RuntimeError, match=r"gone on from the state of this Context at 0\.5 s.*canGetAndSetFMUState"):
        other.Initialize(InitializeParams(suppress_initialization_events=True))
        other.AdvanceTo(1.0)
    assert end_of(system, 1.1).get_context().get_time() == 1.1


def test_initialization_keeps_the_users_state_and_time(tank: Path) -> None:
    system = FmuSystem(tank)
    simulator = Simulator(system)
    context = simulator.get_mutable_context()
    context.SetTime(3.2)
    context.SetContinuousState([0.25])
    simulator.Initialize()
    assert output(system, simulator, "halves") == 6.0
    assert output(system, simulator, "x") == 0.25


def test_parameters_are_given_by_name_or_context(tank: Path) -> None:
    system = FmuSystem(tank, parameters={"k": 0.25, "vector": [1.0, 2.0], "begin": 5}, outputs=["sum"])
    assert system.GetParameterNames() == ["k", "gain", "vector"]
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    system.SetParameter(simulator.get_mutable_context(), "vector", [5.0, 6.0])
    simulator.AdvanceTo(1.0)
    assert output(system, simulator, "sum") == 11.0
    assert output(system, simulator, "count") == 6.0  # five at the beginning
    system.SetParameter(simulator.get_mutable_context(), "gain", 3.0)  # which is tunable
    simulator.AdvanceTo(1.5)
    assert output(system, simulator, "x") == pytest.approx(level(0.5, level(1.0, k=0.25), 6.0, 0.25), abs=1e-7)
    system.SetParameter(simulator.get_mutable_context(), "k", 1.0)
    with pytest.raises(RuntimeError, match=r"'k'\] are not tunable"):
        simulator.AdvanceTo(2.0)


def test_it_is_linearized_by_its_own_derivatives(tank: Path) -> None:
    system = FmuSystem(tank)
    context = system.CreateDefaultContext()
    system.GetInputPort("u").FixValue(context, [1.0])
    linear = FirstOrderTaylorApproximation(
        system, context, system.GetInputPort("u").get_index(), system.GetOutputPort("through").get_index()
    )
    assert [m.tolist() for m in (linear.A(), linear.B(), linear.C(), linear.D())] == [
        [[-0.5]], [[1.0]], [[1.0]], [[10.0]],
    ]  # fmt: skip


def test_co_simulation_cannot_be_linearized(tank: Path) -> None:
    system = FmuSystem(tank, kind="cs")
    with pytest.raises(RuntimeError, match="abstract state"):
        FirstOrderTaylorApproximation(
            system, system.CreateDefaultContext(), InputPortSelection.kNoInput, OutputPortSelection.kNoOutput
        )


def test_a_crash_of_an_isolated_fmu_is_an_error(tank: Path) -> None:
    system = FmuSystem(tank, isolated=True)
    simulator = Simulator(system)
    simulator.AdvanceTo(0.3)
    assert output(system, simulator, "x") == pytest.approx(level(0.3), abs=1e-3)
    system.GetInputPort("crash").FixValue(simulator.get_mutable_context(), [1.0])
    with pytest.raises(RuntimeError, match=r"evaluation failed at time .*its process has ended with exit code -6"):
        simulator.AdvanceTo(0.6)


def test_what_the_fmu_says_is_logged_and_in_errors(tank: Path, caplog: pytest.LogCaptureFixture) -> None:
    system = FmuSystem(tank)
    system.set_name("boiler")
    simulator = Simulator(system)
    system.SetParameter(simulator.get_mutable_context(), "k", -1.0)
    with (
        caplog.at_level(logging.WARNING, "merganser.fmi"),
        pytest.raises(
            RuntimeError,
            match=r"system '::boiler': initialization failed.*EnterInitializationMode.*It says: k must be pos",
        ),
    ):
        simulator.Initialize()
    assert "boiler: k must be positive" in caplog.text


def test_units_are_those_of_ports(tank: Path) -> None:
    assert FmuSystem(tank).GetOutputPort("x").get_units() == "kg*m**2"


def test_a_copy_through_pickle_is_another_unit(tank: Path) -> None:
    system = pickle.loads(pickle.dumps(FmuSystem(tank)))
    assert output(system, end_of(system, 1.0), "x") == pytest.approx(level(1.0), abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "discrete"}, "kind must be 'auto', 'me' or 'cs'"),
        ({"kind": "me", "step": 0.1}, "a step is for co-simulation"),
        ({"kind": "cs", "step": -1.0}, "positive step"),
        ({"accuracy": 2.0}, "between 0 and 1"),
        ({"parameters": {"K": 1.0}}, "has no parameter 'K' that can be set; it has"),
        ({"parameters": {"vector": 1.0}}, "'vector' has 2 elements, got 1"),
        ({"parameters": {"gain": math.nan}}, "must be finite"),
        ({"parameters": {"begin": 0.5}}, "of type Int32"),
        ({"outputs": ["y"]}, "no variable 'y'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tank: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FmuSystem(tank, **arguments)  # type: ignore[arg-type]


def test_kinds_that_the_fmu_does_not_offer_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="offers model exchange only, not co-simulation"):
        FmuSystem(make_fmu(folder, without="CoSimulation"), kind="cs")


def test_files_that_are_no_fmu_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fmpy", reason="the extra `fmi` is not installed")
    for name, files, message in (
        ("empty", {}, "no modelDescription.xml"),
        ("torn", {"modelDescription.xml": "<fmi"}, "cannot be read"),
        ("outside", {"../outside.txt": "", "modelDescription.xml": ""}, r"'../outside.txt' is a link or leaves"),
    ):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            for path, text in files.items():
                file.writestr(path, text)
        with pytest.raises(ValueError, match=message):
            FmuSystem(tmp_path / name)
    assert not (tmp_path.parent / "outside.txt").exists()
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(ValueError, match="no zip file"):
        FmuSystem(tmp_path / "text")
    with pytest.raises(FileNotFoundError, match=r"nothing\.fmu"):
        FmuSystem(tmp_path / "nothing.fmu")
