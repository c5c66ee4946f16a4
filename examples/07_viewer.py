"""See it: an arm moves in the browser, or in a page to keep.

    python examples/07_viewer.py [--output FOLDER]     writes viewer.html: open it, it needs no network
    python examples/07_viewer.py --live                shows the arm while it moves; http://localhost:7000

A seven-joint arm follows a spline through four postures. The page shows it with a time line, and the path of its hand.
Live, a button or the Escape key ends the program.

Needs the extra `view`: pip install 'merganser[view]'.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import Meshcat, MeshcatVisualizer, Rgba, Sphere, StartMeshcat
from merganser.multibody.controllers import InverseDynamicsController
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

ARM = Path(__file__).parent / "models" / "arm7.urdf"
TIMES = [0.0, 2.0, 4.0, 6.0, 8.0]  # s
POSTURES = np.array(
    [
        [0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0],
        [1.2, 0.9, 0.5, 1.6, 0.4, 1.0, 0.0],
        [0.0, 1.2, -0.5, 0.6, 0.0, -0.6, 1.0],
        [-1.2, 0.7, 0.3, 1.8, -0.6, 0.8, 0.0],
        [0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0],
    ]
).T


# 1. What we draw ourselves: any system may, in a publish event. What is given a time is part of the recording.
class Pen(LeafSystem):
    """Draws the path of the hand as far as it has come, and a ball at the hand."""

    def __init__(self, meshcat, plant, period):
        super().__init__()
        self.meshcat, self.plant = meshcat, plant
        self.plant_context = plant.CreateDefaultContext()
        self.path = []
        self.DeclareVectorInputPort("state", plant.num_multibody_states())
        self.DeclarePeriodicPublishEvent(period, 0.0, self.draw)
        meshcat.SetObject("pen/ball", Sphere(0.03), Rgba(0.1, 0.6, 0.2))

    def draw(self, context):
        self.plant.SetPositionsAndVelocities(self.plant_context, self.get_input_port().Eval(context))
        X_WH = self.plant.EvalBodyPoseInWorld(self.plant_context, self.plant.GetBodyByName("link_7"))
        p_WP = X_WH.multiply([0.0, 0.0, 0.1])
        self.path.append(p_WP)
        time = context.get_time()
        self.meshcat.SetLine("pen/path", np.array(self.path).T, rgba=Rgba(0.1, 0.3, 0.9), time_in_recording=time)
        self.meshcat.SetTransform("pen/ball", RigidTransform(p_WP), time)


# 2. The diagram: the arm, its controller, and the visualizer, which draws what the SceneGraph has.
def build(meshcat):
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    Parser(plant).AddModels(str(ARM))
    plant.Finalize()
    spline = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(TIMES, POSTURES, np.zeros(7), np.zeros(7))
    reference = builder.AddNamedSystem("reference", TrajectorySource(spline, output_derivative_order=1))
    gains = 100.0 * np.ones(7)
    controller = builder.AddSystem(InverseDynamicsController(plant, gains, 0 * gains, 2 * np.sqrt(gains), False))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port_estimated_state())
    builder.Connect(reference.get_output_port(), controller.get_input_port_desired_state())
    builder.Connect(controller.get_output_port_control(), plant.get_actuation_input_port())
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    pen = builder.AddSystem(Pen(meshcat, plant, period=1 / 16))
    builder.Connect(plant.get_state_output_port(), pen.get_input_port())
    simulator = Simulator(builder.Build())
    plant.SetPositions(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), POSTURES[:, 0])
    return simulator, visualizer


# 3. A page to keep: record, publish the recording, and write what the browser is to open.
def write_page(folder):
    meshcat = Meshcat(port=0)
    meshcat.SetCameraPose(camera_in_world=[1.0, -1.05, 0.85], target_in_world=[0.25, 0.0, 0.2])
    simulator, visualizer = build(meshcat)
    visualizer.StartRecording()
    simulator.AdvanceTo(TIMES[-1])
    visualizer.PublishRecording()
    path = folder / "viewer.html"
    path.write_text(meshcat.StaticHtml(), encoding="utf-8")
    print(f"{path}: {TIMES[-1]:.0f} s of simulation in {path.stat().st_size / 1e6:.1f} MB; open it in a browser")


# 4. Live: the simulation keeps pace with the clock, and the page has a button.
def show():
    meshcat = StartMeshcat()
    meshcat.SetCameraPose(camera_in_world=[1.0, -1.05, 0.85], target_in_world=[0.25, 0.0, 0.2])
    meshcat.AddButton("Stop", "Escape")
    simulator, _ = build(meshcat)
    simulator.set_target_realtime_rate(1.0)
    print(f"Open {meshcat.web_url()}; press Escape there to end.")
    while meshcat.GetButtonClicks("Stop") == 0:
        simulator.AdvanceTo(simulator.get_context().get_time() + 0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the page")
    parser.add_argument("--live", action="store_true", help="show it now, in real time")
    options = parser.parse_args()
    if options.live:
        show()
    else:
        options.output.mkdir(parents=True, exist_ok=True)
        write_page(options.output)


if __name__ == "__main__":
    main()
