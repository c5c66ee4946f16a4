"""Follow a pendulum by noisy measurements: two Kalman filters against the truth.

    python examples/06_kalman.py [--output FOLDER]

A pendulum is kicked by random torques, and a sensor sees only its horizontal deflection, with noise. An extended and an
unscented Kalman filter, which know the model and the size of the noise, estimate angle and rate, and how wrong they may
be. Both start half a radian off.

Writes kalman.png into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.analysis.estimators import ExtendedKalmanFilter, UnscentedKalmanFilter
from merganser.framework import DiagramBuilder, LeafSystem, RandomDistribution
from merganser.framework.primitives import Adder, ConstantVectorSource, Gain, LogVectorOutput, RandomSource

PERIOD = 0.02  # s
DURATION = 10.0  # s
TORQUE_NOISE, SENSOR_NOISE = 1.0, 0.15  # standard deviations [N m], [m]
START = np.array([1.2, 0.0])  # angle from hanging down, and its rate


# 1. The model: state x[n+1] = f(x[n], u[n]) and output y = g(x). It works for floats and for complex numbers alike, so
#    that its derivatives are exact.
class Pendulum(LeafSystem):
    """A pendulum of 1 m and 1 kg with a little friction, in steps of PERIOD."""

    def __init__(self, start):
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        group = self.DeclareDiscreteState(start)
        self.DeclarePeriodicDiscreteUpdateEvent(PERIOD, 0.0, self.step)
        self.DeclareVectorOutputPort("deflection", 1, self.calc_deflection, {self.xd_ticket()})
        self.state_index = group

    def step(self, context, next_state):
        angle, rate = context.get_discrete_state_vector().value()
        torque = self.get_input_port().Eval(context)[0]
        rate = rate + PERIOD * (torque - 9.81 * np.sin(angle) - 0.1 * rate)
        next_state.set_value(0, [angle + PERIOD * rate, rate])

    def calc_deflection(self, context, output):
        output.SetFromVector([np.sin(context.get_discrete_state_vector().value()[0])])


class PendulumWithState(Pendulum):
    """The pendulum with its state to look at."""

    def __init__(self, start):
        super().__init__(start)
        self.DeclareStateOutputPort("state", self.state_index)


# 2. The filters: the model without noise, and the covariances of the noise. A random torque moves rate and angle by
#    PERIOD and PERIOD^2 times itself in each step.
def make_filters():
    kick = np.array([PERIOD**2, PERIOD]) * TORQUE_NOISE
    W, V = np.outer(kick, kick), [[SENSOR_NOISE**2]]
    guess, doubt = [0.7, 0.0], np.diag([0.5**2, 0.5**2])
    filters = {}
    for name, kind in (("extended", ExtendedKalmanFilter), ("unscented", UnscentedKalmanFilter)):
        model = Pendulum(START)
        filters[name] = kind(model, model.CreateDefaultContext(), W, V, guess, doubt)
    return filters


# 3. Everything wired: noise into the plant and onto its output, measurements into the filters.
def build_diagram():
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("pendulum", PendulumWithState(START))
    torque = add_noise(builder, "torque_noise", TORQUE_NOISE, seed=1)
    builder.Connect(torque, plant.get_input_port())
    sensor = builder.AddNamedSystem("sensor", Adder(2, 1))
    builder.Connect(plant.GetOutputPort("deflection"), sensor.get_input_port(0))
    builder.Connect(add_noise(builder, "sensor_noise", SENSOR_NOISE, seed=2), sensor.get_input_port(1))
    no_torque = builder.AddNamedSystem("mean_torque", ConstantVectorSource([0.0]))
    logs = {
        "truth": LogVectorOutput(plant.GetOutputPort("state"), builder, publish_period=PERIOD),
        "measured": LogVectorOutput(sensor.get_output_port(), builder, publish_period=PERIOD),
    }
    for name, estimator in make_filters().items():
        builder.AddNamedSystem(name, estimator)
        builder.Connect(sensor.get_output_port(), estimator.get_observed_system_output_input_port())
        builder.Connect(no_torque.get_output_port(), estimator.get_observed_system_input_input_port())
        logs[name] = LogVectorOutput(estimator.get_estimated_state_output_port(), builder, publish_period=PERIOD)
        logs[f"{name} covariance"] = LogVectorOutput(
            estimator.get_covariance_output_port(), builder, publish_period=PERIOD
        )
    return builder.Build(), logs


def add_noise(builder, name, size, seed):
    source = builder.AddNamedSystem(name, RandomSource(RandomDistribution.kGaussian, 1, PERIOD))
    source.set_fixed_seed(seed)
    gain = builder.AddNamedSystem(f"{name}_size", Gain(size, 1))
    builder.Connect(source.get_output_port(), gain.get_input_port())
    return gain.get_output_port()


def plot(times, data, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    axes = dict(zip(("deflection", "angle", "rate"), figure.subplots(3, 1, sharex=True)))
    axes["deflection"].plot(times, data["measured"][0], ".", markersize=3, color="0.6", label="measured")
    axes["deflection"].plot(times, np.sin(data["truth"][0]), color="black", linewidth=1.0, label="truth")
    for row, name in enumerate(("angle", "rate")):
        sigma = np.sqrt(data["unscented covariance"][3 * row])
        estimate = data["unscented"][row]
        axes[name].fill_between(
            times, estimate - 2.0 * sigma, estimate + 2.0 * sigma, alpha=0.25, label="unscented, 2 sigma"
        )
        axes[name].plot(times, data["truth"][row], color="black", linewidth=1.0, label="truth")
        axes[name].plot(times, data["extended"][row], "--", color="tab:orange", label="extended")
        axes[name].plot(times, estimate, ":", color="tab:blue", label="unscented")
    axes["deflection"].set(title="A pendulum, its measurements and two estimates", ylabel="deflection [m]")
    axes["angle"].set(ylabel="angle [rad]")
    axes["rate"].set(ylabel="rate [rad/s]", xlabel="time [s]", xlim=(0.0, DURATION))
    for ax in axes.values():
        ax.grid(alpha=0.3)
        ax.margins(y=0.25)
        ax.legend(loc="upper right", ncols=2, fontsize="small")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    diagram, logs = build_diagram()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(DURATION)
    found = {name: log.FindLog(simulator.get_context()) for name, log in logs.items()}
    times, data = found["truth"].sample_times(), {name: log.data() for name, log in found.items()}
    late = times > 2.0
    for name in ("extended", "unscented"):
        error = (data[name] - data["truth"])[:, late]
        sigma = np.sqrt(data[f"{name} covariance"][[0, 3]][:, late])
        rms, within = np.sqrt((error**2).mean(axis=1)), 100.0 * (np.abs(error) < 2.0 * sigma).mean()
        print(
            f"{name:9s} after 2 s: error {rms[0]:.3f} rad and {rms[1]:.3f} rad/s (rms), {within:.0f} % within 2 sigma"
        )
        if not rms[0] < 0.5 * SENSOR_NOISE:
            raise SystemExit(f"The {name} filter did no better than the sensor.")
    plot(times, data, output / "kalman.png")
    print(f"Picture: {output / 'kalman.png'}")


if __name__ == "__main__":
    main()
