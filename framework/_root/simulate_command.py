"""`python -m merganser simulate`: a model drops and swings; as numbers, a picture, a page, a video, or live."""

from __future__ import annotations

import argparse
import itertools
import logging
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from merganser.analysis import Simulator
    from merganser.framework import Context, DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.geometry.visualizers import Meshcat
    from merganser.multibody.parsing import Parser
    from merganser.multibody.plant import MultibodyPlant


_TIME_STEP = 0.001  # of models whose format has none [s]
_LONGEST_STEP = 0.1  # where an accuracy is given [s]
_DURATION = 5.0  # [s]
_SAMPLES = 500  # of a plot
_FRAMES = 64.0  # of a page [1/s]
_MOST_NAMED = 12  # lines of a plot
_MOST_SHOWN = 6  # of a plot in the page, at first
_PERIOD = 1 / 20  # between two looks for a page [s]


class _Model(NamedTuple):
    """The model to simulate."""

    builder: DiagramBuilder
    parser: Parser
    plant: MultibodyPlant
    time_step: float


def add_simulate_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    add = parser.add_argument
    add("--duration", type=float, metavar="S", help="simulated time [s], default 5; with --view until it is stopped")
    add(
        "--time-step", type=float, metavar="S",
        help="period of the discrete plant [s], 0 for a continuous one; by default that of an MJCF file, or 0.001",
    )  # fmt: skip
    add(
        "--accuracy", type=float, metavar="A",
        help="contact under error control: a continuous plant whose steps follow from this accuracy, such as 1e-3",
    )  # fmt: skip
    add("--tilt", type=float, default=0.0, metavar="RAD",
        help="turn every hinge from the model's own pose by this angle at the start, within its limits")  # fmt: skip
    add("--plot", metavar="FILE", help="save positions and energy over time as a picture")
    add("--html", metavar="FILE", help="save a page that plays the simulation back")
    add("--video", metavar="FILE", help="save a video, such as out.mp4; needs the extra `video`")
    add("--view", action="store_true",
        help="simulate in real time in the browser: pause, step, reset, drag bodies (Ctrl), set actuators")  # fmt: skip
    add("-w", "--open-window", action="store_true", help="with --view: open a window of the browser")


def simulate_model(options: argparse.Namespace) -> None:
    """Simulates a model as the arguments say.

    Raises:
        ValueError: an argument is out of its range, or does not go with another; nothing moves.
        RuntimeError: the model cannot be read or simulated.
    """
    if options.duration is not None and not options.duration > 0.0:
        raise ValueError(f"--duration must be positive, got {options.duration}.")
    if options.accuracy is not None and not options.accuracy > 0.0:
        raise ValueError(f"--accuracy must be positive, got {options.accuracy}.")
    if options.accuracy is not None and options.time_step:
        raise ValueError("--accuracy chooses the steps itself; leave out --time-step.")
    if not math.isfinite(options.tilt):
        raise ValueError(f"--tilt must be finite, got {options.tilt}.")
    if options.view and (options.plot or options.html or options.video):
        raise ValueError("--view simulates until it is stopped; leave out --plot, --html and --video.")
    if options.open_window and not options.view:
        raise ValueError("-w opens a window for --view; give that, too.")
    model = _read(options)
    if options.view:
        _view(model, options)
    else:
        _run(model, options)


def _read(options: argparse.Namespace) -> _Model:
    """The plant of a model, in a diagram that is not yet built."""
    from merganser.framework import DiagramBuilder
    from merganser.model_info import weld_loose_bodies
    from merganser.multibody.parsing import Parser
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

    builder, time_step = DiagramBuilder(), _time_step(options)
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    parser = Parser(plant)
    parser.AddModels(options.model)
    if options.fix_base:
        weld_loose_bodies(plant)
    plant.Finalize()
    if plant.num_velocities() == 0:
        raise ValueError(f"'{options.model}' has nothing that moves: all its bodies are welded to the world.")
    return _Model(builder, parser, plant, time_step)


