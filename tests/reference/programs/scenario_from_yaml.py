"""A scenario of blocks and an arm, with random parts, from YAML: sampled, written again, built, and run."""

import dataclasses as dc

import numpy as np
from pydrake.common import RandomGenerator, temp_directory
from pydrake.common.schema import Gaussian, Rotation, Sample, Transform, Uniform, UniformVector
from pydrake.common.yaml import yaml_dump_typed, yaml_load, yaml_load_typed
from pydrake.geometry import SceneGraphConfig
from pydrake.multibody.parsing import (
    ModelDirective,
    ModelDirectives,
    Parser,
    ProcessModelDirectives,
)
from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import LogVectorOutput

BLOCK = """<sdf version="1.7"><model name="block"><link name="block">
<inertial><mass>0.5</mass><inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz><ixy>0</ixy><ixz>0</ixz>
<iyz>0</iyz></inertia></inertial>
<collision name="c"><geometry><sphere><radius>0.05</radius></sphere></geometry></collision></link></model></sdf>"""
GROUND = """<sdf version="1.7"><model name="ground"><link name="ground">
<collision name="c"><pose>0 0 -0.5 0 0 0</pose>
<geometry><box><size>4 4 1</size></box></geometry></collision></link></model></sdf>"""


@dc.dataclass
class Push:
    """A force [N] for a while [s]."""

    force: float | Gaussian | Uniform = 0.0
    duration: float = 0.1


@dc.dataclass
class Drop:
    speed: float | None = None


@dc.dataclass
class Scenario:
    random_seed: int = 0
    simulation_duration: float = 0.5
    simulator_config: SimulatorConfig = dc.field(default_factory=lambda: SimulatorConfig(max_step_size=0.01))
    plant_config: MultibodyPlantConfig = dc.field(default_factory=MultibodyPlantConfig)
    scene_graph_config: SceneGraphConfig = dc.field(default_factory=SceneGraphConfig)
    directives: list[ModelDirective] = dc.field(default_factory=list)
    start: Transform = dc.field(default_factory=Transform)
    actions: dict[str, Push | Drop] = dc.field(default_factory=dict)
    gains: np.ndarray = dc.field(default_factory=lambda: np.ones(2))


TEXT = """
basic: &basic
  plant_config: {time_step: 0.001953125, discrete_contact_approximation: sap}
scenario:
  <<: *basic
  random_seed: 17
  simulation_duration: 0.4
  directives:
  - add_model:
      name: ground
      file: file://FOLDER/ground.sdf
  - add_weld: {parent: world, child: "ground::ground"}
  - add_model:
      name: block
      file: file://FOLDER/block.sdf
      default_free_body_pose:
        block:
          translation: [0, 0, 0.06]
          rotation: !Rpy {deg: [0, 0, 30]}
  start:
    translation: !UniformVector {min: [-0.1, -0.1, 0.051], max: [0.1, 0.1, 0.06]}
    rotation: !Rpy {deg: !UniformVector {min: [0, 0, -90], max: [0, 0, 90]}}
  actions:
    first: !Push {force: !Gaussian {mean: 2.0, stddev: 0.5}}
    then: !Drop {}
  gains: [1.5, 2.5]
"""

folder = temp_directory()
for name, text in (("block", BLOCK), ("ground", GROUND)):
    with open(f"{folder}/{name}.sdf", "w") as file:
        file.write(text)
text = TEXT.replace("FOLDER", folder)
scenario = yaml_load_typed(schema=Scenario, data=text, child_name="scenario", defaults=Scenario())
assert yaml_load(data=text)["scenario"]["random_seed"] == 17
written = yaml_dump_typed(scenario, child_name="scenario")
assert yaml_dump_typed(yaml_load_typed(schema=Scenario, data=written, child_name="scenario"), schema=Scenario) == (
    yaml_dump_typed(scenario, schema=Scenario)
)
assert isinstance(scenario.start.translation, UniformVector[3])
assert isinstance(scenario.start.rotation.value, Rotation.Rpy)

generator = RandomGenerator(scenario.random_seed)
builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlant(scenario.plant_config, scenario.scene_graph_config, builder)
added = ProcessModelDirectives(ModelDirectives(directives=scenario.directives), Parser(plant))
assert [info.model_name for info in added] == ["ground", "block"]
plant.Finalize()
log = LogVectorOutput(plant.get_state_output_port(), builder, 2.0**-4)
simulator = Simulator(builder.Build())
ApplySimulatorConfig(scenario.simulator_config, simulator)
root = simulator.get_mutable_context()
context = plant.GetMyMutableContextFromRoot(root)
block = plant.GetBodyByName("block")
start = scenario.start.Sample(generator)
force = Sample(scenario.actions["first"].force, generator)
turn = Sample(Uniform(min=0.0, max=1.0), generator)
defaults = plant.GetFreeBodyPose(context, block).GetAsMatrix4()
plant.SetFreeBodyPose(context, block, start)
plant.SetVelocities(context, [0.0, 0.0, turn, force, 0.0, 0.0])
simulator.AdvanceTo(scenario.simulation_duration)
result = log.FindLog(root).data()
first = np.zeros_like(result)
first[:4, :4], first[4, :2], first[5, :2] = defaults, [force, turn], scenario.gains
np.savetxt("result.txt", np.vstack([first, result]))
