"""Find Young's modulus of a soft bar from how far its tip hangs down.

    python examples/14_soft_material.py [--modulus 2.5e4] [--guess 2e5] [--output FOLDER]

A bar of soft rubber hangs from the ceiling by its upper end, and is stretched by its own weight. All its parameters are
known but Young's modulus. Newton's method finds it from the height of the tip: `differentiate_equilibrium` computes its
derivative by the modulus, one solution of linear equations beside that for the bar at rest. The other way is to let
it go and look where the tip is a moment later, for which `differentiate_motion` has the derivative of a motion.

Writes soft_material.png (the height of the tip over the modulus with the way of Newton's method, and the motion of the
tip before and after) into the output folder.
"""

import argparse
import copy
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance
from merganser.multibody.fem import (
    DeformableBodyConfig,
    MaterialModel,
    differentiate_equilibrium,
    differentiate_motion,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

TIME_STEP = 0.01  # s
LENGTH, WIDTH = 0.3, 0.06  # m
NUM_STEPS = 20  # from the start to the look at the moving tip


# 1. The model: a bar that hangs from the plane z = 0.
def make_bar(modulus):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    material = DeformableBodyConfig()
    material.set_material_model(MaterialModel.kNeoHookean)
    material.set_youngs_modulus(modulus)
    material.set_poissons_ratio(0.45)
    material.set_averages_volume(True)  # no locking, see multibody/fem/README.md
    material.set_mass_density(1000.0)
    material.set_stiffness_damping_coefficient(0.02)
    shape = GeometryInstance(RigidTransform([0.0, 0.0, -0.5 * LENGTH]), Box(WIDTH, WIDTH, LENGTH), "bar")
    model = plant.mutable_deformable_model()
    bar = model.GetBody(model.RegisterDeformableBody(shape, material, 0.5 * WIDTH))
    bar.SetWallBoundaryCondition([0.0, 0.0, -1e-6], [0.0, 0.0, -1.0])
    plant.Finalize()
    return builder.Build(), plant, bar


# 2. Newton's method for log E: each evaluation is the height of the tip and its derivative.
def identify(evaluate, measured, guess, tolerance=1e-9):
    """The moduli on the way, with heights and their derivatives."""
    way, log_E = [], np.log(guess)
    for _ in range(20):
        E = np.exp(log_E)
        height, slope = evaluate(E)
        way.append((E, height, slope))
        step = (measured - height) / (slope * E)
        if abs(step) < tolerance:
            break
        log_E += np.clip(step, -1.5, 1.5)  # far from the solution it would leave the range of materials
    return np.array(way)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modulus", type=float, default=2.5e4, help="that is to be found [Pa]")
    parser.add_argument("--guess", type=float, default=2e5, help="where the search begins [Pa]")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    diagram, plant, bar = make_bar(arguments.guess)
    context = plant.GetMyContextFromRoot(diagram.CreateDefaultContext())
    at_tip = bar.reference_positions().reshape(-1, 3)[:, 2] < -LENGTH + 1e-9

    def material_of(E):
        material = copy.copy(bar.config())
        material.set_youngs_modulus(E)
        return material

    def tip(found):
        slope = found.dp_WV["youngs_modulus"][2, at_tip].mean() if found.dp_WV else np.nan
        return found.p_WV[2, at_tip].mean(), slope

    def at_rest(E, parameters=("youngs_modulus",)):
        return tip(differentiate_equilibrium(bar, context, parameters, material_of(E)))

    def in_motion(E, parameters=("youngs_modulus",)):
        return tip(differentiate_motion(bar, context, NUM_STEPS, parameters, material_of(E)))

    # 3. What is measured, on a bar of the unknown modulus; and the search.
    measured, _ = at_rest(arguments.modulus, ())
    way = identify(at_rest, measured, arguments.guess)
    in_between, _ = in_motion(arguments.modulus, ())
    of_motion = identify(in_motion, in_between, way[-1, 0] * 1.5)
    draw(arguments.output / "soft_material.png", at_rest, measured, way, arguments.modulus)
    print(f"The tip hangs {-1e3 * (measured + LENGTH):.2f} mm below where it would be without weight.")
    print(f"Young's modulus from rest: {way[-1, 0]:.1f} Pa, of {arguments.modulus:.1f}, after {len(way)} evaluations.")
    print(f"From the motion after {NUM_STEPS * TIME_STEP:.2f} s: {of_motion[-1, 0]:.1f} Pa.")


# 4. The picture.
def draw(file, at_rest, measured, way, modulus):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12.0, 4.6), layout="constrained")
    moduli = np.geomspace(0.7 * min(way[:, 0].min(), modulus), 1.4 * way[:, 0].max(), 16)
    left.semilogx(moduli, [1e3 * at_rest(E, ())[0] for E in moduli], color="C0", label="tip at rest")
    left.axhline(1e3 * measured, color="gray", linestyle="--", label="measured")
    for k, (E, height, slope) in enumerate(way):
        near = E * np.geomspace(0.75, 1.33, 9)  # the derivative, as a tangent
        left.plot(near, 1e3 * (height + slope * (near - E)), color="C1", label=None if k else "derivatives")
        left.plot(E, 1e3 * height, "o", color="C3", label=None if k else "Newton's method")
        if k < 4:
            left.annotate(f"{k}", (E, 1e3 * height), textcoords="offset points", xytext=(6, -12))
    left.set(xlabel="Young's modulus [Pa]", ylabel="height of the tip [mm]")
    left.xaxis.set_minor_formatter("")
    left.legend()
    for E, label, style in ((way[0, 0], "guess", "C7:"), (modulus, "measured", "C0-"), (way[-1, 0], "found", "C3--")):
        times, heights = motion(E)
        right.plot(times, 1e3 * heights, style, label=label)
    right.set(xlabel="time [s]", ylabel="height of the tip [mm]", title="let go undeformed at time 0")
    right.legend()
    figure.savefig(file, dpi=110)


def motion(E):
    """Heights of the tip of a bar that begins undeformed."""
    diagram, plant, bar = make_bar(E)
    simulator = Simulator(diagram)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    at_tip = bar.reference_positions().reshape(-1, 3)[:, 2] < -LENGTH + 1e-9
    times, heights = np.arange(0.0, 1.5, TIME_STEP), []
    for t in times:
        simulator.AdvanceTo(t)
        heights.append(bar.GetPositions(context)[2, at_tip].mean())
    return times, np.array(heights)


if __name__ == "__main__":
    main()