def _run(model: _Model, options: argparse.Namespace) -> None:
    """Simulates as fast as possible, prints the speed, and saves the requested files."""
    from merganser.analysis import Simulator
    from merganser.framework.common.running_time import running_time, time_compiling
    from merganser.framework.primitives import LogVectorOutput

    plant, duration = model.plant, _DURATION if options.duration is None else options.duration
    log = LogVectorOutput(plant.get_state_output_port(), model.builder, publish_period=duration / _SAMPLES)
    meshcat = _add_viewers(model) if options.html else None
    video = None
    if options.video:

        video = SimulationVideo(options.video, model.builder, plant)
    simulator = Simulator(model.builder.Build())
    context: Any = _start(model, simulator, options)
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))
    if meshcat is not None:
        simulator.Initialize()  # what the page shows when it does not play
        meshcat.StartRecording(_FRAMES, set_visualizations_while_recording=False)
        simulator.get_system().ForcedPublish(simulator.get_context())
    energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    start, compiling = running_time(), time_compiling()
    if video is not None:
        video.advance(simulator, duration)
    else:
        simulator.AdvanceTo(duration)
    wall_time, compiling = running_time() - start, time_compiling() - compiling
    final_energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    kind = _describe_steps(model, simulator, options)
    print(
        f"{options.model}: {plant.num_velocities()} degrees of freedom, {kind}, {duration:g} s in "
        f"{wall_time:.3f} s (real-time factor {duration / wall_time:.1f})"
        + (f", after {compiling:.0f} s of compilation" if compiling >= 0.5 else "")
    )
    print(f"energy {energy:.6g} J at the start, {final_energy:.6g} J at the end")
    if options.plot:
        samples = log.FindLog(simulator.get_context())
        _plot(plant, samples.sample_times(), samples.data(), options.plot, str(options.model))
        print(f"picture: {options.plot}")
    if meshcat is not None:
        meshcat.PublishRecording()
        Path(options.html).write_text(meshcat.StaticHtml(), encoding="utf-8")
        print(f"page: {options.html}")
    if video is not None:
        video.save(simulator.get_mutable_context())
        print(f"video: {options.video}")


def _view(model: _Model, options: argparse.Namespace) -> None:
    """Simulates in real time in the browser, until the user ends it."""
    from merganser.analysis import Simulator
    from merganser.multibody.visualization import ActuatorSliders, DragSpring, SimulationControls

    logging.basicConfig(format="%(message)s")
    logging.getLogger("merganser").setLevel(logging.INFO)
    meshcat = _add_viewers(model)
    DragSpring.AddToBuilder(model.builder, model.plant, meshcat)
    _add_plots(model, meshcat)
    ActuatorSliders.AddToBuilder(model.builder, model.plant, meshcat)
    simulator = Simulator(model.builder.Build())
    _start(model, simulator, options)
    simulator.Initialize()
    controls = SimulationControls(meshcat, simulator)
    print("It begins when the page is open, and ends by the square in the page, or Ctrl-C here.", flush=True)
    if options.open_window:
        import webbrowser

        webbrowser.open(meshcat.web_url(), new=1)
    try:
        while meshcat.GetNumActiveConnections() == 0:
            time.sleep(_PERIOD)
        meshcat.Flush()
        controls.AdvanceTo(math.inf if options.duration is None else options.duration)
    except KeyboardInterrupt:
        print()
    finally:
        controls.Delete()


def _add_plots(model: _Model, meshcat: Meshcat) -> None:
    """Adds plots of positions and velocities to the page, at first of joints of one degree of freedom, or of places."""
    from merganser.geometry.visualizers import MeshcatSignalPlot

    plant = model.plant
    joints = [joint for joint in _joints(plant) if joint.num_velocities() == 1]
    positions, velocities = _position_names(plant), _velocity_names(plant)
    parts = (
        ("Positions [rad, m]", positions, 0, [positions[joint.position_start()] for joint in joints]),
        ("Velocities [rad/s, m/s]", velocities, len(positions), [velocities[each.velocity_start()] for each in joints]),
    )
    for title, names, start, shown in parts:
        places = [name for name in names if name.endswith(("_x", "_y", "_z", "_vx", "_vy", "_vz"))]
        MeshcatSignalPlot.AddToBuilder(
            model.builder, plant.get_state_output_port(), meshcat, title, names,
            elements=range(start, start + len(names)), shown=(shown or places)[:_MOST_SHOWN] or None,
            is_folded=start > 0,
        )  # fmt: skip


