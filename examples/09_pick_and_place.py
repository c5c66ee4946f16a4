"""Pick up a box with an arm and a gripper, and put it down elsewhere.

    python examples/09_pick_and_place.py [--mass 0.3] [--output FOLDER]

The gripper is led along poses over time. Differential inverse kinematics makes positions of the seven joints of them,
within the limits of the arm, 200 times a second; the driver of the arm follows these positions by inverse dynamics, and
reports what a real arm would report, such as external torques. The controller of the gripper closes its fingers against
each other with a limited force. All are blocks, wired by ports:

    poses -> DifferentialInverseKinematicsIntegrator -> SimIiwaDriver -> plant
    widths -> SchunkWsgPositionController -> plant

Writes pick_and_place.png (ways of the box and of the gripper from above, their heights, width and force of the grip,
external torques) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import LogVectorOutput, TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial, PiecewisePose
from merganser.geometry import AddContactMaterial, Box, ProximityProperties
from merganser.multibody.inverse_kinematics import (
    DifferentialInverseKinematicsIntegrator,
    DifferentialInverseKinematicsParameters,
)
from merganser.multibody.manipulation import (
    IiwaDriver,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgPositionController,
    SimIiwaDriver,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, SpatialInertia

MODELS = Path(__file__).parent / "models"
TIME_STEP, CONTROL_STEP = 0.002, 0.005  # s
HOME = np.array([0.0, 0.5, 0.0, 1.5, 0.0, 1.14, 0.0])  # the gripper points down
BOX = (0.05, 0.05, 0.05)  # m
OPEN, CLOSED = 0.1, 0.0  # widths that are commanded; the box is in the way of the latter [m]
START, GOAL = np.array([0.55, 0.2]), np.array([0.45, -0.25])  # of the box on the table, x and y [m]


# 1. The arm, the gripper at its tool frame, the box and the table.
def add_model(plant, mass):
    parser = Parser(plant)
    (arm,), (gripper,) = (parser.AddModels(str(MODELS / name)) for name in ("arm7.urdf", "parallel_gripper.sdf"))
    plant.WeldFrames(plant.GetFrameByName("tool"), plant.GetFrameByName("body", gripper))
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.9, 0.9), properties=material)
    X_WT = RigidTransform([0.0, 0.0, -0.05])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WT, Box(2.0, 2.0, 0.1), "table", material)
    box = plant.AddRigidBody("box", plant.AddModelInstance("box"), SpatialInertia.SolidBoxWithMass(mass, *BOX))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(*BOX), "box", material)
    plant.Finalize()
    return arm, gripper, box


# 2. The controllers' model: the arm with the gripper as one rigid body, as its driver is configured.
def model_for_control():
    whole = MultibodyPlant(0.0)
    (gripper,) = Parser(whole).AddModels(str(MODELS / "parallel_gripper.sdf"))
    whole.WeldFrames(whole.world_frame(), whole.GetFrameByName("body"))
    whole.Finalize()
    M_GGo_G = whole.CalcSpatialInertia(
        whole.CreateDefaultContext(), whole.GetFrameByName("body"), whole.GetBodyIndices(gripper)
    )
    X_GP = whole.GetFrameByName("grasp").CalcPoseInBodyFrame(whole.CreateDefaultContext())
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
    gripper = plant.AddRigidBody("gripper", plant.AddModelInstance("gripper"), M_GGo_G)
    plant.WeldFrames(plant.GetFrameByName("tool"), gripper.body_frame())
    plant.AddFrame(FixedOffsetFrame("grasp", gripper.body_frame(), X_GP))
    plant.Finalize()
    return plant


def limits_of(plant):
    parameters = DifferentialInverseKinematicsParameters(plant.num_positions(), plant.num_velocities())
    parameters.set_nominal_joint_position(HOME)
    parameters.set_joint_centering_gain(0.5 * np.eye(plant.num_positions()))
    parameters.set_joint_position_limits((plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()))
    parameters.set_joint_velocity_limits((plant.GetVelocityLowerLimits(), plant.GetVelocityUpperLimits()))
    return parameters


# 3. The plan: poses of the middle of the pads, and widths, at given times.
def make_plan(X_WP_start):
    above, at = 0.2, 0.5 * BOX[2] + 0.01  # heights of the pads [m]
    down = X_WP_start.rotation()
    turned = RollPitchYaw(0.0, 0.0, -0.6).ToRotationMatrix() @ down  # put down the other way round
    keys = [
        (0.0, X_WP_start, OPEN),
        (1.2, RigidTransform(down, [*START, above]), OPEN),
        (2.0, RigidTransform(down, [*START, at]), OPEN),
        (2.5, RigidTransform(down, [*START, at]), CLOSED),
        (3.3, RigidTransform(down, [*START, above]), CLOSED),
        (5.0, RigidTransform(turned, [*GOAL, above]), CLOSED),
        (5.8, RigidTransform(turned, [*GOAL, at + 0.001]), CLOSED),
        (6.3, RigidTransform(turned, [*GOAL, at + 0.001]), OPEN),
        (7.0, RigidTransform(turned, [*GOAL, above]), OPEN),
    ]
    times, poses, widths = zip(*keys)
    return PiecewisePose.MakeLinear(times, poses), PiecewisePolynomial.FirstOrderHold(times, [widths]), times[-1]


class PoseSource(LeafSystem):
    """Gives a pose over time."""

    def __init__(self, trajectory):
        super().__init__()
        self.trajectory = trajectory
        self.DeclareAbstractOutputPort("pose", lambda: Value(RigidTransform()), self.calc_pose)

    def calc_pose(self, context, output):
        output.set_value(self.trajectory.GetPose(context.get_time()))


# 4. The station: everything wired.
def build(mass):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    arm, gripper, box = add_model(plant, mass)
    model = model_for_control()
    driver = SimIiwaDriver.AddToBuilder(builder, plant, arm, IiwaDriver(control_mode="position_only"), model)

    context = model.CreateDefaultContext()
    model.SetPositions(context, HOME)
    grasp = model.GetFrameByName("grasp")
    poses, widths, duration = make_plan(grasp.CalcPoseInWorld(context))
    pose_source = builder.AddNamedSystem("poses", PoseSource(poses))
    follower = builder.AddNamedSystem(
        "differential_inverse_kinematics",
        DifferentialInverseKinematicsIntegrator(model, grasp, CONTROL_STEP, limits_of(model)),
    )
    builder.Connect(pose_source.get_output_port(), follower.GetInputPort("X_AE_desired"))
    builder.Connect(plant.get_state_output_port(arm), follower.GetInputPort("robot_state"))
    builder.Connect(follower.get_output_port(), driver.GetInputPort("position"))

    width_source = builder.AddNamedSystem("widths", TrajectorySource(widths))
    hand = builder.AddNamedSystem("gripper_controller", SchunkWsgPositionController())
    builder.Connect(width_source.get_output_port(), hand.get_desired_position_input_port())
    builder.Connect(plant.get_state_output_port(gripper), hand.get_state_input_port())
    builder.Connect(hand.get_generalized_force_output_port(), plant.get_actuation_input_port(gripper))
    width = builder.AddNamedSystem("width", MakeMultibodyStateToWsgStateSystem())
    builder.Connect(plant.get_state_output_port(gripper), width.get_input_port())

    ports = {
        "width": width.get_output_port(),
        "grip": hand.get_grip_force_output_port(),
        "torque": driver.GetOutputPort("torque_external"),
        "state": plant.get_state_output_port(),
    }
    logs = {name: LogVectorOutput(port, builder, publish_period=0.01) for name, port in ports.items()}
    for name, log in logs.items():
        log.set_name(f"{name}_log")
    diagram = builder.Build()
    diagram.set_name("station")
    return diagram, plant, (arm, gripper, box), logs, duration


def simulate(mass):
    diagram, plant, (arm, gripper, box), logs, duration = build(mass)
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    mine = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositions(mine, arm, HOME)
    plant.SetPositions(mine, gripper, [-0.5 * OPEN, 0.5 * OPEN])
    plant.SetFreeBodyPose(mine, box, RigidTransform([*START, 0.5 * BOX[2]]))
    simulator.AdvanceTo(duration)
    wall_time = duration / simulator.get_actual_realtime_rate()  # without compilation
    found = {name: log.FindLog(context) for name, log in logs.items()}
    print(f"{duration:g} s in {wall_time:.3f} s, real-time factor {duration / wall_time:.1f}")
    paths = paths_of(plant, box, gripper, found["state"].data())
    return found["width"].sample_times(), paths, {name: log.data() for name, log in found.items()}


def paths_of(plant, box, gripper, states):
    """Positions of the box and of the middle of the pads in the world, each of shape [3, number of samples]."""
    context, paths = plant.CreateDefaultContext(), []
    grasp = plant.GetFrameByName("grasp", gripper)
    for x in states.T:
        plant.SetPositionsAndVelocities(context, x)
        pads, held = grasp.CalcPoseInWorld(context), plant.EvalBodyPoseInWorld(context, box)
        paths.append([held.translation(), pads.translation()])
    return np.transpose(paths, (1, 2, 0))


def plot(times, paths, data, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 8.0), layout="constrained")
    (above, height), (grip, torque) = figure.subplots(2, 2)
    box, pads = paths
    for axes, x, y in ((above, box[1], box[0]), (height, times, box[2])):
        axes.plot(x, y, "C1", linewidth=2.5, label="box")
    above.plot(pads[1], pads[0], "C0--", linewidth=1.0, label="gripper")
    height.plot(times, pads[2], "C0--", label="gripper")
    for (x, y), text in ((START, "picked up"), (GOAL, "put down"), ((0.0, 0.0), "arm")):
        above.plot(y, x, "ks", markersize=12, fillstyle="none")
        above.annotate(text, (y, x), (0, -20), textcoords="offset points", ha="center")
    above.set(title="From above", xlabel="y [m]", ylabel="x [m]", aspect="equal", xlim=(0.45, -0.45), ylim=(-0.1, 0.7))
    height.set(title="Heights", ylabel="z [m]")
    grip.plot(times, 1e3 * data["width"][0], label="distance of the fingers [mm]")
    grip.plot(times, data["grip"][0], label="force between them [N]")
    grip.axhline(1e3 * BOX[0], color="0.6", linewidth=0.8, linestyle=":")
    grip.set(title="Grip (dotted: width of the box)", xlabel="time [s]")
    torque.plot(times, data["torque"].T, linewidth=1.0)
    torque.set(title="External torques, from the driver", xlabel="time [s]", ylabel="[N m]")
    for axes in (above, height, grip):
        axes.legend(loc={above: "lower right", height: "upper right", grip: "upper center"}[axes])
    for axes in (above, height, grip, torque):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mass", type=float, default=0.3, help="of the box [kg]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    times, paths, data = simulate(options.mass)
    box, _ = paths
    missed = np.linalg.norm(box[:2, -1] - GOAL)
    print(f"box lifted to {box[2].max():.3f} m, put down {1e3 * missed:.1f} mm from where it was wanted")
    plot(times, paths, data, options.output / "pick_and_place.png")
    print(f"Picture: {options.output / 'pick_and_place.png'}")
    if box[2].max() < 0.1 or missed > 0.01 or abs(box[2, -1] - 0.5 * BOX[2]) > 0.002:
        raise SystemExit("The box was not put down where it was wanted.")


if __name__ == "__main__":
    main()
