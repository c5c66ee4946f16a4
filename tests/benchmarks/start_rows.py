"""Time of whole programs in processes of their own, by public calls only.

Each program is the same text for both packages. It prints how long it took to import, to get to the end of the first
step (or of what it does, where it simulates nothing), for the first simulated second, and for a step once it runs. The
time by the clock from start to end is separate, with everything on the disk (warm) and with an empty folder of kernels
(cold, then the second run).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Any, NamedTuple

from libraries import MODELS, ROOT

_OURS = {
    "framework": "merganser.framework", "analysis": "merganser.analysis",
    "primitives": "merganser.framework.primitives", "plant": "merganser.multibody.plant",
    "tree": "merganser.multibody.tree",
    "math": "merganser.framework.math", "geometry": "merganser.geometry",
    "controllers": "merganser.multibody.controllers", "parsing": "merganser.multibody.parsing",
    "kinematics": "merganser.multibody.inverse_kinematics", "solvers": "merganser.framework.optimization",
}  # fmt: skip
_THEIRS = {
    "framework": "pydrake.systems.framework", "analysis": "pydrake.systems.analysis",
    "primitives": "pydrake.systems.primitives", "plant": "pydrake.multibody.plant", "tree": "pydrake.multibody.tree",
    "math": "pydrake.math", "geometry": "pydrake.geometry", "controllers": "pydrake.systems.controllers",
    "parsing": "pydrake.multibody.parsing", "kinematics": "pydrake.multibody.inverse_kinematics",
    "solvers": "pydrake.solvers",
}  # fmt: skip

_FRAME = """
import time
start = time.process_time()
import numpy as np
{imports}
imported = time.process_time()
{body}
{end}
import json
print(json.dumps([imported - start, stepped - start, second - stepped, (steady - second) / 4000]))
"""
_SIMULATION = """
simulator = Simulator(builder.Build())
if "accuracy" in globals():
    simulator.get_mutable_integrator().set_target_accuracy(accuracy)
simulator.Initialize()
simulator.AdvanceTo(0.001)
stepped = time.process_time()
simulator.AdvanceTo(1.0)
second = time.process_time()
simulator.AdvanceTo(5.0)
steady = time.process_time()
"""
_END = "\nstepped = second = steady = time.process_time()\n"  # of a program that simulates nothing

# An arm without a controller: the beginning of some programs.
_ARM_IMPORTS = """
from {analysis} import Simulator
from {framework} import DiagramBuilder
from {parsing} import Parser
from {plant} import AddMultibodyPlantSceneGraph
"""
_ARM = f"""
builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
parser = Parser(plant)
if parser.package_map().Contains("drake_models"):
    parser.package_map().Remove("drake_models")
parser.package_map().Add("drake_models", {str(MODELS)!r})
parser.AddModels({str(MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf")!r})
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
plant.Finalize()
n = plant.num_positions()
"""

# The imports and the body of each program; {name} is a module of the package.
PROGRAMS: dict[str, tuple[str, str]] = {
    "pendulum and Python controller (README)": (
        """
from {analysis} import Simulator
from {framework} import DiagramBuilder, LeafSystem
from {plant} import AddMultibodyPlantSceneGraph
from {tree} import RevoluteJoint, SpatialInertia, UnitInertia
""",
        """
class Hold(LeafSystem):
    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("state", 2)
        self.DeclareVectorOutputPort("torque", 1, self.calc_torque)

    def calc_torque(self, context, output):
        angle, rate = self.GetInputPort("state").Eval(context)
        output.SetFromVector([9.81 * np.sin(angle) - 20.0 * (angle - 1.0) - 6.0 * rate])


builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
bob = plant.AddRigidBody("bob", SpatialInertia(1.0, np.array([0.0, 0.0, -1.0]), UnitInertia(1.0, 1.0, 0.0)))
pin = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), bob.body_frame(), axis=[0, 1, 0]))
plant.AddJointActuator("motor", pin)
plant.Finalize()
hold = builder.AddNamedSystem("hold", Hold())
builder.Connect(plant.get_state_output_port(), hold.get_input_port())
builder.Connect(hold.get_output_port(), plant.get_actuation_input_port())
""",
    ),
    "a pendulum of Python derivatives": (
        """
import math
from {analysis} import Simulator
from {framework} import BasicVector, DiagramBuilder, LeafSystem
""",
        """
