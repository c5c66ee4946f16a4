"""The robots of the benchmarks, for this package, pydrake and pinocchio alike."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from humanoid import humanoid_urdf
from libraries import MODELS, Library, make_parser


class Robot(NamedTuple):
    """A robot as the text of a URDF file.

    Attributes:
        name: in the table.
        urdf: the text.
        base: the frame to weld to the world; "" if the robot floats.
        tip: the frame whose pose and Jacobian are computed.
        num_positions, num_velocities: of the plant.
    """

    name: str
    urdf: str
    base: str
    tip: str
    num_positions: int
    num_velocities: int


@functools.cache
def available_robots() -> tuple[Robot, ...]:
    """The robots whose model files are available."""
    return tuple(_robots())


def _without_friction(urdf: str) -> str:
    """Without the dry friction of joints, of which pydrake knows nothing."""
    return re.sub(r'friction="[^"]*"', "", urdf)


def _robots() -> Iterator[Robot]:
    iiwa = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
    allegro = MODELS / "allegro_hand_description" / "urdf" / "allegro_hand_description_right.urdf"
    if iiwa.exists() and allegro.exists():
        yield Robot("iiwa14", iiwa.read_text(), "base", "iiwa_link_7", 7, 7)
        yield Robot("Allegro hand", _without_friction(allegro.read_text()), "hand_root", "link_15_tip", 16, 16)
    else:
        print(f"no model files at {MODELS}: the rows of iiwa14 and Allegro hand are left out")
    yield Robot("humanoid", humanoid_urdf(), "", "left_wrist_roll", 37, 36)


def chain(num_links: int) -> Robot:
    """Links of 0.1 m, one at the end of the other, by hinges about x and y in turn."""
    lines = ['<robot name="chain">', '<link name="base"/>']
    for i in range(num_links):
        axis = "1 0 0" if i % 2 else "0 1 0"
        lines.append(
            f'<link name="link{i}"><inertial><origin xyz="0 0 -0.05"/><mass value="0.1"/>'
            '<inertia ixx="1e-4" iyy="1e-4" izz="2e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="continuous"><parent link="{f"link{i - 1}" if i else "base"}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 {-0.1 if i else 0}"/><axis xyz="{axis}"/>'
            '<dynamics damping="0.01"/></joint>'
        )
    return Robot("chain", "\n".join([*lines, "</robot>"]), "base", f"link{num_links - 1}", num_links, num_links)


def build_plant(library: Library, robot: Robot) -> Any:
    """A finalized continuous plant of either package."""
    plant = library.plant.MultibodyPlant(0.0)
    make_parser(library, plant).AddModelsFromString(robot.urdf, "urdf")
    if robot.base:
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(robot.base))
    plant.Finalize()
    return plant
