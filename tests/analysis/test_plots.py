"""Plots and tables of logs carry the names of what was logged; curves of a level are on the level, all around."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from merganser.analysis import (
    Simulator,
    log_labels,
    log_to_pandas,
    plot_log,
    plot_sublevelset_expression,
    plot_sublevelset_quadratic,
    plot_trajectory,
    save_logs,
)
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.framework.primitives import ConstantValueSource, LogOutput, LogVectorOutput, Sine, VectorLogSink
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant


class Arm(LeafSystem):
    """Two clocks, with names as a plant has them."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorOutputPort("state", 2, self.calc)
        self.DeclareVectorOutputPort("clock", 2, self.calc)

    def GetStateNames(self) -> list[str]:
        return ["elbow_q", "elbow_w"]

    def calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([context.get_time(), -context.get_time()])


@pytest.fixture
def logged() -> Any:
    builder = DiagramBuilder()
    arm = builder.AddNamedSystem("arm", Arm())
    sinks = [LogVectorOutput(arm.get_output_port(i), builder, publish_period=0.5) for i in range(2)]
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    return sinks, simulator.get_context()


def test_lines_are_labelled_with_states_or_ports(logged: Any, tmp_path: Any) -> None:
    (state, clock), context = logged
    axes = plot_log(state, context)
    assert [line.get_label() for line in axes.get_lines()] == ["elbow_q", "elbow_w"]
    np.testing.assert_array_equal(axes.get_lines()[1].get_ydata(), [0.0, -0.5, -1.0])
    assert axes.get_title() == "arm: state" and axes.get_xlabel() == "time [s]"
    assert plot_log(clock, context, axes, names=["a", "b"]) is axes and len(axes.get_lines()) == 4
    assert log_labels(clock) == ["clock[0]", "clock[1]"]
    assert log_labels(VectorLogSink(1)) == ["data"]
    axes.figure.savefig(tmp_path / "log.png")
    with pytest.raises(ValueError, match="logs 2 elements, but there are 1 names"):
        plot_log(clock, context, names=["a"])


def test_names_of_a_plant_are_found_through_exported_ports(_cart_pole: Any) -> None:
    builder, inner = DiagramBuilder(), DiagramBuilder()
    plant = inner.AddSystem(_cart_pole)
    for port in ("state", "cart_pole_state", "net_actuation", "generalized_acceleration", "body_poses"):
        inner.ExportOutput(plant.GetOutputPort(port), f"robot {port}")
    robot = builder.AddSystem(inner.Build())
    sinks = [LogVectorOutput(robot.get_output_port(i), builder) for i in range(4)]
    poses = LogOutput(robot.get_output_port(4), builder)
    builder.Build()
    assert [log_labels(sink) for sink in (*sinks, poses)] == [
        plant.GetStateNames(),
        plant.GetStateNames(plant.GetModelInstanceByName("cart_pole")),
        plant.GetActuatorNames(),
        plant.GetVelocityNames(),
        ["robot body_poses"],
    ]
    assert len(log_labels(sinks[0])) == 4
    with pytest.raises(TypeError, match="draws numbers"):
        plot_log(poses, None)


@pytest.fixture
def _cart_pole() -> Any:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(Path(__file__).resolve().parents[2] / "examples" / "models" / "cart_pole.sdf"))
    plant.Finalize()
    return plant


def test_abstract_values_are_one_column_of_a_table() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    builder = DiagramBuilder()
    source = builder.AddNamedSystem("source", ConstantValueSource(Value({"a": 1})))
    sink = LogOutput(source.get_output_port(), builder, publish_period=0.5)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    table = log_to_pandas(sink, simulator.get_context())
    assert list(table.columns) == ["y0"] and table["y0"][0.5] == {"a": 1} and len(table) == 3


def test_tables_have_a_column_for_each_element(logged: Any) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    (state, _), context = logged
    table = log_to_pandas(state, context)
    assert list(table.columns) == ["elbow_q", "elbow_w"] and table.index.name == "time"
    assert table["elbow_w"][0.5] == -0.5


def test_a_trajectory_is_drawn_with_those_limits_that_are_finite():
    trajectory = PiecewisePolynomial.FirstOrderHold([1.0, 3.0], [[0.0, 1.0], [2.0, 4.0]])
    axes = plot_trajectory(trajectory, -1.0, [np.inf, 5.0], names=["a", "b"])
    a, of_a, b, *of_b = axes.get_lines()
    assert [a.get_label(), b.get_label()] == ["a", "b"]
    assert (a.get_xdata()[0], a.get_xdata()[-1], b.get_ydata()[-1]) == (1.0, 3.0, 4.0)
    assert [line.get_ydata()[0] for line in (of_a, *of_b)] == [-1.0, -1.0, 5.0]
    assert of_a.get_color() == a.get_color() != b.get_color()
    assert plot_trajectory(trajectory, axes=axes) is axes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"lower": [0.0]}, "lower has the shape"), ({"names": ["a"]}, "2 elements, but there are 1 names")],
)
def test_limits_and_names_of_another_size_are_refused(arguments, text):
    trajectory = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], [[0.0, 1.0], [2.0, 4.0]])
    with pytest.raises(ValueError, match=text):
        plot_trajectory(trajectory, **arguments)


