"""Logs as plots and tables, labelled with the names of ports and states; trajectories with their limits.

Sublevel sets of functions of two variables, filled by matplotlib: regions of attraction, say.
"""

from __future__ import annotations

import csv
import importlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, Diagram, OutputPort, PortDataType, System
from merganser.framework.primitives import AbstractLogSink, VectorLogSink
from merganser.framework.trajectories import Trajectory

if TYPE_CHECKING:
    from collections.abc import Sequence


# Ports of a plant, by name or its end, and the method that names their elements.
_NAMING = (
    ("state", "GetStateNames"),
    ("net_actuation", "GetActuatorNames"),
    ("generalized_acceleration", "GetVelocityNames"),
)


def plot_log(sink: VectorLogSink, context: Context, axes: Any = None, names: Sequence[str] | None = None) -> Any:
    """Plots what a sink has logged, one line for each element.

    Args:
        sink: in a diagram, or alone.
        context: the root context.
        axes: of matplotlib; a new figure's if None.
        names: of the elements; by default those of `log_labels`.

    Returns:
        The axes; save the picture by `axes.figure.savefig(path)`.

    Raises:
        TypeError: the sink logs abstract values.
        ValueError: there are not as many names as elements.
    """
    if not isinstance(sink, VectorLogSink):
        raise TypeError(f"plot_log draws numbers, which a VectorLogSink logs; got a {type(sink).__name__}.")
    log, labels = sink.FindLog(context), _checked_names(sink, names)
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(layout="constrained").subplots()
    for row, label in zip(log.data(), labels):
        axes.plot(log.sample_times(), row, label=label)
    axes.set(title=_source_name(sink), xlabel="time [s]")
    if units := _units(sink):
        axes.set_ylabel(f"[{units}]")
    axes.grid(alpha=0.3)
    if labels:
        axes.legend()
    return axes


def plot_trajectory(
    trajectory: Trajectory,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    axes: Any = None,
    names: Sequence[str] | None = None,
    num_times: int = 200,
) -> Any:
    """Plots a trajectory of vectors, one line for each element, and its limits as dashed lines of the same colour.

    Args:
        trajectory: of vectors, shape [n, 1].
        lower, upper: limits, shape [n] or one number; infinite ones and None are not drawn.
        axes: of matplotlib; a new figure's if None.
        names: of the elements; by default their numbers.
        num_times: at how many times it is evaluated.

    Returns:
        The axes; save the picture by `axes.figure.savefig(path)`.

    Raises:
        ValueError: values are no vectors, or limits or names have another size.
    """
    n = trajectory.rows()
    if trajectory.cols() != 1:
        raise ValueError(f"plot_trajectory draws vectors; the values have the shape [{n}, {trajectory.cols()}].")
    labels = [str(i) for i in range(n)] if names is None else list(names)
    if len(labels) != n:
        raise ValueError(f"plot_trajectory: the values have {n} elements, but there are {len(labels)} names.")
    limits = [_limits(kind, given, n) for kind, given in (("lower", lower), ("upper", upper)) if given is not None]
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(layout="constrained").subplots()
    times = np.linspace(trajectory.start_time(), trajectory.end_time(), num_times)
    for i, (row, label) in enumerate(zip(trajectory.vector_values(times), labels)):
        (line,) = axes.plot(times, row, label=label)
        for values in limits:
            if np.isfinite(values[i]):
                axes.axhline(values[i], color=line.get_color(), linestyle="--", linewidth=0.8)
    axes.set(xlabel="time [s]")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes


def _limits(kind: str, given: ArrayLike, size: int) -> Any:
    values = np.asarray(given, float)
    if values.shape not in ((), (size,)):
        raise ValueError(f"plot_trajectory: {kind} has the shape {values.shape}, expected [{size}].")
    return np.broadcast_to(values, size)


