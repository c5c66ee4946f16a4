"""Balance a pole on a cart: model, linearize, regulate, simulate, look.

    python examples/01_cart_pole_lqr.py [--output FOLDER]

A cart on a rail carries a pole that turns freely. A linear quadratic regulator (LQR), designed about the upright,
catches the pole from 0.4 rad off. The same diagram runs twice: with a continuous plant, which an error-controlled
integrator advances, and with a discrete one in steps of 1 ms.

Writes cart_pole.png (states and force over time) and cart_pole_diagram.png (the wiring) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import DiagramBuilder, LeafSystem, plot_diagram
from merganser.framework.primitives import Linearize, LogVectorOutput
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

MODEL = Path(__file__).parent / "models" / "cart_pole.sdf"
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])  # position of the cart, angle of the pole, and their rates
START = UPRIGHT + [0.0, 0.4, 0.0, 0.0]
DURATION = 8.0  # s


# 1. A controller is a system like any other: ports declared in __init__, values computed from a context.
class Regulator(LeafSystem):
    """State feedback u = -K (x - x0)."""

    def __init__(self, K, x0):
        super().__init__()
        self.K, self.x0 = K, x0
        self.DeclareVectorInputPort("state", len(x0))
        self.DeclareVectorOutputPort("force", len(K), self.calc_force)

    def calc_force(self, context, output):
        x = self.GetInputPort("state").Eval(context)
        output.SetFromVector(-self.K @ (x - self.x0))


# 2. Its gain comes from the linearized plant: xdot = A (x - x0) + B u about the upright.
def design_gain():
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModels(str(MODEL))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, UPRIGHT)
    plant.get_actuation_input_port().FixValue(context, [0.0])
    linear = Linearize(
        plant,
        context,
        input_port_index=plant.get_actuation_input_port().get_index(),
        output_port_index=plant.get_state_output_port().get_index(),
    )
    K, _ = LinearQuadraticRegulator(linear.A(), linear.B(), Q=np.diag([10.0, 10.0, 1.0, 1.0]), R=[[0.1]])
    return K


# 3. A diagram: systems added to a builder, output ports connected to input ports.
def build_diagram(K, time_step):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    Parser(plant).AddModels(str(MODEL))
    plant.Finalize()
    regulator = builder.AddNamedSystem("regulator", Regulator(K, UPRIGHT))
    builder.Connect(plant.get_state_output_port(), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), plant.get_actuation_input_port())
    state_log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.01)
    force_log = LogVectorOutput(regulator.get_output_port(), builder, publish_period=0.01)
    state_log.set_name("state_log")
    force_log.set_name("force_log")
    diagram = builder.Build()
    diagram.set_name("cart_pole")
    return diagram, plant, state_log, force_log


# 4. A simulator advances the diagram's context through time.
def simulate(K, time_step):
    diagram, plant, state_log, force_log = build_diagram(K, time_step)
    simulator = Simulator(diagram)
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), START)
    simulator.AdvanceTo(DURATION)
    wall_time = DURATION / simulator.get_actual_realtime_rate()  # without compilation
    context = simulator.get_context()
    log, forces = state_log.FindLog(context), force_log.FindLog(context)
    return diagram, log.sample_times(), log.data(), forces.data(), wall_time


# 5. Logs are numpy arrays, one column a sample.
def plot(runs, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    cart, pole, force = figure.subplots(3, 1, sharex=True)
    for (name, (times, states, forces)), style in zip(runs.items(), ("-", "--")):
        cart.plot(times, states[0], style, label=name)
        pole.plot(times, states[1] - np.pi, style, label=name)
        force.plot(times, forces[0], style, label=name)
    cart.set(title="Cart-pole under LQR, from 0.4 rad off the upright", ylabel="cart [m]")
    pole.set(ylabel="pole from upright [rad]")
    force.set(ylabel="force [N]", xlabel="time [s]", xlim=(0.0, DURATION))
    for axes in (cart, pole, force):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    K = design_gain()
    print("LQR gain K =", np.array2string(K[0], precision=3))
    runs = {}
    for name, time_step in (("continuous", 0.0), ("discrete, 1 ms", 0.001)):
        diagram, times, states, forces, wall_time = simulate(K, time_step)
        runs[name] = (times, states, forces)
        error = np.abs(states[:, -1] - UPRIGHT).max()
        print(
            f"{name:15s} {DURATION:g} s in {wall_time:.3f} s, real-time factor {DURATION / wall_time:6.1f}, largest "
            f"force {np.abs(forces).max():5.2f} N, final distance from upright {error:.1e}"
        )
        if not error < 1e-2:
            raise SystemExit(f"The pole did not stay up in the {name} run.")
    plot(runs, output / "cart_pole.png")
    plot_diagram(diagram, output / "cart_pole_diagram.png")
    print(f"Pictures: {output / 'cart_pole.png'}, {output / 'cart_pole_diagram.png'}")


if __name__ == "__main__":
    main()