def border(polygons: list) -> np.ndarray:
    """The corners of the one polygon, shape [n, 2]."""
    (polygon,) = polygons
    return polygon.get_xy()


def angles_about(points: np.ndarray, center: np.ndarray) -> float:
    """The widest gap between neighbors, as seen from a point."""
    angles = np.sort(np.arctan2(*(points - center).T))
    return float(np.diff(np.append(angles, angles[0] + 2 * np.pi)).max())


def test_ellipses_are_where_the_quadratic_form_is_one() -> None:
    A, b, c = np.array([[2.0, 0.5], [0.1, 1.0]]), np.array([0.3, -0.4]), -0.2
    x = border(plot_sublevelset_quadratic(Figure().add_subplot(), A, b, c, vertices=40, color="g", alpha=0.5))
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", x, A, x) + x @ b + c, 1.0, atol=1e-12)
    assert len(x) in (40, 41) and angles_about(x, -np.linalg.solve(A + A.T, b)) < 0.4


def test_what_is_no_ellipse_is_refused() -> None:
    ax = Figure().add_subplot()
    with pytest.raises(ValueError, match="positive definite"):
        plot_sublevelset_quadratic(ax, np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        plot_sublevelset_quadratic(ax, np.eye(3))
    with pytest.raises(ValueError, match=r"least value is 2\.0, above the level"):
        plot_sublevelset_quadratic(ax, np.eye(2), c=2.0)


def test_levels_of_expressions_are_followed_around_the_origin() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    x, y = symbolic.Variable("x"), symbolic.Variable("y")
    ax = Figure().add_subplot()
    points = border(plot_sublevelset_expression(ax, 2 * x * x + x * y + y * y + 0.2 * x, vertices=30))
    values = [2 * u * u + u * v + v * v + 0.2 * u for u, v in points]
    np.testing.assert_allclose(values, 1.0, atol=1e-12)
    quartic = x**4 + 3 * y**2 + symbolic.sin(x) * y
    points = border(plot_sublevelset_expression(ax, quartic, vertices=30))
    np.testing.assert_allclose([u**4 + 3 * v**2 + np.sin(u) * v for u, v in points], 1.0, atol=1e-9)
    assert angles_about(points, np.zeros(2)) < 0.12
    for expression, text in ((x**3 + y, "not bounded"), (x**4 + y**2 + 2.0, "origin is not"), (x * x, "it has 1")):
        with pytest.raises(ValueError, match=text):
            plot_sublevelset_expression(ax, expression)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_all_vectors_are_saved_as_one_table(format: str, tmp_path: Path) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    builder = DiagramBuilder()
    sine = builder.AddNamedSystem("sine", Sine([1.0, 2.0], [3.0, 3.0], [0.0, 0.0]))
    fast = LogVectorOutput(sine.get_output_port(0), builder, 0.1)
    slow = LogVectorOutput(sine.get_output_port(1), builder, 0.2)
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.4)
    path = tmp_path / f"run.{format}"
    save_logs(diagram, simulator.get_context(), path)
    if format == "csv":
        header, *rows = [line.split(",") for line in path.read_text().splitlines()]
        columns = {name: [float(cell) if cell else None for cell in cells] for name, *cells in zip(header, *rows)}
    else:
        import pyarrow.parquet

        columns = pyarrow.parquet.read_table(path).to_pydict()
    assert list(columns) == ["time", *(f"sine/{port}[{n}]" for port in ("y0", "y1") for n in range(2))]
    log = fast.FindLog(simulator.get_context())
    assert columns["time"] == log.sample_times().tolist() and columns["sine/y0[1]"] == log.data()[1].tolist()
    rates = slow.FindLog(simulator.get_context()).data()[0].tolist()
    assert columns["sine/y1[0]"][::2] == rates and columns["sine/y1[0]"][1::2] == [None] * (len(rates) - 1)


def test_a_table_of_nothing_or_of_another_format_is_refused(tmp_path: Path) -> None:
    source = ConstantValueSource(Value("words"))
    context = source.CreateDefaultContext()
    with pytest.raises(ValueError, match=r"writes \.csv and \.parquet, not 'run\.xlsx'"):
        save_logs(source, context, tmp_path / "run.xlsx")
    with pytest.raises(ValueError, match="has no VectorLogSink"):
        save_logs(source, context, tmp_path / "run.csv")


def test_the_extra_of_parquet_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = DiagramBuilder()
    LogVectorOutput(builder.AddSystem(Sine(1.0, 1.0, 0.0, 1)).get_output_port(0), builder)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.1)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow for \.parquet: pip install 'merganser\[logs\]'"):
        save_logs(simulator.get_system(), simulator.get_context(), tmp_path / "run.parquet")