def _add_viewers(model: _Model) -> Meshcat:
    """Adds viewers to the diagram; returns where they draw."""
    from merganser.geometry.visualizers import StartMeshcat
    from merganser.multibody.visualization import ApplyVisualizationConfig, VisualizationConfig
    from merganser.multibody.visualization.apply_visualization_config import show_sky

    meshcat = StartMeshcat()
    show_sky(model.parser, meshcat)
    # Visibility that users have set is kept when they reset the simulation.
    config = VisualizationConfig(publish_period=1.0 / _FRAMES, delete_on_initialization_event=False)
    ApplyVisualizationConfig(config, model.builder, plant=model.plant, meshcat=meshcat)
    meshcat.add_toggle("contact forces", "contact_forces")
    meshcat.SetProperty("contact_forces", "visible", False)  # until its box in the page is clicked
    return meshcat


def _start(model: _Model, simulator: Simulator, options: argparse.Namespace) -> Any:
    """Puts the plant to where it starts, and chooses its integrator; returns its context."""
    if options.accuracy is not None:
        from merganser.multibody.cenic import CenicIntegrator

        integrator = CenicIntegrator(simulator.get_system(), simulator.get_mutable_context())
        integrator.set_maximum_step_size(_LONGEST_STEP)
        integrator.set_target_accuracy(options.accuracy)
        simulator.reset_integrator(integrator)
    context = model.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    _tilt(model.plant, context, options.tilt)
    return context


def _describe_steps(model: _Model, simulator: Simulator, options: argparse.Namespace) -> str:
    if model.time_step > 0.0:
        return f"steps of {model.time_step:g} s"
    number = simulator.get_integrator().get_num_steps_taken()
    return "continuous" if options.accuracy is None else f"{number} steps at accuracy {options.accuracy:g}"


def _time_step(options: argparse.Namespace) -> float:
    """The time step of the user, or of a MuJoCo file [s]."""
    if options.accuracy is not None:
        return 0.0
    if options.time_step is None and Path(options.model).suffix.lower() == ".xml":
        from merganser.multibody.parsing.mjcf import LoadMjcfOptions

        return LoadMjcfOptions(options.model).time_step
    return _TIME_STEP if options.time_step is None else float(options.time_step)


def _tilt(plant: MultibodyPlant, context: Any, angle: float) -> None:
    """Turns every hinge by an angle [rad], within its limits."""
    q = plant.GetPositions(context)
    for joint in _joints(plant):
        if angle and joint.num_positions() == 1 and joint.can_rotate():
            upper, lower = joint.position_upper_limits()[0], joint.position_lower_limits()[0]
            q[joint.position_start()] = min(max(q[joint.position_start()] + angle, lower), upper)
    plant.SetPositions(context, q)


def _joints(plant: MultibodyPlant) -> list[Any]:
    return [plant.get_joint(index) for index in plant.GetJointIndices()]


# ------------------------------------------------------------------ plots


def _plot(plant: MultibodyPlant, times: Any, states: Any, path: str, title: str) -> None:
    """Saves positions and energy over time, shape [num_times], from states, shape [num_states, num_times]."""
    from matplotlib.figure import Figure

    kinetic, potential = _energies(plant, states)
    figure = Figure(figsize=(9.0, 6.5), layout="constrained")
    positions, energy = figure.subplots(2, 1, sharex=True)
    _plot_positions(positions, times, states[: plant.num_positions()], _position_names(plant))
    for values, name in ((kinetic, "kinetic"), (potential - potential[0], "potential, from the start")):
        energy.plot(times, values, label=name)
    energy.plot(times, kinetic + potential - potential[0], "k--", label="total")
    positions.set(title=title, ylabel="position [rad or m]")
    energy.set(ylabel="energy [J]", xlabel="time [s]", xlim=(0.0, times[-1]))
    _put_legend(energy)
    for axes in (positions, energy):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


