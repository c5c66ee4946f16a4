"""Rows beside MuJoCo: a hand of 39 muscles and 30 tendons, a quadruped on fields of 10^4 and 10^6 cells, a walk.

The fields have the same heights around the quadruped, so that their ratio says what size costs. The walk is that of
examples/17_rough_terrain.py, six legs of three motors over a random field of 200 x 200 cells, without its heading.
Velocity products are explicit, as MuJoCo's are, and no outputs are sampled.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import ROOT, Call, Library, Row
from mujoco_model import mujoco_text
from numpy.typing import NDArray

TIME_STEP = 0.002
SETTLED = 0.3  # simulated before the clock starts [s]
NUM_STEPS = 50  # of each call
FRICTION = 0.8
GAINS = (100.0, 3.0)  # Kp [N m/rad] and Kd [N m s/rad] of all joints
STANCE = (0.0, 0.8, -1.6)  # angles of a leg [rad]
HEIGHT = 0.05 + 0.4 * np.cos(0.8)  # of the trunk, with the feet above the ground [m]
TILE, CELL, ROUGHNESS = 100, 0.05, 0.02  # cells of the small field along a side, their width and highest point [m]


# ---------------------------------------------------------------------- a hand


_SIDES = {"l": (0.012, -0.004), "r": (-0.012, -0.004), "e": (0.0, 0.012), "f": (0.0, -0.012)}  # y, z of sites [m]
# Tendons of a finger: on which side, how many bones far, and on which side they wrap around the knuckles.
_TENDONS = (("e", 3, "over"), ("f", 3, "under"), ("f", 2, "under"), ("l", 1, ""), ("r", 1, ""), ("l", 2, ""))


def _finger(name: str, y: float, length: float) -> tuple[str, str]:
    """A finger of four hinges with six tendons, of which flexors and the extensor wrap around its knuckles."""
    spread = f'<joint name="{name}_spread" axis="0 0 1" range="-15 15"/>'
    bones, x = "", 0.1
    for k, own in enumerate((length, 0.6 * length, 0.5 * length)):
        bones += f'<body pos="{x} {y} 0">{spread}' if k == 0 else f'<body pos="{x} 0 0">'
        bones += (
            f'<joint name="{name}{k}" axis="0 1 0" range="-10 80"/><geom fromto="0 0 0 {own} 0 0" mass=".02"/>'
            f'<geom name="{name}bone{k}" type="cylinder" size=".009 .01" zaxis="0 1 0" mass=".002"/>'
            f'<site name="{name}over{k}" pos="0 0 .02"/><site name="{name}under{k}" pos="0 0 -.02"/>'
        )
        place = 0.7 * own - 0.01
        bones += "".join(f'<site name="{name}{s}{k + 1}" pos="{place} {d} {z}"/>' for s, (d, z) in _SIDES.items())
        x = own
    palm = "".join(f'<site name="{name}{s}0" pos=".06 {y + d} {z}"/>' for s, (d, z) in _SIDES.items())
    tendons = ""
    for side, last, wraps in _TENDONS:
        path = f'<site site="{name}{side}0"/>'
        for k in range(last):
            path += f'<geom geom="{name}bone{k}" sidesite="{name}{wraps}{k}"/>' if wraps else ""
            path += f'<site site="{name}{side}{k + 1}"/>'
        tendons += f'<spatial name="{name}_{side}{last}">{path}</spatial>'
    return f"{palm}{bones}</body></body></body>", tendons


def hand_text() -> str:
    """MJCF of a hand on a wrist of two hinges, with five fingers: 22 hinges, 30 tendons, 39 muscles."""
    lengths = {"thumb": 0.035, "index": 0.045, "middle": 0.05, "ring": 0.045, "little": 0.035}
    fingers = [_finger(name, 0.025 * (2 - k), length) for k, (name, length) in enumerate(lengths.items())]
    tendons = "".join(tendons for _, tendons in fingers)
    names = [part.split('"')[0] for part in tendons.split('<spatial name="')[1:]]
    muscles = "".join(f'<muscle tendon="{name}" force="20"/>' for name in names)
    joints = [("wrist", 1), ("wrist", -1), ("turn", 1), ("turn", -1), *((f"{name}0", 1) for name in lengths)]
    muscles += "".join(f'<muscle joint="{joint}" gear="{sign * 0.02}" force="30"/>' for joint, sign in joints)
    return (
        f'<mujoco model="hand"><option timestep="{TIME_STEP}" integrator="implicitfast"/><default>'
        '<joint damping=".01" armature=".0005"/><geom type="capsule" size=".007" contype="0" conaffinity="0"/>'
        '<muscle timeconst=".01 .04"/></default><worldbody><body name="palm">'
        '<joint name="wrist" axis="0 1 0" range="-60 60"/><joint name="turn" axis="0 0 1" range="-30 30"/>'
        f'<geom type="box" pos=".05 0 0" size=".05 .05 .012" mass=".3"/>{"".join(body for body, _ in fingers)}</body>'
        f"</worldbody><tendon>{tendons}</tendon><actuator>{muscles}</actuator></mujoco>"
    )


def hand_steps(library: Library) -> Call:
    """Steps of the hand, whose muscles are excited evenly."""
    plant = library.plant.MultibodyPlant(TIME_STEP)
    library.parsing.Parser(plant).AddModelsFromString(hand_text(), "xml")
    _finalize(plant)
    simulator = library.analysis.Simulator(plant)
    plant.get_actuation_input_port().FixValue(simulator.get_mutable_context(), np.full(plant.num_actuators(), 0.2))
    return _advance(simulator)


def hand_in_mujoco() -> Call:
    """The same in MuJoCo."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(hand_text())
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.2
    return _advance_in_mujoco(model, data)


