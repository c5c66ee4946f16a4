"""PyPlotVisualizer: a system that draws with matplotlib, live or as an animation; for drawings of one's own."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, LeafSystem
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.primitives import VectorLog
from merganser.framework.trajectories import Trajectory

_DRAW_PERIOD = 1 / 32  # [s], a binary fraction, so that no step ends just beside the time of a picture
_WHITE = (1.0, 1.0, 1.0)


class PyPlotVisualizer(LeafSystem):
    """Draws into axes of matplotlib at the start of a simulation and periodically, and keeps what it needs to do so
    again.

    A derived class declares its input port, sets the limits of the axes, and overrides `draw`. Pictures that are
    recorded become a `matplotlib.animation.Animation`, which has `to_jshtml()` for notebooks and pages, and
    `save('pictures.gif', writer='pillow')`.

    Args:
        draw_period: simulated time between two pictures [s]; 1/32 by default.
        facecolor: of the figure.
        figsize: of the figure [inches].
        ax: axes to draw into, instead of those of a new figure.
        show: whether there is a window, which is drawn while the simulation runs; by default that is so unless
            matplotlib's backend is 'template'. Recordings need none.

    Attributes:
        fig: the figure.
        ax: the axes.
        time_step: simulated time between two pictures [s].

    Raises:
        RuntimeError: the period is not positive.
        ImportError: matplotlib's backend cannot be loaded.
    """

    def __init__(
        self,
        draw_period: float | None = None,
        facecolor: Any = _WHITE,
        figsize: tuple[float, float] | None = None,
        ax: Any = None,
        show: bool | None = None,
    ) -> None:
        super().__init__()
        self._plt = _pyplot()
        self.time_step = _DRAW_PERIOD if draw_period is None else checked_number(draw_period, "draw_period")
        if not (self.time_step > 0 and math.isfinite(self.time_step)):
            raise RuntimeError(f"{type(self).__name__}: draw_period must be positive; given {draw_period}.")
        self._sys_suggest_name("pyplot_visualization")
        self.DeclareForcedPublishEvent(self._publish)
        self.DeclarePeriodicPublishEvent(self.time_step, 0.0, self._publish)
        self.DeclareInitializationPublishEvent(self._begin)
        if ax is None:
            self.fig = self._plt.figure(facecolor=facecolor, figsize=figsize)
            self.ax = self.fig.add_subplot()
        else:
            if not hasattr(ax, "get_figure"):
                raise TypeError(f"{type(self).__name__}: ax must be axes of matplotlib; given {ax!r}.")
            self.ax, self.fig = ax, ax.get_figure()
        self._show = self._plt.get_backend().lower() != "template" if show is None else bool(show)
        self.ax.axis("equal")
        self.ax.axis("off")
        if not self._show:
            self._plt.close(self.fig)  # notebooks would show it as it is now
        self._is_recording = False
        self._recorded_contexts: list[Context] = []

    # ------------------------------------------------------------------ drawing

    def draw(self, context: Any) -> None:
        """Draws one picture; to be overridden.

        Args:
            context: of this system; or, in `animate`, the value of its input port, shape [n].

        Raises:
            NotImplementedError: it is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must override draw(context).")

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._show:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*non-interactive.*")  # backends that draw into files
                self.fig.show()
        self._publish(context)

    def _publish(self, context: Context) -> None:
        if self._show:
            self.draw(context)
            self.fig.canvas.draw()
            self.fig.canvas.flush_events()
        if self._is_recording:
            snapshot = self.AllocateContext()
            snapshot.SetTimeStateAndParametersFrom(context)
            self.FixInputPortsFrom(self, context, snapshot)
            self._recorded_contexts.append(snapshot)

    # ------------------------------------------------------------------ animations

    def start_recording(self) -> None:
        """From now on, what is published is recorded."""
        self._is_recording = True

    def stop_recording(self) -> None:
        """From now on, nothing is recorded."""
        self._is_recording = False

    def reset_recording(self) -> None:
        """Forgets what was recorded."""
        self._recorded_contexts = []

    def get_recording_as_animation(self, **kwargs: Any) -> Any:
        """Returns what was recorded as an animation.

        Args:
            kwargs: for matplotlib.animation.FuncAnimation, such as `repeat=False`.

        Raises:
            RuntimeError: nothing was recorded.
        """
        contexts = self._recorded_contexts
        return self._animation(lambda frame: self.draw(contexts[frame]), len(contexts), kwargs)

    def animate(self, log: VectorLog | Trajectory, resample: bool = True, **kwargs: Any) -> Any:
        """Returns an animation of what was logged; `draw` gets the values, as vectors.

        Args:
            log: samples of what the input port takes; or a trajectory of it.
            resample: whether samples are interpolated at multiples of the draw period, or shown one by one.
            kwargs: for matplotlib.animation.FuncAnimation.

        Raises:
            TypeError: `log` is something else.
            RuntimeError: there is nothing in it.
        """
        if isinstance(log, VectorLog):
            values = np.array(log.data())
            if resample and values.shape[1]:
                values = _resampled(log.sample_times(), values, self.time_step)
        elif isinstance(log, Trajectory):
            times = np.arange(log.start_time(), log.end_time(), self.time_step)
            values = np.array([np.asarray(log.value(time)).ravel() for time in times]).T.reshape(-1, len(times))
        else:
            raise TypeError(f"{type(self).__name__}.animate() takes a VectorLog or a Trajectory; given {log!r}.")
        return self._animation(lambda frame: self.draw(values[:, frame]), values.shape[1], kwargs)

    def _animation(self, draw: Any, num_frames: int, options: dict[str, Any]) -> Any:
        from matplotlib.animation import FuncAnimation

        if num_frames == 0:
            raise RuntimeError(
                f"'{self.get_name()}' has nothing to animate. Call start_recording() before the simulation begins, or "
                "animate(log) with what was logged."
            )
        milliseconds = 1000 * self.time_step
        return FuncAnimation(fig=self.fig, func=draw, frames=num_frames, interval=milliseconds, **options)


def _resampled(times: NDArray[Any], values: NDArray[Any], period: float) -> NDArray[Any]:
    """Samples, shape [n, num_samples], interpolated at multiples of a period from the first one on."""
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[:, order]
    new_times = np.arange(times[0], times[-1], period)
    return np.array([np.interp(new_times, times, row) for row in values]).reshape(len(values), -1)


def _pyplot() -> Any:
    """matplotlib's pyplot.

    Raises:
        ImportError: its backend cannot be loaded.
    """
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            f"matplotlib cannot draw here ({error}). On Ubuntu its windows need 'sudo apt install python3-tk'; the "
            "environment variable MPLBACKEND=Agg draws without a window."
        ) from error
    return pyplot
