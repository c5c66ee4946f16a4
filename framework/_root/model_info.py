"""A summary of a model file on one page: its elements, and what was approximated or left out."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from merganser.multibody.plant import MultibodyPlant

_NUM_NAMES = 12  # of frames that are shown
_WIDTH_OF_FILES = 150  # characters in a line, where there is no terminal


def print_model_info(path: str, fix_base: bool = False) -> None:
    """Reads a model and prints what it has.

    Args:
        path: of the model file.
        fix_base: weld bodies that would float to the world.

    Raises:
        RuntimeError: the file cannot be read (a ParsingError), or the plant cannot be made of it.
    """
    from rich.console import Console

    from merganser.framework import DiagramBuilder
    from merganser.multibody.parsing import Parser
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    with _gathered_warnings() as warnings:
        instances = Parser(plant).AddModels(path)
    if fix_base:
        weld_loose_bodies(plant)
    plant.Finalize()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    names = ", ".join(f"'{plant.GetModelInstanceName(instance)}'" for instance in instances)
    console.print(f"model{'s' if len(instances) > 1 else ''} {names}", markup=False, highlight=False)
    for title, columns, rows in (_bodies(plant), _joints(plant), _tendons(plant), _actuators(plant)):
        if rows:
            console.print(_table(title, columns, rows))
    lines = [
        *_others(plant, scene_graph.model_inspector()),
        _totals(plant),
        *_left_out(warnings),
    ]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


@contextmanager
def _gathered_warnings() -> Iterator[list[str]]:
    """Collects the parser's warnings in a list, and prints none."""
    warnings: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("merganser.multibody.parsing")
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield warnings
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


def weld_loose_bodies(plant: MultibodyPlant) -> None:
    """Welds every body that no joint moves to the world."""
    children = {plant.get_joint(index).child_body().index() for index in plant.GetJointIndices()}
    for index in plant.GetBodyIndices():
        if index not in children and plant.get_body(index) is not plant.world_body():
            plant.WeldFrames(plant.world_frame(), plant.get_body(index).body_frame())


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of the columns that have something in them."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    used = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    for i in used:
        table.add_column(columns[i], overflow="fold")
    for row in rows:
        table.add_row(*(row[i] for i in used))
    return table


_Rows = tuple[str, Sequence[str], list[Sequence[str]]]  # title, columns, rows


def _bodies(plant: MultibodyPlant) -> _Rows:
    rows: list[Sequence[str]] = []
    for body in (plant.get_body(index) for index in range(plant.num_bodies())):
        drawn, touching = plant.GetVisualGeometriesForBody(body), plant.GetCollisionGeometriesForBody(body)
        shapes = str(len(drawn) or ""), str(len(touching) or "")
        if body is not plant.world_body():
            rows.append((body.name(), f"{body.default_mass():.4g}", _numbers(body.default_com()), *shapes))
        elif drawn or touching:
            rows.append(("world", "", "", *shapes))
    return "Bodies", ("body", "mass [kg]", "centre of mass [m]", "drawn shapes", "touching shapes"), rows


def _joints(plant: MultibodyPlant) -> _Rows:
    rows: list[Sequence[str]] = []
    for joint in (plant.get_joint(index) for index in plant.GetJointIndices()):
        starts = joint.default_positions()
        damping, armature = joint.default_damping_vector(), getattr(joint, "default_armature", lambda: 0.0)()
        rows.append((
            joint.name(), joint.type_name(), joint.parent_body().name(), joint.child_body().name(),
            _numbers(starts) if starts.any() else "", _limits(joint), _numbers(damping) if damping.any() else "",
            f"{armature:.3g}" if armature else "",
        ))  # fmt: skip
    return "Joints", ("joint", "type", "parent", "child", "starts at", "limits", "damping", "armature"), rows


def _actuators(plant: MultibodyPlant) -> _Rows:
    rows: list[Sequence[str]] = []
    for actuator in (plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()):
        gains = actuator.get_controller_gains() if actuator.has_controller() else None
        rows.append((
            actuator.name(), _driven(actuator), f"{actuator.effort_limit():.4g}",
            f"{actuator.default_rotor_inertia():.4g}", f"{actuator.default_gear_ratio():.4g}",
            *(("", "") if gains is None else (f"{gains.p:.4g}", f"{gains.d:.4g}")),
        ))  # fmt: skip
    return "Actuators", ("actuator", "drives", "effort limit", "rotor inertia", "gear ratio", "p", "d"), rows