def log_to_pandas(sink: VectorLogSink | AbstractLogSink, context: Context, names: Sequence[str] | None = None) -> Any:
    """Returns what a sink has logged as a pandas.DataFrame, indexed by time [s]; a column for each element.

    Each abstract value is one column. Units of the port are in `attrs["units"]`, and in brackets after the names that
    are given by default, so that a file of `to_csv` has them, too.

    Args:
        sink: in a diagram, or alone.
        context: the root context.
        names: of the columns; by default those of `log_labels`.

    Raises:
        ImportError: pandas is not installed.
        ValueError: there are not as many names as elements.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("log_to_pandas needs pandas: pip install pandas.") from error
    log: Any = sink.FindLog(context)
    columns, units = _checked_names(sink, names), _units(sink)
    if units and names is None:
        columns = [f"{column} [{units}]" for column in columns]
    index = pandas.Index(log.sample_times().copy(), name="time")
    if isinstance(sink, AbstractLogSink):
        return pandas.DataFrame({columns[0]: pandas.Series(log.data(), index=index, dtype=object)})
    frame = pandas.DataFrame(log.data().T.copy(), index=index, columns=columns)
    if units:
        frame.attrs["units"] = units
    return frame


def save_logs(system: System, context: Context, path: str | os.PathLike[str]) -> None:
    """Writes all vectors that the sinks of a diagram have logged as one table, .csv or .parquet.

    The first column is the time [s]; the others are named by the system, and by the element as `log_labels` does.
    Where sinks have samples at other times, cells are empty.

    Args:
        system: a diagram, or a sink alone.
        context: its root context.
        path: of the file; its extension says which format.

    Raises:
        ValueError: the extension is another one, or the diagram has no VectorLogSink.
        ImportError: the file is .parquet, and pyarrow is not installed (extra `logs`).
    """
    where = Path(path)
    if where.suffix not in (".csv", ".parquet"):
        raise ValueError(f"save_logs writes .csv and .parquet, not '{where.name}'.")
    sinks = [each for each in _leaf_systems(system) if isinstance(each, VectorLogSink)]
    if not sinks:
        raise ValueError(f"save_logs: '{system.GetSystemPathname()}' has no VectorLogSink; add one before Build.")
    logs = [sink.FindLog(context) for sink in sinks]
    times = np.unique(np.concatenate([log.sample_times() for log in logs]))
    table = {"time": times}
    for sink, log in zip(sinks, logs):
        rows = np.searchsorted(times, log.sample_times())  # of several samples at a time, the last one counts
        for label, values in zip(log_labels(sink), log.data()):
            name = f"{_source_name(sink).partition(': ')[0]}/{label}"
            column = table[name if name not in table else f"{sink.get_name()}/{label}"] = np.full(len(times), np.nan)
            column[rows] = values
    if where.suffix == ".parquet":
        try:
            arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise ImportError("save_logs needs pyarrow for .parquet: pip install 'merganser[logs]'.") from error
        nullable = {name: arrow.array(values, mask=np.isnan(values)) for name, values in table.items()}
        parquet.write_table(arrow.table(nullable), where)
        return
    with where.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*(values.tolist() for values in table.values())):
            writer.writerow(["" if value != value else repr(value) for value in row])


def _leaf_systems(system: System) -> list[System]:
    if not isinstance(system, Diagram):
        return [system]
    return [leaf for part in system.GetSystems() for leaf in _leaf_systems(part)]


def log_labels(sink: VectorLogSink | AbstractLogSink) -> list[str]:
    """Names of the elements that a sink logs.

    Those of a plant's state, velocities or actuators, of all model instances or of one, where the port that it logs
    gives that, also by way of ports that diagrams export; else the name of the port, with the number of the element in
    brackets if there are several.
    """
    port, size = _source(sink), 1 if isinstance(sink, AbstractLogSink) else sink.get_input_port().size()
    if port is None:
        return [f"data[{i}]" for i in range(size)] if size != 1 else ["data"]
    return port_labels(port)


def port_labels(port: OutputPort) -> list[str]:
    """Names of the elements of a port, as `log_labels` gives them; one name for an abstract value."""
    size = 1 if port.get_data_type() is PortDataType.kAbstractValued else port.size()
    origin = origin_of(port)
    names = _names_of_plant(origin.get_system(), origin.get_name())
    if len(names) == size:
        return names
    name = port.get_name()
    return [f"{name}[{i}]" for i in range(size)] if size != 1 else [name]


def _names_of_plant(system: Any, port: str) -> list[str]:
    """Names of the elements of a plant's port; empty if it has none or the system is not a plant."""
    for suffix, method in _NAMING:
        if not hasattr(system, method):
            continue
        if port == suffix:
            return [str(name) for name in getattr(system, method)()]
        instance = port.removesuffix(f"_{suffix}")
        if instance != port and system.HasModelInstanceNamed(instance):
            return [str(name) for name in getattr(system, method)(system.GetModelInstanceByName(instance))]
    return []


def origin_of(port: Any) -> Any:
    """The port of the leaf system from which a port's value comes."""
    while isinstance(port.get_system(), Diagram):
        system, index = port.get_system().get_output_port_locator(port.get_index())
        port = system.get_output_port(index)
    return port


def _checked_names(sink: VectorLogSink | AbstractLogSink, names: Sequence[str] | None) -> list[str]:
    size = 1 if isinstance(sink, AbstractLogSink) else sink.get_input_port().size()
    result = log_labels(sink) if names is None else list(names)
    if len(result) != size:
        raise ValueError(f"Sink '{sink.GetSystemPathname()}' logs {size} elements, but there are {len(result)} names.")
    return result


def _source(sink: VectorLogSink | AbstractLogSink) -> Any:
    """The output port that the sink logs; None if it is not wired in a diagram of its own."""
    diagram = sink._sys_parent
    wire = None if diagram is None else diagram.connection_map().get((sink, sink.get_input_port().get_index()))
    return None if wire is None else wire[0].get_output_port(wire[1])


def _units(sink: VectorLogSink | AbstractLogSink) -> str | None:
    """The units of what a sink logs, those of the port that feeds it if it has some."""
    port, own = _source(sink), sink.get_input_port()
    return (None if port is None else port.get_units()) or own.get_units()


