"""Arrays of a finalized tree: topology records, coordinates and inputs with names, and parameters of new Contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import set_element_kind
from merganser.multibody.kernels.laws import BELT, law_dtype, set_law_kind
from merganser.multibody.kernels.mobilizers import MOBILIZERS, set_kind
from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.actuator_law import OrientationServo
from merganser.multibody.tree.force_elements import ForceElement
from merganser.multibody.tree.forest import ForestEdge
from merganser.multibody.tree.frame import FixedOffsetFrame
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.joint_parts import write_motion, write_segments
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.multibody.tree.tree import MultibodyTree

Indices = npt.NDArray[np.int64]


def make_topology(
    mobilizers: Sequence[ForestEdge], joints: Sequence[Joint], mobod_of_body: Indices
) -> npt.NDArray[Any]:
    """Returns the topology records of the mobilized bodies, the world first.

    Args:
        mobilizers: in depth-first order.
        joints: the joint of each mobilizer.
        mobod_of_body: number of the mobilized body of each body.

    Raises:
        TypeError: the kind of a joint is no MobilizerKind.
    """
    topology = np.zeros(len(mobilizers) + 1, dtype=layout.topology_dtype)
    set_kind(topology[0], MOBILIZERS[layout.WELD])
    topology["parent"][0] = -1
    q_start = v_start = 0
    for mobod, (mobilizer, joint) in enumerate(zip(mobilizers, joints), start=1):
        record = topology[mobod]
        record["parent"] = mobod_of_body[mobilizer.inboard]
        set_kind(record, joint.kind)
        record["q_start"], record["v_start"] = q_start, v_start
        q_start += joint.num_positions()
        v_start += joint.num_velocities()
    # The records of the segments of all paths follow those of the mobods.
    num_segments = [0, *(len(joint._mobilizer_path()) for joint in joints)]
    topology["path_end"] = len(topology) + np.cumsum(num_segments)
    topology["path_start"] = topology["path_end"] - num_segments
    # A subtree ends where the subtree of its last child does.
    topology["subtree_end"] = np.arange(1, len(topology) + 1)
    for mobod in range(len(topology) - 1, 0, -1):
        parent = topology["parent"][mobod]
        topology["subtree_end"][parent] = max(topology["subtree_end"][parent], topology["subtree_end"][mobod])
    return topology


def make_elements(force_elements: Sequence[ForceElement], tree: MultibodyTree) -> npt.NDArray[Any]:
    """Returns one record a force element: its kind, and on which mobods or coordinates it acts.

    Args:
        force_elements: all but gravity.
        tree: to which they belong, whose joints know where their coordinates start.
    """
    records = np.zeros(len(force_elements), dtype=layout.element_dtype)
    for record, element in zip(records, force_elements):
        set_element_kind(record, element.kind)
        element._write_record(record, tree)
    return records


def num_parameter_records(topology: npt.NDArray[Any]) -> int:
    """Returns the number of parameter records: of the mobilized bodies, and of the segments of paths."""
    return int(topology["path_end"][-1])


@dataclass(frozen=True)
class Coordinates:
    """Index arrays of the positions, velocities and inputs of a finalized tree.

    Attributes:
        num_positions: size of q.
        num_velocities: size of v.
        positions: for each model instance, indices of its positions in q, ascending.
        velocities: for each model instance, indices of its velocities in v, ascending.
        inputs: for each model instance, indices of its inputs in u, ascending.
        actuated_velocities: for each input, which velocity or transmission it drives; u is in the order of actuators.
    """

    num_positions: int
    num_velocities: int
    positions: list[Indices]
    velocities: list[Indices]
    inputs: list[Indices]
    actuated_velocities: Indices

    @staticmethod
    def of(num_instances: int, joints: Sequence[Joint], actuators: Sequence[Actuator]) -> Coordinates:
        """Gathers the indices from joints, which have their starts.

        Args:
            num_instances: number of model instances.
            joints: all joints.
            actuators: all actuators, in the order of their indices.
        """
        nq = sum(joint.num_positions() for joint in joints)
        nv = sum(joint.num_velocities() for joint in joints)
        instance_of_q, instance_of_v = np.zeros(nq, dtype=np.int64), np.zeros(nv, dtype=np.int64)
        for joint in joints:
            q, v = joint.position_start(), joint.velocity_start()
            instance_of_q[q : q + joint.num_positions()] = joint.model_instance()
            instance_of_v[v : v + joint.num_velocities()] = joint.model_instance()
        instance_of_u = np.array([actuator.model_instance() for actuator in actuators], dtype=np.int64)

        def of_each_instance(owners: Indices) -> list[Indices]:
            return [np.flatnonzero(owners == instance) for instance in range(num_instances)]

        return Coordinates(
            num_positions=nq,
            num_velocities=nv,
            positions=of_each_instance(instance_of_q),
            velocities=of_each_instance(instance_of_v),
            inputs=of_each_instance(instance_of_u),
            actuated_velocities=np.array([_place_of(a, nv) for a in actuators], dtype=np.int64),
        )

    def gather(
        self, kind: str, joints: Iterable[Joint], values: Callable[[Joint], npt.NDArray[np.float64]]
    ) -> npt.NDArray[np.float64]:
        """Returns an array in the order of q or of v, made of the values that each joint has.

        Args:
            kind: "positions" or "velocities".
            joints: whose values the array gets.
            values: gives those of a joint.
        """
        gathered = np.zeros(self.num_positions if kind == "positions" else self.num_velocities)
        for joint in joints:
            start, size = joint.velocity_start(), joint.num_velocities()
            if kind == "positions":
                start, size = joint.position_start(), joint.num_positions()
            gathered[start : start + size] = values(joint)
        return gathered


def _place_of(actuator: Actuator, num_v: int) -> int:
    """Which velocity an actuator drives, or which transmission, behind all velocities."""
    transmission = actuator.transmission()
    return actuator.joint().velocity_start() if transmission is None else num_v + int(transmission.index())


def make_laws(
    actuators: Sequence[Actuator], num_q: int, num_v: int, time_step: float, num_belts: int
) -> npt.NDArray[Any]:
    """Returns one record for each actuator with a law, see kernels/laws, and numbers their activations.

    Args:
        actuators: all of them, in the order of u.
        num_q, num_v: numbers of positions and velocities, behind which those of transmissions are.
        time_step: of the plant [s].
        num_belts: bodies whose displacements are the last states.
    """
    with_laws = [place for place, actuator in enumerate(actuators) if actuator.law() is not None]
    records, count = np.zeros(len(with_laws) + num_belts, law_dtype), 0
    for record, place in zip(records, with_laws):
        actuator, law = actuators[place], actuators[place].law()
        assert law is not None
        num_waiting = law.num_waiting(time_step)
        law.write(record, actuator.has_controller(), time_step)
        record["actuators"] = -1
        driven = _driven_by_law(actuators[place : place + 3], isinstance(law.form, OrientationServo))
        for k, each in enumerate(driven):
            transmission = each.transmission()
            places = (
                (each.joint().position_start(), each.joint().velocity_start()) if transmission is None
                else (num_q + int(transmission.index()), num_v + int(transmission.index()))
            )  # fmt: skip
            record["actuators"][k], (record["positions"][k], record["velocities"][k]) = place + k, places
        record["activation"] = record["delay"] = -1
        if num_waiting:
            record["delay"] = count
            count += num_waiting
        if law.num_states():
            record["activation"], actuator._activation_place = count, slice(count, count + law.num_states())
            count += law.num_states()
    for number, record in enumerate(records[len(with_laws) :]):
        set_law_kind(record, BELT)
        record["actuators"] = record["delay"] = -1
        record["activation"], record["constants"][0] = count + number, number
    return records


def _driven_by_law(following: Sequence[Actuator], is_orientation: bool) -> Sequence[Actuator]:
    """The actuators that a law drives, of the one that has it and those that follow.

    Raises:
        RuntimeError: those of an orientation are not three, or have laws or controllers of their own.
    """
    if not is_orientation:
        return following[:1]
    are_free = [each.law() is None and not each.has_controller() for each in following[1:]]
    if len(are_free) < 2 or not all(are_free) or any(each.transmission() is None for each in following):
        raise RuntimeError(
            f"Finalize(): actuator '{following[0].name()}' has an OrientationServo, but is not followed by two "
            "actuators for the other axes, all three along transmissions and these two without law or controller."
        )
    return following


def position_names(
    tree: MultibodyTree,
    model_instance: int | None = None,
    add_model_instance_prefix: bool = True,
    always_add_suffix: bool = True,
) -> list[str]:
    """Returns the names of the positions, in the order of q: instance_joint_suffix.

    Args:
        tree: a finalized tree.
        model_instance: which instance; None for all.
        add_model_instance_prefix: whether names start with that of the instance.
        always_add_suffix: whether joints with a single position have the suffix too.
    """

    def suffixes(joint: Joint) -> list[str]:
        return [joint.position_suffix(k) for k in range(joint.num_positions())]

    return _names(tree, model_instance, add_model_instance_prefix, always_add_suffix, suffixes)


def velocity_names(
    tree: MultibodyTree,
    model_instance: int | None = None,
    add_model_instance_prefix: bool = True,
    always_add_suffix: bool = True,
) -> list[str]:
    """Returns the names of the velocities, in the order of v; arguments as position_names."""

    def suffixes(joint: Joint) -> list[str]:
        return [joint.velocity_suffix(k) for k in range(joint.num_velocities())]

    return _names(tree, model_instance, add_model_instance_prefix, always_add_suffix, suffixes)


def actuator_names(
    tree: MultibodyTree, model_instance: int | None = None, add_model_instance_prefix: bool = True
) -> list[str]:
    """Returns the names of the actuators, in the order of u; arguments as position_names."""
    return [
        _prefix(tree, actuator.model_instance(), add_model_instance_prefix) + actuator.name()
        for actuator in tree.actuators.in_instance(model_instance)
    ]


def _names(
    tree: MultibodyTree,
    model_instance: int | None,
    add_model_instance_prefix: bool,
    always_add_suffix: bool,
    suffixes: Callable[[Joint], list[str]],
) -> list[str]:
    names = []
    for joint in sorted(tree.joints.in_instance(model_instance), key=Joint.position_start):
        stem = _prefix(tree, joint.model_instance(), add_model_instance_prefix) + joint.name()
        ends = suffixes(joint)
        if len(ends) == 1 and not always_add_suffix:
            names.append(stem)
        else:
            names.extend(f"{stem}_{end}" for end in ends)
    return names


def _prefix(tree: MultibodyTree, model_instance: int, add_model_instance_prefix: bool) -> str:
    return f"{tree.GetModelInstanceName(model_instance)}_" if add_model_instance_prefix else ""


def make_default_parameters(
    bodies: Sequence[RigidBody],
    mobilizers: Sequence[ForestEdge],
    joints: Sequence[Joint],
    scalar: Any,
) -> npt.NDArray[Any]:
    """Returns one parameter record a mobilized body, the world first, then one a path segment, from the defaults.

    What can be changed after Finalize() is left at zero, see `write_adjustable_defaults`.

    Args:
        bodies: all bodies, by index.
        mobilizers: in depth-first order.
        joints: the joint of each mobilizer.
        scalar: type of all fields: float64, complex128 or object.
    """
    sizes = [len(joint._mobilizer_path()) for joint in joints]
    parameters = np.zeros(len(mobilizers) + 1 + sum(sizes), dtype=layout.parameter_dtype(scalar))
    parameters["R_PF"] = parameters["R_MB"] = np.eye(3)
    _write_inertia(parameters[0], bodies[0])
    for mobod, (mobilizer, joint) in enumerate(zip(mobilizers, joints), start=1):
        record = parameters[mobod]
        _write_inertia(record, bodies[mobilizer.outboard])
        write_joint_frames(
            record,
            joint,
            mobilizer.is_reversed,
            joint.frame_on_parent().GetFixedPoseInBodyFrame(),
            joint.frame_on_child().GetFixedPoseInBodyFrame(),
        )
        write_motion(record, joint, mobilizer.is_reversed)
    end = len(mobilizers) + 1
    for joint, size in zip(joints, sizes):
        write_segments(parameters[end : end + size], joint)
        end += size
    return parameters


def write_adjustable_defaults(
    parameters: npt.NDArray[Any], joints: Sequence[Joint], actuators: Sequence[Actuator]
) -> None:
    """Writes damping, friction and armature of joints, and reflected inertia of actuators; their defaults may change.

    Args:
        parameters: the records.
        joints: the joint of each mobilizer.
        actuators: all actuators.
    """
    damping, inertia = parameters["damping"], parameters["reflected_inertia"]
    mobods: dict[Joint, int] = {}
    for mobod, joint in enumerate(joints, start=1):
        mobods[joint] = mobod
        damping[mobod, : joint.num_velocities()] = joint._default_damping
        parameters["friction"][mobod, : joint.num_velocities()] = joint._default_friction
        inertia[mobod] = joint._default_armature
    for actuator in actuators:  # rotors add up; a joint that closes a loop has no record
        if actuator.transmission() is None and actuator.joint() in mobods:
            inertia[mobods[actuator.joint()]] += actuator.default_reflected_inertia()


def make_default_frames(frames: Sequence[FixedOffsetFrame], scalar: Any) -> npt.NDArray[Any]:
    """Returns one record of poses an offset frame, see layout.frame_dtype."""
    records = np.zeros(len(frames), dtype=layout.frame_dtype(scalar))
    for record, frame in zip(records, frames):
        record["X_PF"] = frame._X_PF.GetAsMatrix34()
        record["X_BF"] = frame.GetFixedPoseInBodyFrame().GetAsMatrix34()
    return records


def make_default_constants(elements: Sequence[ForceElement], scalar: Any) -> npt.NDArray[Any]:
    """Returns one record of constants a force element, see layout.constant_dtype."""
    records = np.zeros(len(elements), dtype=layout.constant_dtype(scalar))
    for record, element in zip(records, elements):
        element._write_constants(record)
    return records


def _write_inertia(record: Any, body: RigidBody) -> None:
    record["mass"] = body.default_mass()
    record["p_BoBcm_B"] = body.default_com()
    record["G_BBo_B"] = body.default_unit_inertia().CopyToFullMatrix3()


def write_joint_frames(
    record: Any, joint: Joint, is_reversed: bool, X_PF: RigidTransform, X_BM: RigidTransform
) -> None:
    """Writes the frames F (on the inboard body) and M (on the outboard body) of the mobilizer.

    Args:
        record: the parameter record of the mobilizer.
        joint: the joint that it is made of.
        is_reversed: whether the parent body of the joint is the outboard one.
        X_PF: pose of the joint's frame on its parent body.
        X_BM: pose of the joint's frame on its child body.

    The constant pose of a weld goes into X_PF. A reversed joint has its F on the outboard body: there the
    roles of the frames are swapped, the constant pose is inverted and the axis negated (`write_motion`), so that q
    keeps its meaning: X_MF(q) of a rotation or translation about `axis` is X_FM(q) of one about `-axis`.
    """
    X_FM = joint._mobilizer_X_FM()
    if is_reversed:
        X_PF, X_BM, X_FM = X_BM, X_PF, X_FM.inverse()
    _write_pose(record, "R_PF", "p_PoFo_P", X_PF @ X_FM)
    _write_pose(record, "R_MB", "p_MoBo_M", X_BM.inverse())


def _write_pose(record: Any, rotation: str, translation: str, X: RigidTransform) -> None:
    record[rotation] = X.rotation().matrix()
    record[translation] = X.translation()
