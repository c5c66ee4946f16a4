"""Keyframes of MJCF files: states by their names. That of `home` gives the default positions of a plant.

A free joint has in qpos the position and quaternion of its body, and in qvel v_WBo_W and w_WB_B; a ball in qvel w_FM_M.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from merganser.framework import Context
from merganser.framework.common.errors import nearest_names
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.parsing.description import ModelDescription
from merganser.multibody.parsing.instrument_description import KeyframeDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.parser import Parser, described_model
from merganser.multibody.tree import ModelInstanceIndex

_HOME = "home"


def read_keyframes(source: MjcfSource, model: MjcfModel, report: MjcfReport) -> list[KeyframeDescription]:
    """Reads the keys of the main file.

    Args:
        source: the main file.
        model: has the joints in MuJoCo's order.
        report: names keys that are left out, and activations, controls and times.

    Raises:
        ParsingError: the key `home` has another number of positions, or numbers are wrong.
    """
    found: dict[str, KeyframeDescription] = {}
    joints = list(model.joints())
    sizes = sum(joint.num_positions for joint in joints), sum(_num_velocities(joint.type) for joint in joints)
    for node in source.section("keyframe"):
        name = node.attributes.get("name", "")
        if not name or name in found:
            report.add(node.location, f"<key> is left out: {'another has its name' if name else 'it has no name'}")
            continue
        others = [other for other in ("act", "ctrl", "mpos", "mquat", "time", "plastic") if other in node.attributes]
        if others:
            report.add(node.location, f"<key> '{name}': {', '.join(others)} not used, only qpos and qvel")
        vectors: dict[str, dict[str, np.ndarray]] = {"qpos": {}, "qvel": {}}
        for what, size in zip(vectors, sizes):
            if what not in node.attributes:
                continue
            is_default = name == _HOME and what == "qpos"
            values = node.vector_attribute(what, size if is_default else len(node.attributes[what].split()))
            if len(values) != size:
                report.add(node.location, f"<key> '{name}' {what} has no effect: of {len(values)} numbers, not {size}")
                continue
            start = 0
            for joint in joints:
                count = joint.num_positions if what == "qpos" else _num_velocities(joint.type)
                part, start = values[start : start + count], start + count
                if what == "qpos" and count >= 4:
                    length = float(np.linalg.norm(part[-4:]))
                    if not length > 0.0:
                        raise node.error(f"{node.describe()} has the quaternion 0 0 0 0 for joint '{joint.name}'.")
                    part[-4:] /= length
                vectors[what][joint.name] = part
        found[name] = KeyframeDescription(name, node.location, vectors["qpos"], vectors["qvel"])
    return list(found.values())


def _num_velocities(joint_type: str) -> int:
    return {"free": 6, "ball": 3}.get(joint_type, 1)


def apply_home(description: ModelDescription) -> None:
    """Makes the positions of the key `home` the default ones.

    Args:
        description: its joints and links get them.
    """
    home = next((each.positions for each in description.keyframes if each.name == _HOME), {})
    for i, joint in enumerate(description.joints):
        if joint.name in home:
            description.joints[i] = replace(joint, default_positions=tuple(home[joint.name]))
    for link in description.links:
        if len(home.get(link.name, ())) == 7:
            link.X_WB = _free_pose(home[link.name])


def _free_pose(q: np.ndarray) -> RigidTransform:
    return RigidTransform(RotationMatrix(Quaternion(q[3:])), q[:3])


def SetMjcfKeyframe(
    parser: Parser, context: Context, name: str, model_instance: ModelInstanceIndex | None = None
) -> None:
    """Sets the state of a model to a keyframe of its MJCF file, as mj_resetDataKeyframe does.

        SetMjcfKeyframe(parser, plant_context, "crouch")

    Positions and velocities that the key does not give stay as they are, as do activations and controls.

    Args:
        parser: that has read the file into the plant, which is finalized now.
        context: of the plant.
        name: of the key.
        model_instance: of the file; it may be left out if the parser has read one with keyframes.

    Raises:
        RuntimeError: the plant is not finalized, there is no such model or key, or a body is no longer free that the
            key has a pose of. The Context stays as it was.
    """
    require_types("SetMjcfKeyframe", name=(name, str))
    plant, instance, model = described_model("SetMjcfKeyframe", parser, model_instance, ("keyframes",))
    plant.ValidateContext(context)
    key = next((each for each in model.keyframes if each.name == name), None)
    if key is None:
        hint = nearest_names(name, [each.name for each in model.keyframes])
        raise RuntimeError(f"SetMjcfKeyframe(): '{model.location.file}' has no key '{name}'. {hint}")
    q, v = plant.GetPositions(context).copy(), plant.GetVelocities(context).copy()
    for of, is_position in ((key.positions, True), (key.velocities, False)):
        for joint_name, values in of.items():
            if len(values) >= 6:
                continue
            joint = plant.GetJointByName(joint_name, instance)
            if is_position:
                q[joint.position_start() : joint.position_start() + len(values)] = values
                continue
            if len(values) == 3:  # w_FM_F of w_FM_M
                turn = q[joint.position_start() : joint.position_start() + 4]
                values = RotationMatrix(Quaternion(turn)) @ values
            v[joint.velocity_start() : joint.velocity_start() + len(values)] = values
    before = plant.GetPositionsAndVelocities(context).copy()
    try:
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        for body_name, values in key.positions.items():
            if len(values) == 7:
                plant.SetFreeBodyPose(context, plant.GetBodyByName(body_name, instance), _free_pose(values))
        for body_name, values in key.velocities.items():
            if len(values) == 6:
                body = plant.GetBodyByName(body_name, instance)
                w_WB_W = plant.EvalBodyPoseInWorld(context, body).rotation() @ values[3:]
                plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity(w_WB_W, values[:3]))
    except Exception:
        plant.SetPositionsAndVelocities(context, before)
        raise