def _plot_positions(axes: Any, times: Any, positions: Any, names: list[str]) -> None:
    """Draws named lines; colors only for the joints that move most, gray for the others."""
    travel = np.ptp(positions, axis=1)
    named = set(np.argsort(-travel, kind="stable")[:_MOST_NAMED].tolist())
    colors = [f"C{i}" for i in range(10)]
    rest = [i for i in range(len(names)) if i not in named]
    for i in rest:
        label = f"{len(rest)} others, which move less" if i == rest[0] else None
        axes.plot(times, positions[i], color="0.8", linewidth=0.8, zorder=1, label=label)
    for order, i in enumerate(sorted(named)):
        style = "-" if order < len(colors) else "--"
        axes.plot(times, positions[i], style, color=colors[order % len(colors)], label=names[i])
    handles, labels = axes.get_legend_handles_labels()
    if rest:  # at the end of the legend
        handles, labels = [*handles[1:], handles[0]], [*labels[1:], labels[0]]
    _put_legend(axes, handles, labels)


def _put_legend(axes: Any, *entries: Any) -> None:
    """Puts the legend beside the lines."""
    axes.legend(*entries, fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _position_names(plant: MultibodyPlant) -> list[str]:
    """Names of joints, with what of a joint it is where that has several positions; with model instances if need be."""
    names = plant.GetPositionNames(add_model_instance_prefix=False)
    if len(set(names)) < len(names):
        names = plant.GetPositionNames(add_model_instance_prefix=True)
    found = []
    for name, joint in zip(names, _joints_of_positions(plant)):
        found.append(name.removesuffix("_q") if joint == 1 else name)
    return found


def _velocity_names(plant: MultibodyPlant) -> list[str]:
    """As of positions."""
    names = plant.GetVelocityNames(add_model_instance_prefix=False)
    if len(set(names)) < len(names):
        names = plant.GetVelocityNames(add_model_instance_prefix=True)
    return [name.removesuffix("_w").removesuffix("_v") for name in names]


def _joints_of_positions(plant: MultibodyPlant) -> list[int]:
    """For each position, how many its joint has."""
    sizes = np.zeros(plant.num_positions(), dtype=int)
    for joint in _joints(plant):
        sizes[joint.position_start() : joint.position_start() + joint.num_positions()] = joint.num_positions()
    return sizes.tolist()


def _energies(plant: MultibodyPlant, states: Any) -> Any:
    """Kinetic and potential energy [J], shape [2, num_times]."""
    context = plant.CreateDefaultContext()
    energies = []
    for state in states.T:
        plant.SetPositionsAndVelocities(context, state)
        energies.append((plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)))
    return np.array(energies).T


# ---------------------------------------------------------------------- the video

_NAME = "video"  # of the camera
_FPS = 30.0
_SIZE = (1280, 720)  # [pixels]
_OPENING = 35.0  # of the camera, upwards [degrees]
_MARGIN = 1.18  # of the picture around the motion
_FROM_W = np.array([0.78, -0.92, 0.52]) / np.linalg.norm([0.78, -0.92, 0.52])  # direction to the camera, as in pages
_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_FAR = 30.0  # sizes of the model, beyond which it is not followed
_LIGHT = np.array([0.93, 0.945, 0.96])  # behind the scene