class Pendulum(LeafSystem):
    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(BasicVector([1.0, 0.0]))

    def DoCalcTimeDerivatives(self, context, derivatives):
        angle, rate = context.get_continuous_state_vector().CopyToVector()
        derivatives.get_mutable_vector().SetFromVector([rate, -9.81 * math.sin(angle) - 0.1 * rate])


builder = DiagramBuilder()
builder.AddSystem(Pendulum())
accuracy = 1e-6
""",
    ),
    "two boxes on the ground": (
        """
from {analysis} import Simulator
from {framework} import DiagramBuilder
from {geometry} import Box, HalfSpace
from {math} import RigidTransform
from {plant} import AddMultibodyPlantSceneGraph, CoulombFriction
from {tree} import SpatialInertia
""",
        """
builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
rough = CoulombFriction(0.5, 0.5)
plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
for i in range(2):
    body = plant.AddRigidBody(f"box {{i}}", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.1, 0.1, 0.1), f"shape {{i}}", rough)
    plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform([0.0, 0.0, 0.05 + 0.1 * i]))
plant.Finalize()
""",
    ),
    "50 blocks": (
        """
from {analysis} import Simulator
from {framework} import DiagramBuilder
from {primitives} import Gain, Integrator
""",
        """
builder = DiagramBuilder()
for i in range(25):
    integrator, gain = builder.AddSystem(Integrator(1)), builder.AddSystem(Gain(k=-1.0, size=1))
    builder.Connect(integrator.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), integrator.get_input_port())
""",
    ),
    "iiwa14 and InverseDynamicsController": (
        _ARM_IMPORTS
        + """
from {primitives} import ConstantVectorSource
from {controllers} import InverseDynamicsController
""",
        _ARM
        + """
control = builder.AddSystem(InverseDynamicsController(plant, [100.0] * n, [0.0] * n, [20.0] * n, False))
desired = builder.AddSystem(ConstantVectorSource([0.1] * n + [0.0] * n))
builder.Connect(plant.get_state_output_port(), control.get_input_port_estimated_state())
builder.Connect(desired.get_output_port(), control.get_input_port_desired_state())
builder.Connect(control.get_output_port_control(), plant.get_actuation_input_port())
""",
    ),
    "iiwa14 with hulls": (_ARM_IMPORTS, _ARM.replace("no_collision", "polytope_collision")),
    "iiwa14, linearized": (
        _ARM_IMPORTS
        + "from {framework} import OutputPortSelection\nfrom {primitives} import FirstOrderTaylorApproximation",
        _ARM.replace("time_step=0.001", "time_step=0.0")
        + """
context = plant.CreateDefaultContext()
plant.SetPositions(context, np.linspace(0.1, 0.7, n))
torque = plant.get_actuation_input_port()
torque.FixValue(context, np.zeros(n))
FirstOrderTaylorApproximation(plant, context, torque.get_index(), OutputPortSelection.kNoOutput)
"""
        + _END,
    ),
    "iiwa14: M, bias, gravity, a pose": (
        _ARM_IMPORTS,
        _ARM
        + """
context, hand = plant.CreateDefaultContext(), plant.GetBodyByName("iiwa_link_7")
for i in range(100):
    plant.SetPositionsAndVelocities(context, np.linspace(0.0, 0.01 * i, 2 * n))
    plant.CalcMassMatrix(context), plant.CalcBiasTerm(context), plant.CalcGravityGeneralizedForces(context)
    plant.EvalBodyPoseInWorld(context, hand).translation()
"""
        + _END,
    ),
    "iiwa14: one posture": (
        _ARM_IMPORTS + "from {kinematics} import InverseKinematics\nfrom {solvers} import Solve",
        _ARM
        + """
problem = InverseKinematics(plant)
at = np.array([0.4, 0.2, 0.5])
hand, world = plant.GetFrameByName("iiwa_link_7"), plant.world_frame()
problem.AddPositionConstraint(hand, np.zeros(3), world, at - 1e-3, at + 1e-3)
assert Solve(problem.prog(), np.full(n, 0.1)).is_success()
"""
        + _END,
    ),
    "a quadratic program of 10 variables": (
        "from {solvers} import MathematicalProgram, Solve",
        """
prog = MathematicalProgram()
x = prog.NewContinuousVariables(10)
prog.AddQuadraticCost(np.diag(np.arange(1.0, 11.0)), -np.ones(10), x)
prog.AddLinearConstraint(np.ones((1, 10)), [1.0], [2.0], x)
prog.AddBoundingBoxConstraint(0.0, 0.3, x)
assert Solve(prog).is_success()
"""
        + _END,
    ),
    "iiwa14 and Python controller": (
        _ARM_IMPORTS + "from {framework} import LeafSystem",
        _ARM
        + """
