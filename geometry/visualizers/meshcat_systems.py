"""Systems beside the scene of a Meshcat: poses that users set by sliders, and plots of signals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import (
    AbstractValue,
    BasicVector,
    Context,
    DiagramBuilder,
    LeafSystem,
    OutputPort,
    System,
    Value,
)
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry.visualizers.meshcat import Meshcat, declare_drawing, repeat_until_stopped

_NAMES = ("roll", "pitch", "yaw", "x", "y", "z")
_LOWER = (-math.pi, -math.pi, -math.pi, -1.0, -1.0, -1.0)
_UPPER = (math.pi, math.pi, math.pi, 1.0, 1.0, 1.0)
_STEP = (0.01,) * 6
_DECREMENT = ("KeyQ", "KeyS", "KeyA", "KeyJ", "KeyK", "KeyU")
_INCREMENT = ("KeyE", "KeyW", "KeyD", "KeyL", "KeyI", "KeyO")
_BUTTON = "Stop MeshcatPoseSliders"
_IDENTITY = RigidTransform()


class MeshcatPoseSliders(LeafSystem):
    """Sliders for roll, pitch, yaw, x, y and z [rad, m] in the page of a Meshcat, and the pose that they make.

    The output is what the sliders say whenever it is asked for, also within one time; where that matters, put a
    ZeroOrderHold behind it. By default keys on the left (Q, W, E, A, S, D) turn, and keys on the right (U, I, O, J, K,
    L) shift.

    Ports:
        input `pose`: RigidTransform at the start of a simulation, instead of `initial_pose`; need not be connected.
        output `pose`: RigidTransform.

    Args:
        meshcat: where the sliders are.
        initial_pose: to begin with.
        lower_limit: of each slider, shape [6].
        upper_limit: of each slider, shape [6].
        step: of each slider, shape [6].
        decrement_keycodes: keys that take each slider one step down, see `Meshcat.AddButton`; empty for none.
        increment_keycodes: keys that take each one step up.
        prefix: if not empty, precedes the names of sliders, with an underscore.
        visible: whether there is a slider for each, or it stays as it was at the beginning, shape [6].

    Raises:
        TypeError: an argument has another type or shape.
        RuntimeError: a lower limit is above the upper one; keycodes are not six; sliders have these names already.
    """

    def __init__(
        self,
        meshcat: Meshcat,
        initial_pose: RigidTransform = _IDENTITY,
        lower_limit: ArrayLike = _LOWER,
        upper_limit: ArrayLike = _UPPER,
        step: ArrayLike = _STEP,
        decrement_keycodes: Sequence[str] = _DECREMENT,
        increment_keycodes: Sequence[str] = _INCREMENT,
        prefix: str = "",
        visible: ArrayLike = (True,) * 6,
    ) -> None:
        super().__init__()
        if not isinstance(meshcat, Meshcat) or not isinstance(initial_pose, RigidTransform):
            raise TypeError(
                f"MeshcatPoseSliders takes a Meshcat and a RigidTransform; given {meshcat!r} and {initial_pose!r}."
            )
        low, high, steps = (
            _six(name, given) for name, given in
            (("lower_limit", lower_limit), ("upper_limit", upper_limit), ("step", step))
        )  # fmt: skip
        if not (low <= high).all():
            raise RuntimeError(
                f"MeshcatPoseSliders: lower_limit must not be above upper_limit; given {low.tolist()} and "
                f"{high.tolist()}."
            )
        keys = [
            _keycodes(name, given) for name, given in
            (("decrement_keycodes", decrement_keycodes), ("increment_keycodes", increment_keycodes))
        ]  # fmt: skip
        self._meshcat = meshcat
        self._values = _numbers_of(initial_pose)  # where there is no slider
        self._names: dict[int, str] = {}  # of sliders, by number
        self._pose_port = self.DeclareAbstractInputPort("pose", Value(RigidTransform()))
        output = self.DeclareAbstractOutputPort("pose", _allocate, self._calc_pose, {self.time_ticket()})
        output.disable_caching_by_default()
        self.DeclareInitializationPublishEvent(self._begin)
        shown = _six("visible", visible).astype(bool)
        try:
            for i in np.flatnonzero(shown).tolist():
                name = f"{prefix}_{_NAMES[i]}" if prefix else _NAMES[i]
                meshcat.AddSlider(name, low[i], high[i], steps[i], self._values[i], keys[0][i], keys[1][i])
                self._names[i] = name
        except BaseException:
            self.Delete()
            raise

    def Delete(self) -> None:
        """Removes the sliders; from now on the output is the pose of the beginning, or that last set by `SetPose`."""
        for name in self._names.values():
            self._meshcat.DeleteSlider(name, strict=False)
        self._names = {}

    def SetPose(self, pose: RigidTransform) -> None:
        """Moves the sliders to a pose, which also stays when they are deleted.

        Raises:
            TypeError: it is no RigidTransform.
            RuntimeError: a number of it is not finite.
        """
        if not isinstance(pose, RigidTransform):
            raise TypeError(f"MeshcatPoseSliders.SetPose() takes a RigidTransform; given {pose!r}.")
        self._values = _numbers_of(pose)
        for i, name in self._names.items():
            self._meshcat.SetSliderValue(name, self._values[i])

    def Run(
        self, system: System, context: Context, timeout: float | None = None, stop_button_keycode: str = "Escape"
    ) -> RigidTransform:
        """Publishes a system whenever a slider is moved, until the button 'Stop MeshcatPoseSliders' is clicked.

        Args:
            system: this one, or the outermost diagram around it.
            context: of that system.
            timeout: after which it ends without a click [s].
            stop_button_keycode: a key that clicks the button, too; empty for none.

        Returns:
            The pose in the end.

        Raises:
            ValueError: the context is a part itself, or of another system.
        """
        system.ValidateContext(context)
        mine: Any = context if system is self else self.GetMyContextFromRoot(context)
        pose = RigidTransform()
        shown: NDArray[np.float64] | None = None

        def publish_if_moved() -> None:
            nonlocal pose, shown
            values = self._now()
            if shown is None or not np.array_equal(values, shown):
                context.SetTime(context.get_time())  # what depends on the output is to be computed again
                system.ForcedPublish(context)
                pose, shown = self.get_output_port().Eval(mine), values

        repeat_until_stopped(publish_if_moved, self._meshcat, _BUTTON, stop_button_keycode, timeout)
        return pose

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._pose_port.HasValue(context):
            self.SetPose(self._pose_port.Eval(context))

    def _now(self) -> NDArray[np.float64]:
        """Roll, pitch, yaw, x, y and z of now, shape [6]."""
        values = self._values.copy()
        for i, name in self._names.items():
            values[i] = self._meshcat.GetSliderValue(name)
        return values

    def _calc_pose(self, context: Context, output: AbstractValue) -> None:
        values = self._now()
        pose = RigidTransform(RollPitchYaw(values[:3]), values[3:])
        scalar = scalar_of(self)
        output.set_value(pose if scalar is float else pose.cast[scalar]())


def _allocate() -> Value:
    return Value(RigidTransform())


def _numbers_of(pose: RigidTransform) -> NDArray[np.float64]:
    """Roll, pitch, yaw, x, y and z of a pose, shape [6]."""
    X = cast_array(pose.GetAsMatrix4(), float)
    if not np.isfinite(X).all():
        raise RuntimeError(f"MeshcatPoseSliders: the pose must be finite; given {pose!r}.")
    return np.concatenate([RollPitchYaw(RigidTransform(X).rotation()).vector(), X[:3, 3]])


def _six(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Six numbers.

    Raises:
        TypeError: they are not.
    """
    try:
        numbers = np.asarray(given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != len(_NAMES):
        raise TypeError(f"MeshcatPoseSliders: {name} must be six numbers, of {', '.join(_NAMES)}; given {given!r}.")
    return numbers


def _keycodes(name: str, given: Sequence[str]) -> list[str]:
    """Six keycodes, or six times none.

    Raises:
        RuntimeError: there are others.
    """
    codes = list(given) or [""] * len(_NAMES)
    if len(codes) != len(_NAMES):
        raise RuntimeError(f"MeshcatPoseSliders: {name} must be six, or none; given {given!r}.")
    return codes


class MeshcatSignalPlot(LeafSystem):
    """Plots elements of a vector over time in the pages of a Meshcat; users of a page choose which. Beyond pydrake.

    A sample is taken when a page waits for a picture, as pictures are.

    Ports:
        input `signals`: shape [size].

    Args:
        meshcat: in whose pages.
        title: the heading of the plot.
        names: of the elements that can be seen.
        size: of the input; by default as many as there are names.
        elements: which of the input have these names; by default the first ones.
        shown, span, is_folded: as of `Meshcat.set_plot`.
        publish_period: simulated time between two samples [s]; 0 for one after each step.

    Raises:
        TypeError: an argument has another type.
        ValueError: names and elements do not go together; as of `Meshcat.set_plot`.
        RuntimeError: the period is negative.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        meshcat: Meshcat,
        title: str,
        names: Sequence[str],
        *,
        size: int | None = None,
        elements: Sequence[int] | None = None,
        shown: Sequence[str] | None = None,
        span: float = 10.0,
        is_folded: bool = False,
        publish_period: float = 1 / 32.0,
    ) -> None:
        super().__init__()
        require_types("MeshcatSignalPlot", meshcat=(meshcat, Meshcat))
        size = len(names) if size is None else size
        self._elements = np.arange(len(names)) if elements is None else np.array(elements, dtype=np.intp)
        if len(self._elements) != len(names) or not np.all((self._elements >= 0) & (self._elements < size)):
            raise ValueError(
                f"MeshcatSignalPlot: {len(names)} names need as many elements of an input of {size}, numbered from 0; "
                f"given {self._elements.tolist()}."
            )
        if not (publish_period >= 0 and math.isfinite(publish_period)):
            raise RuntimeError(f"MeshcatSignalPlot: publish_period must not be negative; given {publish_period}.")
        self._meshcat, self._title = meshcat, title
        self._port = self.DeclareVectorInputPort("signals", BasicVector(size))
        meshcat.set_plot(title, names, shown, span, is_folded)
        self._demand = declare_drawing(self, meshcat, publish_period, self._draw)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        port: OutputPort,
        meshcat: Meshcat,
        title: str,
        names: Sequence[str] | None = None,
        *,
        elements: Sequence[int] | None = None,
        shown: Sequence[str] | None = None,
        span: float = 10.0,
        is_folded: bool = False,
        publish_period: float = 1 / 32.0,
    ) -> MeshcatSignalPlot:
        """Adds a plot of a port's signals to a diagram.

        Args:
            builder: of the diagram.
            port: whose signals.
            names: by default those of the port's elements, counted from 0.
            meshcat, title, elements, shown, span, is_folded, publish_period: as of the class.

        Returns:
            The system.
        """
        require_types("MeshcatSignalPlot.AddToBuilder", builder=(builder, DiagramBuilder), port=(port, OutputPort))
        chosen = range(port.size()) if elements is None else elements
        plot = MeshcatSignalPlot(
            meshcat, title, [f"{port.get_name()}[{i}]" for i in chosen] if names is None else names, size=port.size(),
            elements=elements, shown=shown, span=span, is_folded=is_folded, publish_period=publish_period,
        )  # fmt: skip
        builder.AddSystem(plot)
        builder.Connect(port, plot.get_input_port())
        return plot

    def _draw(self, context: Context) -> None:
        time, *values = cast_array([context.get_time(), *self._port.Eval(context)[self._elements]], float).tolist()
        self._meshcat.add_sample(self._title, time, values)
        self._demand.note_met()