class SimulationVideo:
    """A camera and its frames; the video is made when the motion is known.

    Args:
        filename: .mp4, .mkv and .mov by PyAV, .gif, .webp and .apng by Pillow.
        builder: of the diagram, which is given a camera; its plant is finalized.
        plant: whose bodies are seen.

    Raises:
        ValueError: there is no such format.
        ImportError: PyAV or VTK is not installed.
        RuntimeError: the folder of the file does not exist.
    """

    def __init__(self, filename: str, builder: DiagramBuilder, plant: MultibodyPlant) -> None:
        from merganser.geometry.rendering import LightParameter, RenderEngineVtkParams
        from merganser.geometry.sensors.image_writer import backend_for, open_video
        from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig

        self._video = open_video(filename, _FPS, backend_for(filename))
        lights = [
            LightParameter(type="directional", frame=frame, direction=np.array(direction), intensity=intensity)
            for frame, direction, intensity in (("world", [-0.45, 0.55, -1.0], 0.6), ("camera", [0.0, 0.0, 1.0], 0.5))
        ]
        config = CameraConfig(
            name=_NAME, width=_SIZE[0], height=_SIZE[1], fps=_FPS, focal=CameraConfig.FovDegrees(y=_OPENING),
            renderer_class=RenderEngineVtkParams(default_clear_color=_LIGHT, lights=lights),
        )  # fmt: skip
        scene_graph: Any = builder.GetSubsystemByName("scene_graph")
        ApplyCameraConfig(config, builder, plant=plant, scene_graph=scene_graph)
        self._sensor: Any = builder.GetSubsystemByName(f"rgbd_sensor_{_NAME}")
        self._plant, self._scene_graph = plant, scene_graph
        self._frames: list[Context] = []

    def advance(self, simulator: Simulator, duration: float) -> None:
        """Advances a simulation to a time [s], and stores the state at each frame."""
        for k in range(int(duration * _FPS) + 1):
            simulator.AdvanceTo(min(k / _FPS, duration))
            self._frames.append(simulator.get_context().Clone())
        simulator.AdvanceTo(duration)

    def save(self, context: Context) -> None:
        """Draws all frames, and writes the file.

        Args:
            context: of the whole diagram, which is changed.
        """
        camera = self._sensor.GetMyMutableContextFromRoot(context)
        boxes = [self._box(context, frame) for frame in self._frames]
        first = boxes[0]
        reach = _FAR * max(float(np.linalg.norm(first[1] - first[0])), 1e-3)
        near = [box for box in boxes if np.abs(box - first.mean(axis=0)).max() < reach]
        corners = np.concatenate(near) if near else first
        X_WC = _pose_to_see(corners.min(axis=0), corners.max(axis=0))
        for frame in self._frames:
            context.SetTimeStateAndParametersFrom(frame)
            self._sensor.SetX_PB(camera, X_WC)
            self._video.add(self._sensor.color_image_output_port().Eval(camera))
        self._video.save()

    def _box(self, context: Context, frame: Context) -> NDArray[np.float64]:
        """Least and greatest coordinates of what moves, or of all, if nothing does, in a frame, shape [2, 3]."""
        context.SetTimeStateAndParametersFrom(frame)
        query = self._scene_graph.get_query_output_port().Eval(self._scene_graph.GetMyContextFromRoot(context))
        inspector, plant = query.inspector(), self._plant
        welded = {body.index() for body in plant.GetBodiesWeldedTo(plant.world_body())}
        points = []
        for frame_id in inspector.GetAllFrameIds():
            body = plant.GetBodyFromFrameId(frame_id)
            if body is None or body.index() in welded:
                continue
            X_WF = query.GetPoseInWorld(frame_id)
            points.append(X_WF.translation()[np.newaxis])
            for geometry_id in inspector.GetGeometries(frame_id):
                obb = inspector.GetObbInGeometryFrame(geometry_id)
                if obb is not None:
                    X_WB = X_WF @ inspector.GetPoseInFrame(geometry_id) @ obb.pose()
                    points.append(X_WB.multiply((_CORNERS * obb.half_width()).T).T)
        found = np.concatenate(points) if points else np.zeros((1, 3))
        return np.array([found.min(axis=0), found.max(axis=0)])


def _pose_to_see(low: NDArray[np.float64], high: NDArray[np.float64]) -> RigidTransform:
    """The pose X_WC of a camera C that sees a box along the axes of W; it looks along Cz, and Cy is downwards."""
    from merganser.framework.math import RigidTransform, RotationMatrix

    right = np.cross([0.0, 0.0, 1.0], _FROM_W)
    right /= np.linalg.norm(right)
    R_WC = RotationMatrix(np.column_stack([right, np.cross(right, _FROM_W), -_FROM_W]))
    center = (low + high) / 2
    p_C = (center + _CORNERS * np.maximum((high - low) / 2, 1e-3) - center) @ R_WC.matrix()
    tan_up = np.tan(np.deg2rad(_OPENING) / 2) / _MARGIN
    tan_right = tan_up * _SIZE[0] / _SIZE[1]
    distance = np.max(-p_C[:, 2] + np.maximum(np.abs(p_C[:, 0]) / tan_right, np.abs(p_C[:, 1]) / tan_up))
    return RigidTransform(R_WC, center + distance * _FROM_W)
