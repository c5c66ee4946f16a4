"""Grasp a box with two fingers and lift it, all joints under PD control.

    python examples/04_grasp.py [--mass 0.3] [--duration 2.5] [--output FOLDER]

A gripper hangs on a vertical slide; two fingers close around a box on a table, lift it by 15 cm and carry it there by
friction alone. The joints have PD controllers with effort limits, which a discrete plant solves together with contact,
so that the gains may be high: the fingers press with what their limit allows. A block of a few lines sends the
desired positions over time.

Writes grasp.png (heights, slip of the box in the fingers, contact forces) and grasp.gif (the motion, which any browser
shows) into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, Box, ProximityProperties
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import PdControllerGains, PrismaticJoint, SpatialInertia

TIME_STEP = 0.002  # s
BOX, FINGER = (0.06, 0.06, 0.06), (0.02, 0.04, 0.05)  # sizes [m]
OPEN, LIFT = 0.045, 0.15  # distance of the open fingers from the middle, height to lift to [m]
SQUEEZE = 15.0  # effort limit of the fingers [N]
GRAVITY = 9.81
DRAWN = {"box": BOX, "palm": (0.14, 0.05, 0.01), "left_finger": FINGER, "right_finger": FINGER}  # in the film


# 1. The model, by API: a gripper with a slide and two fingers as one model instance, a free box, and a table.
def add_model(plant, mass):
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), properties=material)
    X_WT = RigidTransform([0.0, 0.0, -0.05])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WT, Box(1.0, 1.0, 0.1), "table", material)
    box = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(mass, *BOX))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(*BOX), "box", material)

    gripper = plant.AddModelInstance("gripper")
    palm = plant.AddRigidBody("palm", gripper, SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.05, 0.03))
    slide = plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), palm.body_frame(), [0, 0, 1]))
    add_drive(plant, slide, p=20000.0, d=400.0, effort_limit=200.0)
    for name, side in (("left", -1.0), ("right", 1.0)):
        finger = plant.AddRigidBody(f"{name}_finger", gripper, SpatialInertia.SolidBoxWithMass(0.1, *FINGER))
        plant.RegisterCollisionGeometry(finger, RigidTransform(), Box(*FINGER), name, material)
        joint = PrismaticJoint(f"{name}_slide", palm.body_frame(), finger.body_frame(), [side, 0, 0], 0.0, OPEN)
        add_drive(plant, plant.AddJoint(joint), p=2000.0, d=40.0, effort_limit=SQUEEZE)
    plant.Finalize()
    return gripper, box


def add_drive(plant, joint, p, d, effort_limit):
    actuator = plant.AddJointActuator(f"{joint.name()}_motor", joint, effort_limit)
    actuator.set_controller_gains(PdControllerGains(p=p, d=d))


# 2. The plan: close, wait, lift, hold. The port of desired states takes [positions, velocities] of the gripper.
class GraspPlan(LeafSystem):
    """Desired [slide, left, right] and their rates."""

    CLOSE, LIFT_FROM, LIFT_TO = 0.2, 0.6, 1.4  # s

    def __init__(self):
        super().__init__()
        self.DeclareVectorOutputPort("desired_state", 6, self.calc_desired_state)

    def calc_desired_state(self, context, output):
        t = context.get_time()
        s = np.clip((t - self.LIFT_FROM) / (self.LIFT_TO - self.LIFT_FROM), 0.0, 1.0)
        height = BOX[2] / 2 + LIFT * s * s * (3.0 - 2.0 * s)
        rate = LIFT * 6.0 * s * (1.0 - s) / (self.LIFT_TO - self.LIFT_FROM)
        grip = OPEN if t < self.CLOSE else 0.0  # the box is in the way: the effort limit says how hard they press
        output.SetFromVector([height, grip, grip, rate, 0.0, 0.0])


def build(mass):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    gripper, box = add_model(plant, mass)
    plan = builder.AddNamedSystem("plan", GraspPlan())
    builder.Connect(plan.get_output_port(), plant.get_desired_state_input_port(gripper))
    return builder.Build(), plant, gripper, box


# 3. Simulate, and look after each step how far the box has slipped, and what the fingers feel.
def simulate(mass, duration):
    diagram, plant, gripper, box = build(mass)
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, box, RigidTransform([0.0, 0.0, BOX[2] / 2]))
    plant.SetPositions(context, gripper, [BOX[2] / 2, OPEN, OPEN])
    palm = plant.GetBodyByName("palm")
    simulator.AdvanceTo(TIME_STEP)  # compiles what is not in the cache yet
    drawn = [(plant.GetBodyByName(name), size) for name, size in DRAWN.items()]
    rows, poses, wall_time = [], [], 0.0
    for i in range(2, round(duration / TIME_STEP) + 1):
        wall_start = time.perf_counter()
        simulator.AdvanceTo(i * TIME_STEP)
        wall_time += time.perf_counter() - wall_start
        z_box, z_palm = (plant.EvalBodyPoseInWorld(context, body).translation()[2] for body in (box, palm))
        rows.append([i * TIME_STEP, z_box, z_palm, *forces_on(plant, context, box)])
        poses.append([plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4() for body, _ in drawn])
    return np.array(rows).T, np.array(poses), wall_time


def forces_on(plant, context, box):
    """Forces on the box: normal and friction forces of the fingers, and that of the table [N]."""
    results = plant.get_contact_results_output_port().Eval(context)
    squeeze = friction = table = 0.0
    for i in range(results.num_point_pair_contacts()):
        contact = results.point_pair_contact_info(i)
        bodies = contact.bodyA_index(), contact.bodyB_index()
        if box.index() not in bodies:
            continue
        f = contact.contact_force() * (1.0 if bodies[1] == box.index() else -1.0)
        if plant.world_body().index() in bodies:
            table += f[2]
        else:
            squeeze += abs(f[0]) / 2.0
            friction += f[2]
    return squeeze, friction, table


def plot(times, z_box, z_palm, squeeze, friction, table, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 8.0), layout="constrained")
    height, slip, force = figure.subplots(3, 1, sharex=True)
    height.plot(times, z_palm, label="gripper")
    height.plot(times, z_box, "--", label="box")
    held = times > GraspPlan.LIFT_FROM
    slip.plot(times[held], 1e3 * ((z_box - z_palm)[held] - (z_box - z_palm)[held][0]))
    force.plot(times, squeeze, label="each finger presses")
    force.plot(times, friction, label="fingers carry")
    force.plot(times, table, label="table carries")
    height.set(title="A box, lifted by friction", ylabel="height [m]")
    slip.set(ylabel="slip in the fingers [mm]")
    force.set(ylabel="force [N]", xlabel="time [s]", xlim=(0.0, times[-1]), ylim=(-2.0, 2.0 * SQUEEZE))
    height.legend()
    force.legend()
    for axes in (height, slip, force):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


# 4. The recorded poses as a film, seen from the front.
def animate(times, poses, path, frame_time=0.05):
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

    figure = Figure(figsize=(4.5, 4.5), layout="constrained")
    axes = figure.subplots()
    unit = 0.5 * np.array([[-1, 0, -1, 0], [1, 0, -1, 0], [1, 0, 1, 0], [-1, 0, 1, 0]])
    corners = [unit * [*size, 0.0] + [0.0, 0.0, 0.0, 1.0] for size in DRAWN.values()]
    corners[1] += [0.0, 0.0, 0.04, 0.0]  # the palm is drawn above the fingers
    colors = ("C1", "0.5", "C0", "C0")
    shapes = [axes.add_patch(Polygon(unit[:, :2], edgecolor="black", facecolor=color)) for color in colors]
    axes.axhspan(-0.05, 0.0, color="0.8")
    clock = axes.set_title("")
    axes.set(aspect="equal", xlim=(-0.15, 0.15), ylim=(-0.03, 0.28), xlabel="x [m]", ylabel="z [m]")

    def draw(frame):
        i = min(round(frame * frame_time / TIME_STEP), len(times) - 1)
        clock.set_text(f"t = {times[i]:.2f} s")
        for shape, corners_B, X_WB in zip(shapes, corners, poses[i]):
            shape.set_xy((corners_B @ X_WB.T)[:, [0, 2]])

    draw(0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # as it is now for all pictures: half the time
    animation = FuncAnimation(figure, draw, round(times[-1] / frame_time) + 1, init_func=lambda: None)
    animation.save(path, writer=PillowWriter(fps=1.0 / frame_time), dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mass", type=float, default=0.3, help="of the box [kg]")
    parser.add_argument("--duration", type=float, default=2.5, help="simulated time [s]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    (times, z_box, z_palm, squeeze, friction, table), poses, wall_time = simulate(options.mass, options.duration)
    print(f"{options.duration:g} s in {wall_time:.3f} s, real-time factor {options.duration / wall_time:.1f}")
    lifted = times > GraspPlan.LIFT_TO
    slip = np.ptp((z_box - z_palm)[times > GraspPlan.LIFT_FROM])
    print(f"box at {z_box[-1]:.4f} m, held by {squeeze[-1]:.2f} N from each side, slipped by {1e3 * slip:.3f} mm")
    plot(times, z_box, z_palm, squeeze, friction, table, options.output / "grasp.png")
    animate(times, poses, options.output / "grasp.gif")
    print(f"Picture: {options.output / 'grasp.png'}, motion: {options.output / 'grasp.gif'}")
    if not lifted.any() or slip > 1e-3 or abs(friction[-1] - options.mass * GRAVITY) > 0.01 * options.mass * GRAVITY:
        raise SystemExit("The box was not lifted.")


if __name__ == "__main__":
    main()
