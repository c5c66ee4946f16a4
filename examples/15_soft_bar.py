"""Lay a soft bar over a peg, and see where its material works.

    python examples/15_soft_bar.py [--modulus 4e4] [--output FOLDER]

A bar of rubber that hardly changes its volume falls across a peg, bends over it and comes to rest in balance. The
colors are von Mises' stress: it is greatest above the peg, where the bar is bent most, and hardly any at the ends.

Writes soft_bar.png (the bar at three times, and how far its ends hang down) and soft_bar.html (the motion in the colors
of stress, which any browser shows) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    Capsule,
    GeometryInstance,
    IllustrationProperties,
    Meshcat,
    MeshcatVisualizer,
    ProximityProperties,
)
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.multibody.fem import DeformableBodyConfig, MaterialModel
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from merganser.multibody.visualization import StressVisualizer, StressVisualizerParams

TIME_STEP = 0.01  # s
BAR, CELL = (0.5, 0.06, 0.04), 0.02  # size of the bar, and of its cells [m]
PEG, PEG_LENGTH = 0.03, 0.2  # radius, length [m]
GREATEST = 1.5e4  # the stress that is red [Pa]
END = 1.2  # s
SHOWN = (0.01, 0.15, END)


# 1. The model: a peg along y, and a bar along x above it, a little off its middle.
def add_model(plant, modulus):
    peg = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), dissipation=5.0, properties=peg)
    AddCompliantHydroelasticProperties(resolution_hint=0.01, hydroelastic_modulus=1e6, properties=peg)
    X_WP = RigidTransform(RollPitchYaw(np.pi / 2.0, 0.0, 0.0), [0.0, 0.0, 0.0])
    shape, color = Capsule(PEG, PEG_LENGTH), np.array([0.6, 0.6, 0.65, 1.0])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WP, shape, "peg", peg)
    plant.RegisterVisualGeometry(plant.world_body(), X_WP, shape, "peg", color)

    rubber = DeformableBodyConfig()
    rubber.set_material_model(MaterialModel.kCorotated)
    rubber.set_youngs_modulus(modulus)
    rubber.set_poissons_ratio(0.45)
    rubber.set_averages_volume(True)  # so that it is not too stiff, see multibody/fem/README.md
    rubber.set_mass_density(1000.0)
    rubber.set_stiffness_damping_coefficient(0.08)
    bar = GeometryInstance(RigidTransform([0.004, 0.0, PEG + 0.5 * BAR[2] + 0.002]), Box(*BAR), "bar")
    touch = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), dissipation=5.0, properties=touch)
    bar.set_proximity_properties(touch)
    bar.set_illustration_properties(IllustrationProperties())
    model = plant.mutable_deformable_model()
    body = model.GetBody(model.RegisterDeformableBody(bar, rubber, CELL))
    plant.Finalize()
    return body


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modulus", type=float, default=4e4, help="Young's modulus of the bar [Pa]")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    bar = add_model(plant, arguments.modulus)
    meshcat = Meshcat()
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    StressVisualizer.AddToBuilder(builder, plant, meshcat, StressVisualizerParams(greatest=GREATEST))
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())

    # 2. The motion.
    x = bar.reference_positions().reshape(-1, 3)[:, 0]
    left, right, middle = x < x.min() + 1e-9, x > x.max() - 1e-9, abs(x - x.mean()) < 0.51 * CELL
    times, sag, shapes = np.arange(1, round(END / TIME_STEP) + 1) * TIME_STEP, [], {}
    visualizer.StartRecording()
    for t in times:
        simulator.AdvanceTo(t)
        z = bar.GetPositions(context)[2]
        sag.append([z[middle].mean() - z[left].mean(), z[middle].mean() - z[right].mean()])
        for shown in SHOWN:
            if abs(t - shown) < 0.5 * TIME_STEP:
                shapes[shown] = bar.GetPositions(context).T, bar.von_mises_stresses(context, at_vertices=True)
    visualizer.StopRecording()
    visualizer.PublishRecording()
    (arguments.output / "soft_bar.html").write_text(meshcat.StaticHtml())
    draw(arguments.output / "soft_bar.png", times, np.array(sag), shapes, boundary_triangles(bar.reference_mesh()))
    p, stresses = shapes[END]
    above = abs(p[:, 0]) < PEG
    weight = 9.81 * 1000.0 * np.prod(BAR)
    results = plant.get_contact_results_output_port().Eval(context)
    count = results.num_deformable_contacts()
    carried = sum(results.deformable_contact_info(i).F_Ac_W().translational()[2] for i in range(count))
    print(f"The peg carries {carried:.2f} N of {weight:.2f} N.")
    print(f"The ends hang {1e3 * sag[-1][0]:.0f} and {1e3 * sag[-1][1]:.0f} mm below the middle.")
    print(f"Stress above the peg: up to {1e-3 * stresses[above].max():.1f} kPa, at the ends "
          f"{1e-3 * stresses[left | right].mean():.2f} kPa.")  # fmt: skip


# 3. The picture.
def draw(file, times, sag, shapes, triangles):
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    from merganser.multibody.visualization.plant_visualizers import colors_of_stresses

    figure = plt.figure(figsize=(12.0, 6.4), layout="constrained")
    a, y = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), [-0.5 * PEG_LENGTH, 0.5 * PEG_LENGTH])
    for k, (t, (p, stresses)) in enumerate(shapes.items()):
        axes = figure.add_subplot(2, 3, k + 1, projection="3d", computed_zorder=False)
        axes.plot_surface(PEG * np.cos(a), y, PEG * np.sin(a), color="0.7", zorder=1)
        colors = colors_of_stresses(stresses[triangles].mean(axis=1), GREATEST)
        surface = Poly3DCollection(p[triangles], facecolors=colors, edgecolors="k", linewidths=0.1, zorder=2)
        axes.add_collection3d(surface)
        axes.set(xlim=(-0.22, 0.22), ylim=(-0.22, 0.22), zlim=(-0.25, 0.1), title=f"{t:.3g} s")
        axes.set_box_aspect((0.44, 0.44, 0.35), zoom=1.6)
        axes.view_init(15, -65)
        axes.set_axis_off()
    scale = LinearSegmentedColormap.from_list("stress", colors_of_stresses(np.linspace(0.0, 1.0, 33), 1.0))
    bar = ScalarMappable(Normalize(0.0, 1e-3 * GREATEST), scale)
    figure.colorbar(bar, ax=figure.axes, shrink=0.7, label="von Mises' stress [kPa]")
    axes = figure.add_subplot(2, 1, 2)
    axes.plot(times, 1e3 * sag, label=["left end", "right end"])
    axes.set(xlabel="time [s]", ylabel="below the middle [mm]")
    axes.legend()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