class Hold(LeafSystem):
    def __init__(self):
        super().__init__()
        self.context = plant.CreateDefaultContext()
        self.DeclareVectorInputPort("state", 2 * n)
        self.DeclareVectorOutputPort("torque", n, self.calc_torque)

    def calc_torque(self, context, output):
        state = self.GetInputPort("state").Eval(context)
        plant.SetPositionsAndVelocities(self.context, state)
        gravity = plant.CalcGravityGeneralizedForces(self.context)
        output.SetFromVector(100.0 * (0.1 - state[:n]) - 20.0 * state[n:] - gravity)


hold = builder.AddSystem(Hold())
builder.Connect(plant.get_state_output_port(), hold.get_input_port())
builder.Connect(hold.get_output_port(), plant.get_actuation_input_port())
""",
    ),
}


# A scene of MJCF beside MuJoCo, which is fixed to steps of one millisecond, too.
SCENE = "gripper of MJCF, beside MuJoCo"
_GRIPPER = str(ROOT / "examples" / "models" / "gripper.xml")
PROGRAMS[SCENE] = (
    _ARM_IMPORTS,
    f"""
builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
Parser(plant).AddModels({_GRIPPER!r})
plant.Finalize()
""",
)
_MUJOCO = f"""
import time
start = time.process_time()
import mujoco
imported = time.process_time()
model = mujoco.MjModel.from_xml_path({_GRIPPER!r})
model.opt.timestep = 0.001
data = mujoco.MjData(model)
times = []
for count in (1, 999, 4000):
    for _ in range(count):
        mujoco.mj_step(model, data)
    times.append(time.process_time())
import json
stepped, second, steady = times
print(json.dumps([imported - start, stepped - start, second - stepped, (steady - second) / 4000]))
"""


class Times(NamedTuple):
    """Times that a program has printed, and CPU times of its process.

    Attributes:
        imports: until all was imported [s].
        first_step: until the first millisecond was simulated [s].
        first_second: of the rest of the first simulated second [s].
        step: of a simulated millisecond later on [s].
        wall: what the clock showed from start to end [s].
    """

    imports: float
    first_step: float
    first_second: float
    step: float
    wall: float


def run(program: str, modules: dict[str, str], folder: str | None = None) -> Times:
    """Runs a program once, in a process of its own, with kernels in a folder of their own if one is given."""
    imports, body = PROGRAMS[program]
    end = "" if body.endswith(_END) else _SIMULATION
    body = body.replace("{{", "{").replace("}}", "}")
    text = _FRAME.format(imports=imports.format(**modules), body=body, end=end)
    if program == SCENE and modules is _THEIRS:
        text = _MUJOCO
    environment = {**os.environ, **({} if folder is None else {"MERGANSER_CACHE_DIR": folder})}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - start
    return Times(*json.loads(done.stdout), wall=wall)


def print_table(with_reference: bool, is_wanted: Any, with_cold: bool) -> None:
    """Runs all programs and prints a line for each, for this package and for pydrake.

    Args:
        with_reference: whether pydrake is installed.
        is_wanted: whether to run a program, by its name.
        with_cold: whether to begin with an empty folder of kernels.
    """
    heads = f"{'import':>8s} {'first step':>11s} {'first 1 s':>10s} {'1 ms later':>11s} {'wall':>8s}"
    print(f"{'whole program':42s} {'':10s} {heads}")
    for name in filter(is_wanted, PROGRAMS):
        if with_cold:
            with tempfile.TemporaryDirectory() as folder:
                for state in ("cold", "second"):
                    _print_line(name, state, run(name, _OURS, folder))
        _print_line(name, "warm", _least(name, _OURS))
        if with_reference and (name != SCENE or find_spec("mujoco")):
            _print_line(name, "MuJoCo" if name == SCENE else "pydrake", _least(name, _THEIRS))


def _least(name: str, modules: dict[str, str]) -> Times:
    """The least of each time of some runs, after one that compiles what is lacking."""
    run(name, modules)
    return Times(*map(min, zip(*(run(name, modules) for _ in range(3)))))


def _print_line(name: str, state: str, times: Times) -> None:
    print(
        f"{name:42s} {state:10s} {times.imports:7.2f}s {times.first_step:10.2f}s {times.first_second:9.3f}s "
        f"{1e6 * times.step:8.1f} us {times.wall:7.2f}s",
        flush=True,
    )
