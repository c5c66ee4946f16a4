"""Transmissions, which actuators and springs act along: tendons, forces on sites, slider-cranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.transmissions import (
    ADHESION,
    BALL,
    FIXED,
    SITE_FORCE,
    SLIDER_CRANK,
    SPATIAL,
    TransmissionKind,
    node_dtype,
    set_transmission_kind,
    transmission_dtype,
    transmission_number_of,
)
from merganser.multibody.kernels.transmissions.records import BODY, COORDINATE, CYLINDER, PULLEY, SITE, SPHERE
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import (
    BodyIndex,
    JointIndex,
    TransmissionIndex,
    default_model_instance,
    world_model_instance,
)
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.joints.joint import Joint
    from merganser.multibody.tree.tree import MultibodyTree

_MOST_CONSTANTS = 8


@dataclass(frozen=True, eq=False)
class JointTerm:
    """A coordinate of a transmission: the position of a joint with one velocity, times a coefficient.

    Attributes:
        joint: of the plant.
        coefficient: of its position [m/rad or 1].
    """

    joint: Joint
    coefficient: float = 1.0


@dataclass(frozen=True, eq=False)
class TendonSite:
    """A site that a tendon goes through, or a frame on which a transmission acts.

    Attributes:
        body: on which it is.
        X_BS: its pose in the body; or p_BS, its position [m], shape [3].
    """

    body: RigidBody
    X_BS: RigidTransform | npt.ArrayLike = (0.0, 0.0, 0.0)

    def pose(self) -> RigidTransform:
        """X_BS."""
        return self.X_BS if isinstance(self.X_BS, RigidTransform) else RigidTransform(as_vector(self.X_BS, 3, "X_BS"))


@dataclass(frozen=True)
class TendonPulley:
    """A pulley: lengths behind it count as divided by its divisor, and a new branch begins.

    Attributes:
        divisor: positive.
    """

    divisor: float


@dataclass(frozen=True, eq=False)
class TendonWrap:
    """A sphere or cylinder around which a tendon may wrap, between two sites.

    Attributes:
        body: on which it is.
        X_BG: its pose in the body; z is the axis of a cylinder.
        radius: positive [m].
        is_cylinder: whether it is a cylinder, without ends, and not a sphere.
        side: the tendon goes around the side of this site; where that is within the surface, the tendon stays within.
            Without one it goes the shorter way.
    """

    body: RigidBody
    X_BG: RigidTransform
    radius: float
    is_cylinder: bool = False
    side: TendonSite | None = None


def _parts_of(element: PathElement) -> list[Joint | RigidBody]:
    """The joint or the bodies of an element."""
    if isinstance(element, JointTerm):
        return [element.joint]
    if isinstance(element, TendonWrap) and element.side is not None:
        return [element.body, element.side.body]
    if isinstance(element, RigidBody):
        return [element]
    return [element.body] if isinstance(element, TendonSite | TendonWrap) else []


PathElement = JointTerm | TendonSite | TendonPulley | TendonWrap | RigidBody


@dataclass(frozen=True)
class _Node:
    """A record of a node, with indices of the tree in place of places in records."""

    what: int
    joint: JointIndex | None = None
    body: BodyIndex | None = None
    X_BN: RigidTransform = field(default_factory=RigidTransform)
    number: float = 1.0
    side: tuple[BodyIndex, npt.NDArray[np.float64]] | None = None


class Transmission(NamedElement):
    """A length l(q) of a kind that a program brings, along which actuators act; see also the classes below.

    A force f along it acts on the coordinates as J^T f, with the moment arms J = dl/dq.

    Args:
        name: unique among the transmissions of its model instance.
        kind: the record of its function.
        path: what it goes through.
        constants: up to eight numbers for the kind.
        model_instance: by default that of the first joint or body in the path but the world.

    Raises:
        TypeError: the kind is no TransmissionKind, or an element of the path is of another type.
        ValueError: a number is out of range or not finite, or there are too many.
    """

    _index_type = TransmissionIndex

    def __init__(
        self,
        name: str,
        kind: TransmissionKind,
        path: Sequence[PathElement],
        constants: Sequence[float] = (),
        model_instance: int | None = None,
    ) -> None:
        transmission_number_of(kind)  # refuses other types
        self._kind, self._constants = kind, tuple(map(float, constants))
        self._parts: tuple[Joint | RigidBody, ...] = tuple(part for e in path for part in _parts_of(e))
        if not self._parts:
            raise ValueError(f"{type(self).__name__} {name!r}: its path has neither a joint nor a site.")
        owners = [part.model_instance() for part in self._parts if part.model_instance() != world_model_instance()]
        owner = (*owners, default_model_instance())[0]
        super().__init__(name, owner if model_instance is None else model_instance)
        if len(self._constants) > _MOST_CONSTANTS or not np.isfinite(self._constants).all():
            raise self._refused(f"constants must be up to {_MOST_CONSTANTS} finite numbers, but are {constants}")
        self._nodes = tuple(map(self._node_of, path))
        self._springs: dict[str, float] = {}
        self.set_spring()
        self.set_limits()
        self.set_friction(0.0)
        self.set_armature(0.0)

    def _node_of(self, element: PathElement) -> _Node:
        """The record of an element of the path."""
        if isinstance(element, JointTerm):
            coefficient = self._finite("coefficient", element.coefficient)
            return _Node(COORDINATE, joint=element.joint.index(), number=coefficient)
        if isinstance(element, TendonSite):
            return _Node(SITE, body=element.body.index(), X_BN=element.pose())
        if isinstance(element, RigidBody) and self._kind is ADHESION:
            return _Node(BODY, body=element.index())
        if isinstance(element, TendonPulley):
            return _Node(PULLEY, number=self._positive("divisor of a pulley", element.divisor))
        if not isinstance(element, TendonWrap):
            raise TypeError(
                f"{type(self).__name__} {self._name!r}: a path is made of JointTerm, TendonSite, TendonPulley and "
                f"TendonWrap, not of a {type(element).__name__}."
            )
        side = None if element.side is None else (element.side.body.index(), element.side.pose().translation())
        radius, what = self._positive("radius", element.radius), CYLINDER if element.is_cylinder else SPHERE
        return _Node(what, body=element.body.index(), X_BN=element.X_BG, number=radius, side=side)

    def _refused(self, why: str) -> ValueError:
        return ValueError(f"{type(self).__name__} {self._name!r}: {why}.")

    def _finite(self, what: str, number: float) -> float:
        if not math.isfinite(number):
            raise self._refused(f"the {what} must be finite, but is {number}")
        return float(number)

    def _positive(self, what: str, number: float) -> float:
        if not (math.isfinite(number) and number > 0.0):
            raise self._refused(f"the {what} must be positive and finite, but is {number}")
        return float(number)

    def _in_tree(self, tree: MultibodyTree) -> Transmission:
        return tree.transmissions.get(self._index)

    def kind(self) -> TransmissionKind:
        """Returns what it is."""
        return self._kind

    # -- its own forces --------------------------------------------------------------------------------------

    def set_spring(
        self,
        stiffness: float = 0.0,
        rest_lower: float | None = None,
        rest_upper: float | None = None,
        damping: float = 0.0,
        rest_positions: Mapping[Joint, float] | None = None,
    ) -> None:
        """Gives it a spring and a damper; before Finalize().

            f = -stiffness (l - l_0) - damping ldot,   with the l_0 from rest_lower to rest_upper that is nearest to l

        Args:
            stiffness: not negative [N/m].
            rest_lower, rest_upper: lengths between which the spring is slack. By default the upper one is the lower
                one, and that the length in the default positions at Finalize() [m].
            damping: not negative [N s/m].
            rest_positions: of some joints with one velocity, in place of their default ones, for that length.

        Raises:
            ValueError: a number is negative or not finite, or the resting lengths are not in order.
            RuntimeError: after Finalize().
        """
        lower = 0.0 if rest_lower is None else rest_lower
        upper = lower if rest_upper is None else rest_upper
        is_valid = 0.0 <= stiffness < math.inf and 0.0 <= damping < math.inf
        if not (is_valid and -math.inf < lower <= upper < math.inf):
            raise self._refused(
                f"stiffness {stiffness} and damping {damping} must not be negative, and resting lengths {lower} "
                f"and {upper} in order"
            )
        given = {"stiffness": stiffness, "damping": damping, "rest_lower": lower, "rest_upper": upper}
        if rest_lower is None:
            given["rest_lower"] = given["rest_upper"] = math.nan  # until Finalize()
        self._rest_positions = {joint.index(): float(q) for joint, q in (rest_positions or {}).items()}
        self._change("set_spring", **given)

    def set_limits(self, lower: float = -math.inf, upper: float = math.inf) -> None:
        """Keeps its length within limits [m]; before Finalize().

        Raises:
            ValueError: the limits are not in order.
            RuntimeError: after Finalize().
        """
        if not lower < upper:
            raise self._refused(f"the lower limit must be less than the upper one, got {lower} and {upper}")
        self._change("set_limits", lower=lower, upper=upper)

    def set_friction(self, friction: float) -> None:
        """Gives it dry friction, at most that force [N]; before Finalize().

        Raises:
            ValueError: it is negative or not finite.
            RuntimeError: after Finalize().
        """
        if not 0.0 <= friction < math.inf:
            raise self._refused(f"dry friction must not be negative, but is {friction}")
        self._change("set_friction", friction=friction)

    def set_armature(self, armature: float) -> None:
        """Gives it an inertia that moves with the rate of its length, such as that of a spindle; before Finalize().

        Mass matrix, bias term and kinetic energy of the plant have it: J^T a J, J^T a Jdot v and a ldot^2 / 2.

        Args:
            armature: a, not negative [kg, or as its coefficients measure lengths].

        Raises:
            ValueError: it is negative or not finite; or it is positive, and the transmission wraps around surfaces or
                is no tendon and no turning of a ball joint: of those, Jdot v is not known.
            RuntimeError: after Finalize().
        """
        if not 0.0 <= armature < math.inf:
            raise self._refused(f"armature must not be negative, but is {armature}")
        wraps = any(node.what in (SPHERE, CYLINDER) for node in self._nodes)
        if armature > 0.0 and (wraps or self._kind not in (FIXED, BALL, SPATIAL)):
            what = "wraps around surfaces" if wraps else f"is a {self._kind.name}"
            raise self._refused(f"it {what}, for which armature is not modelled; leave it 0, or add it to joints")
        self._change("set_armature", armature=armature)

    def armature(self) -> float:
        """Returns the inertia that moves with the rate of its length [kg]."""
        return self._springs["armature"]

    def _change(self, caller: str, **changes: float) -> None:
        if self._tree is not None:
            self._tree._check_not_finalized(caller)
        self._springs = self._springs | {name: float(value) for name, value in changes.items()}

    def stiffness(self) -> float:
        """Returns the stiffness of its spring [N/m]."""
        return self._springs["stiffness"]

    def damping(self) -> float:
        """Returns its damping [N s/m]."""
        return self._springs["damping"]

    def rest_lengths(self) -> tuple[float, float]:
        """Returns the lengths between which its spring is slack [m]; NaN before Finalize() if they follow from that."""
        return self._springs["rest_lower"], self._springs["rest_upper"]

    def limits(self) -> tuple[float, float]:
        """Returns the limits of its length [m]."""
        return self._springs["lower"], self._springs["upper"]

    def friction(self) -> float:
        """Returns the most that its dry friction exerts [N]."""
        return self._springs["friction"]

    # -- in a Context ----------------------------------------------------------------------------------------

    def CalcLength(self, context: Context) -> Any:
        """Returns its length l in a Context [m, or as its coefficients measure it]."""
        return self.GetParentPlant()._transmissions.calc_motion(context)[0][self._index]

    def CalcRate(self, context: Context) -> Any:
        """Returns the rate J v of its length [m/s]."""
        return self.GetParentPlant()._transmissions.calc_motion(context)[1][self._index]

    def CalcMomentArms(self, context: Context) -> npt.NDArray[Any]:
        """Returns its moment arms J along the velocities of the plant, shape [num_velocities]."""
        arms: npt.NDArray[Any] = self.GetParentPlant()._transmissions.calc_motion(context)[2][self._index]
        return arms


class FixedTendon(Transmission):
    """A tendon whose length is a sum of coefficients times positions of joints.

    Args:
        name: unique among the transmissions of its model instance.
        joints: with one velocity each.
        coefficients: as many [m/rad or 1].
        model_instance: by default that of the first joint.

    Raises:
        ValueError: there are not as many coefficients as joints, or they are not finite.
        RuntimeError: a joint has not exactly one velocity.
    """

    def __init__(
        self, name: str, joints: Sequence[Joint], coefficients: Sequence[float], model_instance: int | None = None
    ) -> None:
        if len(joints) != len(coefficients):
            raise ValueError(f"FixedTendon {name!r}: {len(joints)} joints have {len(coefficients)} coefficients.")
        for joint in joints:
            if joint.num_velocities() != 1 or joint._closes_loop:
                raise RuntimeError(
                    f"FixedTendon {name!r}: joint '{joint.name()}' ({joint.type_name()}) has {joint.num_velocities()} "
                    "velocities, but a fixed tendon is along joints with exactly one."
                )
        super().__init__(name, FIXED, list(map(JointTerm, joints, coefficients)), (), model_instance)


class SpatialTendon(Transmission):
    """A tendon through sites, over pulleys, and around spheres and cylinders.

    Args:
        name: unique among the transmissions of its model instance.
        path: TendonSite, TendonPulley and TendonWrap. Each branch begins and ends with a site, has two at least, and
            has a site before and after each surface.
        model_instance: by default that of the first body but the world.

    Raises:
        ValueError: the path has another order, or a number is out of range.
    """

    def __init__(self, name: str, path: Sequence[PathElement], model_instance: int | None = None) -> None:
        letters = {TendonSite: "s", TendonPulley: " ", TendonWrap: "g"}
        words = "".join(letters.get(type(element), "?") for element in path)
        branches = [branch for branch in words.split(" ") if branch]
        is_valid = branches and all(b[0] == b[-1] == "s" and len(b) > 1 and "gg" not in b for b in branches)
        if not is_valid or "?" in words:
            raise ValueError(
                f"SpatialTendon {name!r}: a path begins and ends with a TendonSite, has one between any two surfaces, "
                "and two at least in each branch that a TendonPulley begins."
            )
        super().__init__(name, SPATIAL, path, (), model_instance)

    def CalcPath(self, context: Context) -> list[npt.NDArray[np.float64]]:
        """Returns where it runs in the world [m]: its branches, each as points that lines join, shape [n, 3].

        Arcs around surfaces have a point each 6 degrees at least.
        """
        return self.GetParentPlant()._transmissions.calc_path(context, self._index)


class BallTransmission(Transmission):
    """The turning of a ball joint about an axis: a force along it is a moment about that.

    Args:
        name: unique among the transmissions of its model instance.
        joint: a BallQuaternionJoint.
        axis: by which the moment is the force, shape [3].
        is_on_parent: whether the axis is fixed in the joint's frame on its parent, and not on its child.
    """

    def __init__(self, name: str, joint: Joint, axis: npt.ArrayLike, is_on_parent: bool = False) -> None:
        if joint.num_velocities() != 3 or joint.num_positions() != 4:
            raise RuntimeError(f"BallTransmission {name!r}: joint '{joint.name()}' is a {joint.type_name()}.")
        constants = [float(is_on_parent), *as_vector(axis, 3, "BallTransmission: axis")]
        super().__init__(name, BALL, [JointTerm(joint)], constants)


class SiteTransmission(Transmission):
    """A force on a site, constant in the frame of the site or in that of a reference site.

    Args:
        name: unique among the transmissions of its model instance.
        site: where the force acts.
        F: [moment; force] by which a force of 1 along the transmission acts, shape [6].
        reference: on which the opposite force acts, and in whose frame F is; the length is then that of the site's
            position and turning in it along F, without it 0.
        turns_with_site: whether the moment is in the frame of the site although there is a reference.
    """

    def __init__(
        self, name: str, site: TendonSite, F: npt.ArrayLike, reference: TendonSite | None = None,
        turns_with_site: bool = False,
    ) -> None:  # fmt: skip
        given = as_vector(F, 6, "SiteTransmission: F")
        path = [site] if reference is None else [site, reference]
        super().__init__(name, SITE_FORCE, path, [*given[3:], *given[:3], float(turns_with_site)])


class SliderCrankTransmission(Transmission):
    """A rod from a crank to a slider, whose position along its axis is the length.

    Args:
        name: unique among the transmissions of its model instance.
        crank: a pin on the crank.
        slider: a frame whose z axis the slider moves along.
        rod_length: positive [m].
        scale: of the length.
    """

    def __init__(self, name: str, crank: TendonSite, slider: TendonSite, rod_length: float, scale: float = 1.0) -> None:
        super().__init__(name, SLIDER_CRANK, [crank, slider], [rod_length, scale])
        self._positive("length of the rod", rod_length)


class AdhesionTransmission(Transmission):
    """A pull between a body and all that it touches: a suction cup, or the foot of a gecko.

    A force f [N] along it is spread evenly over the contact points of the body, where it presses both sides together;
    without contact it does nothing. Its length is 0. Contact results do not include the pull, but what balances it.
    Steps with a hydroelastic contact surface of the body are refused.

    Args:
        name: unique among the transmissions of its model instance.
        body: on which the geometries are that adhere.
    """

    def __init__(self, name: str, body: RigidBody) -> None:
        super().__init__(name, ADHESION, [body])


def make_transmissions(transmissions: Sequence[Transmission], tree: MultibodyTree) -> tuple[Any, Any]:
    """Returns the records of transmissions and of their nodes, see kernels/transmissions/records.py."""
    records = np.zeros(len(transmissions), transmission_dtype)
    nodes = np.zeros(sum(len(each._nodes) for each in transmissions), node_dtype)
    end = 0
    for record, transmission in zip(records, transmissions):
        set_transmission_kind(record, transmission.kind())
        record["first"], record["end"] = end, end + len(transmission._nodes)
        record["constants"][: len(transmission._constants)] = transmission._constants
        for name, value in transmission._springs.items():
            record[name] = value
        for node in transmission._nodes:
            _write_node(nodes[end], node, tree)
            end += 1
    return records, nodes


def _write_node(record: Any, node: _Node, tree: MultibodyTree) -> None:
    record["what"], record["number"], record["side_mobod"] = node.what, node.number, -1
    record["X_BN"] = node.X_BN.GetAsMatrix34()
    if node.joint is not None:
        joint = tree.joints.get(node.joint)
        record["q"], record["v"] = joint.position_start(), joint.velocity_start()
    if node.body is not None:
        record["mobod"] = tree.mobod_of_body[node.body]
    if node.side is not None:
        record["side_mobod"], record["p_BS"] = tree.mobod_of_body[node.side[0]], node.side[1]