def _driven(actuator: Any) -> str:
    """The joint or tendon that an actuator drives, and how if it is no plain force."""
    transmission, law = actuator.transmission(), actuator.law()
    name: str = actuator.joint().name() if transmission is None else transmission.name()
    if law is None:
        return name
    return f"{name} ({law.kind_name()})"


def _tendons(plant: MultibodyPlant) -> _Rows:
    rows: list[Sequence[str]] = []
    for tendon in map(plant.get_transmission, range(plant.num_transmissions())):
        lower, upper = tendon.limits()
        has_limits = math.isfinite(lower) or math.isfinite(upper)
        rows.append((
            tendon.name(), tendon.kind().name, f"{tendon.stiffness():.4g}", f"{tendon.damping():.4g}",
            f"{tendon.armature():.4g}", f"{lower:.4g} to {upper:.4g}" if has_limits else "",
        ))  # fmt: skip
    return "Tendons and other transmissions", ("name", "kind", "stiffness", "damping", "armature", "limits"), rows


def _others(plant: MultibodyPlant, inspector: Any) -> list[str]:
    """Frames, contact, gravity, force elements and constraints, as far as there are any."""
    from merganser.multibody.tree import ForceElementIndex

    own = {plant.get_body(i).body_frame().index() for i in range(plant.num_bodies())}
    loops = [plant.get_loop_joint(i) for i in range(plant.num_loop_joints())]
    joints = [*map(plant.get_joint, plant.GetJointIndices()), *loops]
    of_joints = {end().index() for joint in joints for end in (joint.frame_on_parent, joint.frame_on_child)}
    frames = [plant.get_frame(i) for i in range(plant.num_frames()) if i not in own | of_joints]
    indices = (ForceElementIndex(i) for i in range(1, plant.num_force_elements()))  # 0 is gravity
    elements = Counter(type(plant.get_force_element(index)).__name__ for index in indices)
    constraints = {
        kind: getattr(plant, f"num_{kind}_constraints")() for kind in ("coupler", "distance", "ball", "weld")
    }
    constraints["tendon"] = plant.num_constraints() - sum(constraints.values())
    pairs, gravity = len(inspector.GetCollisionCandidates()), plant.gravity_field().gravity_vector()
    lines = [f"gravity {_numbers(gravity)} m/s^2; {pairs} pair{'' if pairs == 1 else 's'} of geometries may touch"]
    lines += [f"frames: {_named([frame.name() for frame in frames])}"] if frames else []
    lines += [f"force elements: {_counted(elements)}"] if elements else []
    lines += [f"constraints: {_counted(constraints)}"] if any(constraints.values()) else []
    lines += [f"joints that close loops: {_named([joint.name() for joint in loops])}"] if loops else []
    return lines


def _totals(plant: MultibodyPlant) -> str:
    mass = plant.CalcTotalMass(plant.CreateDefaultContext())
    return (
        f"{plant.num_bodies() - 1} bodies, {plant.num_joints()} joints, {plant.num_actuators()} actuators, "
        f"{plant.num_velocities()} degrees of freedom ({plant.num_positions()} positions), mass {mass:.6g} kg"
    )


def _left_out(warnings: Sequence[str]) -> list[str]:
    if not warnings:
        return ["nothing was approximated or left out"]
    return ["approximated or left out:", *(line for warning in warnings for line in warning.splitlines())]


def _limits(joint: Any) -> str:
    if math.isfinite(angle := getattr(joint, "rotation_limit", lambda: math.inf)()):
        return f"turn of {angle:.4g}"
    if joint.num_positions() != 1:
        return ""
    lower, upper = joint.position_lower_limits()[0], joint.position_upper_limits()[0]
    return f"{lower:.4g} to {upper:.4g}" if max(-lower, upper) < float("inf") else ""


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _named(names: Sequence[str]) -> str:
    """Some names, and the number of others."""
    others = len(names) - _NUM_NAMES
    return ", ".join(names[:_NUM_NAMES]) + (f" and {others} others" if others > 0 else "")


def _counted(counts: Any) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