# ---------------------------------------------------------------------- a quadruped on height fields


def field_of(num_tiles: int) -> Any:
    """A height field of that many equal tiles of 100 x 100 cells along each side, an odd number."""
    from merganser.geometry import HeightField

    tile = np.random.default_rng(0).uniform(0.0, ROUGHNESS, (TILE, TILE))
    heights = np.pad(np.tile(tile, (num_tiles, num_tiles)), ((0, 1), (0, 1)), mode="wrap")
    width = num_tiles * TILE * CELL
    return HeightField(heights, width, width)


def build_quadruped(library: Library, num_tiles: int) -> tuple[Any, Any, Any, NDArray[np.float64]]:
    """A diagram that is not built yet, its plant and scene graph, and the positions at the start."""
    from merganser import geometry
    from merganser.framework.math import RigidTransform

    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    material = geometry.ProximityProperties()
    geometry.AddContactMaterial(friction=library.plant.CoulombFriction(FRICTION, FRICTION), properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), field_of(num_tiles), "ground", material)
    text = (ROOT / "examples" / "models" / "quadruped.urdf").read_text()
    library.parsing.Parser(plant).AddModelsFromString(text, "urdf")
    for n in range(plant.num_actuators()):
        actuator = plant.get_joint_actuator(library.tree.JointActuatorIndex(n))
        actuator.set_controller_gains(library.tree.PdControllerGains(p=GAINS[0], d=GAINS[1]))
    _finalize(plant)
    return builder, plant, scene_graph, np.array([1.0, 0.0, 0.0, 0.0, 0.013, 0.007, HEIGHT, *4 * STANCE])


def quadruped_steps(library: Library, num_tiles: int) -> Call:
    """Steps of a quadruped in its stance."""
    builder, plant, _, q = build_quadruped(library, num_tiles)
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, q)
    port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("quadruped"))
    port.FixValue(context, np.r_[4 * STANCE, np.zeros(12)])
    return _advance(simulator)


def quadruped_in_mujoco(library: Library, num_tiles: int) -> Call:
    """The same in MuJoCo."""
    import mujoco

    _, plant, scene_graph, q = build_quadruped(library, num_tiles)
    model = mujoco.MjModel.from_xml_string(mujoco_text(plant, scene_graph, FRICTION))
    heights = field_of(num_tiles).heights()
    model.hfield_data[:] = ((heights - heights.min()) / np.ptp(heights)).ravel()
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([q[4:7], q[:4], q[7:]])
    data.ctrl[:] = 4 * STANCE
    return _advance_in_mujoco(model, data)


