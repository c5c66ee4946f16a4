"""Hold a posture with a robot arm: gravity compensation plus a PD controller.

    python examples/02_robot_arm.py [MODEL] [--duration 4] [--output FOLDER]

MODEL is any URDF or SDFormat file with actuated joints; by default our own 7-joint arm. The arm starts away from its
posture and is pulled there by

    u = B^+ (-tau_g(q) - Kp (q - q_d) - Kd v),   Kp = w^2 m + w d,  Kd = 2 w m

where m is the inertia that a joint feels (the diagonal of the mass matrix) and d its damping. Every joint, taken
alone, then has its poles at -w and -(w + d / m). The controller has its own copy of the model: it reads the state
port of the arm and drives the actuation port of its model instance.

Writes robot_arm.png (joint positions and efforts over time) and robot_arm_diagram.png into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, plot_diagram
from merganser.framework.primitives import LogVectorOutput
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

ARM = Path(__file__).parent / "models" / "arm7.urdf"
BANDWIDTH = 5.0  # w [rad/s]


# 1. Any model, with its base fixed: files seldom say where a robot is bolted down.
def add_arm(plant, model):
    (arm, *_) = Parser(plant).AddModels(str(model))
    bodies = [plant.get_body(index) for index in plant.GetBodyIndices(arm)]
    children = {plant.get_joint(index).child_body().index() for index in plant.GetJointIndices()}
    for body in bodies:
        if body.index() not in children:  # no joint carries it: it would fall
            plant.WeldFrames(plant.world_frame(), body.body_frame())
    plant.Finalize()
    if plant.num_actuated_dofs(arm) == 0:
        raise SystemExit(f"{model} has no actuators to hold it.")
    return arm


# 2. The controller asks its own plant for gravity forces, and is wired to the simulated plant by ports only.
class PostureController(LeafSystem):
    """Gravity compensation plus PD control about a posture q_d."""

    def __init__(self, model, q_d):
        super().__init__()
        self.plant = MultibodyPlant(0.0)
        add_arm(self.plant, model)
        self.plant_context = self.plant.CreateDefaultContext()
        self.nq, self.q_d = self.plant.num_positions(), q_d
        self.plant.SetPositions(self.plant_context, q_d)
        inertia = np.diag(self.plant.CalcMassMatrix(self.plant_context))
        joints = [self.plant.get_joint(index) for index in self.plant.GetJointIndices()]
        damping = np.zeros_like(inertia)
        for joint in joints:
            damping[joint.velocity_start() :][: joint.num_velocities()] = joint.default_damping_vector()
        self.Kp = BANDWIDTH**2 * inertia + BANDWIDTH * damping
        self.Kd = 2.0 * BANDWIDTH * inertia
        self.to_actuators = np.linalg.pinv(self.plant.MakeActuationMatrix())
        self.DeclareVectorInputPort("state", self.plant.num_multibody_states())
        self.DeclareVectorOutputPort("actuation", self.plant.num_actuated_dofs(), self.calc_actuation)

    def calc_actuation(self, context, output):
        x = self.GetInputPort("state").Eval(context)
        q, v = x[: self.nq], x[self.nq :]
        self.plant.SetPositions(self.plant_context, q)
        tau = (
            -self.plant.CalcGravityGeneralizedForces(self.plant_context)
            - self.Kp * (q - self.q_d)
            - self.Kd * v
        )
        output.SetFromVector(self.to_actuators @ tau)


# 3. The posture: alternately 3/8 and 5/8 along each joint's range, so that gravity pulls at every joint.
def choose_posture(plant):
    lower, upper = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    posture = np.empty(len(lower))
    for i, (low, high) in enumerate(zip(lower, upper)):
        if not np.isfinite([low, high]).all():  # no limits: within a radian (or a metre) of zero
            low, high = -1.0, 1.0
        posture[i] = low + (high - low) * (0.375 if i % 2 else 0.625)
    return posture


def plot(names, times, states, efforts, q_d, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.5), layout="constrained")
    position, effort = figure.subplots(2, 1, sharex=True)
    for index, name in enumerate(names):
        (line,) = position.plot(times, states[index], label=name)
        position.axhline(q_d[index], color=line.get_color(), linewidth=0.8, linestyle=":")
    effort.plot(times, efforts.T)
    position.set(title="Robot arm pulled to its posture (dotted)", ylabel="position [rad or m]")
    effort.set(ylabel="effort [N m or N]", xlabel="time [s]", xlim=(0.0, times[-1]))
    position.legend(fontsize=7, ncols=2)
    for axes in (position, effort):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, nargs="?", default=ARM, help="URDF or SDFormat file of an arm")
    parser.add_argument("--duration", type=float, default=4.0, help="simulated time [s]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    arm = add_arm(plant, options.model)
    q_d = choose_posture(plant)
    controller = builder.AddNamedSystem("controller", PostureController(options.model, q_d))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port(arm))
    state_log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.01)
    effort_log = LogVectorOutput(controller.get_output_port(), builder, publish_period=0.01)
    state_log.set_name("state_log")
    effort_log.set_name("effort_log")
    diagram = builder.Build()
    diagram.set_name(plant.GetModelInstanceName(arm))

    simulator = Simulator(diagram)
    plant_context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(plant_context, q_d + 0.3)  # some way off
    simulator.AdvanceTo(options.duration)
    wall_time = options.duration / simulator.get_actual_realtime_rate()  # without compilation

    error = np.abs(plant.GetPositions(plant_context) - q_d).max()
    log, efforts = (sink.FindLog(simulator.get_context()) for sink in (state_log, effort_log))
    print(
        f"{diagram.get_name()}: {plant.num_positions()} joints, {plant.CalcTotalMass(plant_context):.2f} kg, "
        f"{options.duration:g} s in {wall_time:.3f} s, real-time factor {options.duration / wall_time:.1f}"
    )
    start = np.abs(log.data()[: len(q_d), 0] - q_d).max()
    print(f"largest distance from the posture: {start:.3f} at the start, {error:.2e} at the end")
    names = plant.GetPositionNames(arm)
    plot(names, log.sample_times(), log.data(), efforts.data(), q_d, options.output / "robot_arm.png")
    plot_diagram(diagram, options.output / "robot_arm_diagram.png")
    print(f"Pictures: {options.output / 'robot_arm.png'}, {options.output / 'robot_arm_diagram.png'}")
    if not error < 0.02:
        raise SystemExit("The arm did not reach its posture.")


if __name__ == "__main__":
    main()