def _source_name(sink: VectorLogSink) -> str:
    port = _source(sink)
    return sink.get_name() if port is None else f"{port.get_system().get_name()}: {port.get_name()}"


Array = NDArray[np.float64]

_FIRST, _FARTHEST, _GROWTH = 1e-3, 1e6, 1.1  # radii at which a level is looked for


def plot_sublevelset_quadratic(
    ax: Any, A: ArrayLike, b: ArrayLike = (0.0, 0.0), c: float = 0.0, vertices: int = 51, **kwargs: Any
) -> Any:
    """Fills the ellipse of all x with x'Ax + b'x + c <= 1.

    Args:
        ax: axes of matplotlib.
        A: positive definite, shape [2, 2]; of a matrix that is not symmetric the symmetric part counts.
        b: shape [2].
        c: a number.
        vertices: number of points on the ellipse.
        kwargs: for matplotlib's fill.

    Returns:
        What matplotlib's fill returns.

    Raises:
        ValueError: A or b has another shape, or A is not positive definite; nothing is below the level.
    """
    matrix, vector = np.asarray(A, dtype=np.float64), np.asarray(b, dtype=np.float64).ravel()
    if matrix.shape != (2, 2) or vector.shape != (2,):
        raise ValueError(
            f"plot_sublevelset_quadratic(): A must have the shape (2, 2) and b (2,); given {matrix.shape} and "
            f"{vector.shape}."
        )
    H = 0.5 * (matrix + matrix.T)
    try:
        L = np.linalg.cholesky(H)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"plot_sublevelset_quadratic(): A must be positive definite, so that the set is an ellipse; given "
            f"{matrix.tolist()}."
        ) from error
    # f = (x - m)' H (x - m) + f(m) with the minimum at m; on the level, y = L'(x - m) is on a circle.
    m = np.linalg.solve(-2.0 * H, vector)
    least = c - m @ H @ m
    if least > 1.0:
        raise ValueError(f"plot_sublevelset_quadratic(): the least value is {least}, above the level, 1.")
    angles = np.linspace(0.0, 2.0 * math.pi, vertices)
    circle = math.sqrt(1.0 - least) * np.array([np.sin(angles), np.cos(angles)])
    x = m[:, np.newaxis] + np.linalg.solve(L.T, circle)
    return ax.fill(x[0], x[1], **kwargs)


def plot_sublevelset_expression(ax: Any, e: Any, vertices: int = 51, **kwargs: Any) -> Any:
    """Fills the set around the origin in which an expression of two variables is at most 1.

    The variables are those of `e.GetVariables()`, in this order, along the axes of the plot. Of a set that is not
    star-shaped about the origin, what the origin sees is filled.

    Args:
        ax: axes of matplotlib.
        e: an Expression.
        vertices: number of directions from which points of the border are looked for, and their opposites.
        kwargs: for matplotlib's fill.

    Returns:
        What matplotlib's fill returns.

    Raises:
        ValueError: there are not two variables; the origin is not in the set, or the set is not bounded.
    """
    from merganser.framework.symbolic import Evaluate, Jacobian

    x = list(e.GetVariables())
    if len(x) != 2:
        raise ValueError(f"plot_sublevelset_expression() takes an expression in two variables; it has {len(x)}: {e}.")
    gradient = e.Jacobian(x)
    hessian = Jacobian(gradient, x)
    origin = dict.fromkeys(x, 0.0)
    if not any(len(list(entry.GetVariables())) for entry in np.ravel(hessian)):
        A, b = 0.5 * Evaluate(hessian, origin), Evaluate(gradient, origin)
        return plot_sublevelset_quadratic(ax, A, b, e.Evaluate(origin), vertices, **kwargs)
    angles = np.linspace(0.0, math.pi, vertices)
    directions = np.array([[math.cos(angle), math.sin(angle)] for angle in [*angles, *(angles + math.pi)]])
    border = np.array([_on_border(direction, lambda p: e.Evaluate(dict(zip(x, p))) - 1.0) for direction in directions])
    return ax.fill(border[:, 0], border[:, 1], **kwargs)


def _on_border(direction: Array, excess_at: Callable[[Array], float]) -> Array:
    """The point in a direction from the origin where a function first becomes positive, shape [2].

    Raises:
        ValueError: it is positive at the origin, or nowhere.
    """
    from scipy.optimize import brentq

    def excess(distance: float) -> float:
        return excess_at(distance * direction)

    if excess(0.0) > 0.0:
        raise ValueError("plot_sublevelset_expression(): the origin is not in the set.")
    inside, outside = 0.0, _FIRST
    while excess(outside) <= 0.0:
        inside, outside = outside, _GROWTH * outside
        if outside > _FARTHEST:
            raise ValueError(f"plot_sublevelset_expression(): the set is not bounded; it reaches beyond {_FARTHEST:g}.")
    return np.asarray(brentq(excess, inside, outside) * direction)