@functools.cache
def walk_example() -> Any:
    """The module of the example."""
    spec = importlib.util.spec_from_file_location("rough_terrain", ROOT / "examples" / "17_rough_terrain.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_walker(library: Library) -> tuple[Any, Any, Any, Any, NDArray[np.float64]]:
    """A diagram that is not built yet, its plant, scene graph and terrain, and the positions at the start."""
    from merganser import geometry
    from merganser.framework.math import RigidTransform

    example, builder = walk_example(), library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    material, terrain = geometry.ProximityProperties(), example.make_terrain(1)
    friction = library.plant.CoulombFriction(FRICTION, FRICTION)
    geometry.AddContactMaterial(dissipation=5.0, friction=friction, properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), terrain, "ground", material)
    example.add_machine(plant, material)
    _finalize(plant)
    place = [1.0, 0.0, 0.0, 0.0, *example.START, example.HEIGHT + example.FOOT]
    return builder, plant, scene_graph, terrain, np.r_[place, example.gait(0.0, 0.0)]


def walking_steps(library: Library) -> Call:
    """Steps of the machine on its way."""
    builder, plant, _, _, q = build_walker(library)
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, q)
    port = plant.get_desired_state_input_port(plant.GetBodyByName("trunk").model_instance())

    def advance(t: float, desired: NDArray[np.float64]) -> None:
        port.FixValue(context, np.r_[desired, np.zeros(len(desired))])
        simulator.AdvanceTo(t)

    return _walk(advance)


def walking_in_mujoco(library: Library) -> Call:
    """The same in MuJoCo."""
    import mujoco

    _, plant, scene_graph, terrain, q = build_walker(library)
    model, heights = mujoco.MjModel.from_xml_string(mujoco_text(plant, scene_graph, FRICTION)), terrain.heights()
    model.hfield_data[:] = ((heights - heights.min()) / np.ptp(heights)).ravel()
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([q[4:7], q[:4], q[7:]])

    def advance(t: float, desired: NDArray[np.float64]) -> None:
        data.ctrl[:] = desired
        mujoco.mj_step(model, data, round((t - data.time) / TIME_STEP))

    return _walk(advance)


def _walk(advance: Callable[[float, NDArray[np.float64]], None]) -> Call:
    """Calls that go on with the gait, in which new angles are set every five steps."""
    example, times, between = walk_example(), itertools.count(1), 5 * TIME_STEP
    angles = [example.gait(n * between, 0.0) for n in range(round(example.PERIOD / between))]

    def go_on() -> None:
        for n in itertools.islice(times, NUM_STEPS // 5):
            advance(n * between, angles[n % len(angles)])

    for _ in range(round(SETTLED / (NUM_STEPS * TIME_STEP))):
        go_on()
    return go_on


def _finalize(plant: Any) -> None:
    plant.SetUseSampledOutputPorts(False)
    plant.SetUseExplicitVelocityProducts(True)
    plant.Finalize()


def _advance(simulator: Any) -> Call:
    simulator.AdvanceTo(SETTLED)

    def advance() -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + NUM_STEPS * TIME_STEP)

    return advance


def _advance_in_mujoco(model: Any, data: Any) -> Call:
    import mujoco

    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))

    def advance() -> None:
        mujoco.mj_step(model, data, NUM_STEPS)

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each scene beside MuJoCo; empty without it."""
    if importlib.util.find_spec("mujoco") is None:
        return
    yield Row("hand of 39 muscles and 30 tendons, 50 steps", functools.partial(hand_steps, ours), hand_in_mujoco, 1)
    for num_tiles in (1, 11):
        name = f"quadruped on a field of {(num_tiles * TILE) ** 2:.1e} cells, 50 steps"
        beside = functools.partial(quadruped_in_mujoco, ours, num_tiles)
        yield Row(name, functools.partial(quadruped_steps, ours, num_tiles), beside, 1)
    beside = functools.partial(walking_in_mujoco, ours)
    yield Row("six legs walking over 200 x 200 cells, 50 steps", functools.partial(walking_steps, ours), beside, 1)
