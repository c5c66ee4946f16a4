"""Equality constraints of MJCF files: balls, welds, and equations between joints or fixed tendons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.kernels.constraints.linear import MOST_COORDINATES
from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    CouplerDescription,
    EqualityDescription,
    ModelDescription,
    WeldConstraintDescription,
)
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.mjcf.tendon import FixedTendon
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfTree, Placement
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_FLEXES = ("flex", "flexstrain", "flexvert", "distance")
_SMALLEST_RATIO = 1e-12
_UNABLE = {"joint": "only hinges and slides can be coupled", "tendon": "its tendon is one along a path"}


def add_equalities(tree: MjcfTree, model: MjcfModel, description: ModelDescription, report: MjcfReport) -> None:
    """Adds the constraints of all <equality> sections.

    Args:
        tree: has the sections of all files; names of tendons are known.
        model: has bodies and joints, with their names.
        description: receives the constraints.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a name or number is wrong.
    """
    for placement in tree.placements:
        writer = _EqualityWriter(placement, model, description, report)
        for element in placement.source.section("equality"):
            writer.add(placement.source.defaults.filled(element))


@dataclass
class _EqualityWriter:
    """Adds the constraints of one file."""

    placement: Placement
    model: MjcfModel
    description: ModelDescription
    report: MjcfReport

    def add(self, node: XmlNode) -> None:
        """Adds an equality, once for every replica of what it holds together."""
        if not read_flag(node, "active", True):
            self.report.add(node.location, f"<equality> <{node.tag}> is not active, and left out")
            return
        match node.tag:
            case "connect" | "weld":
                self._hold_bodies(node)
            case "joint":
                self._couple(node, "joint")
            case "tendon":
                self._couple(node, "tendon")
            case tag if tag in _FLEXES:
                self.report.add(node.location, f"<equality> <{tag}> is left out")
            case tag:
                self.report.add(node.location, f"<{tag}> is unknown in <equality>; left out")

    # -- bodies ----------------------------------------------------------------------------------------------

    def _hold_bodies(self, node: XmlNode) -> None:
        if "site1" in node.attributes or "site2" in node.attributes:
            references = [("site", node.require_attribute(name)) for name in ("site1", "site2")]
            for _, [(body_A, site_A), (body_B, site_B)] in self.placement.names.combinations(node, references):
                A, B = self.model.link_of[body_A], self.model.link_of[body_B]
                X_AP, X_BQ = (next(X for p, X in link.sites if p is s) for link, s in ((A, site_A), (B, site_B)))
                self._hold(node, A, X_AP, B, X_BQ)
            return
        references = [
            ("body", node.require_attribute("body1")),
            ("body", node.attributes.get("body2") or "world"),
        ]
        if references[1][1] == "world" and not self.placement.names.is_complete:
            references.pop()
        for _, bodies in self.placement.names.combinations(node, references):
            A = self.model.link_of[bodies[0]]
            B = self.model.link_of[bodies[1]] if len(bodies) == 2 else self.model.links[0]
            self._hold(node, A, *self._poses_of_anchor(node, A, B))

    def _poses_of_anchor(
        self, node: XmlNode, A: MjcfLink, B: MjcfLink
    ) -> tuple[RigidTransform, MjcfLink, RigidTransform]:
        """X_AP, B and X_BQ, by default those that agree in the configuration of the file."""
        X_AB = A.pose_in_world().inverse() @ B.pose_in_world()
        if node.tag == "connect":
            X_AP = RigidTransform(node.vector_attribute("anchor", 3))
            return X_AP, B, X_AB.inverse() @ X_AP
        X_BQ = RigidTransform(node.vector_attribute("anchor", 3, [0.0, 0.0, 0.0]))
        relative = node.vector_attribute("relpose", 7, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        q = relative[3:]
        if not q.any():
            return X_AB @ X_BQ, B, X_BQ
        R_AB = RotationMatrix(Quaternion(q / np.linalg.norm(q)))
        # The point of A is where `relpose` puts it; B has its own frame there, with `anchor` as its point.
        return RigidTransform(R_AB, relative[:3]), B, X_BQ

    def _hold(self, node: XmlNode, A: MjcfLink, X_AP: RigidTransform, B: MjcfLink, X_BQ: RigidTransform) -> None:
        body_A, body_B = self.model.reference(A), self.model.reference(B)
        if body_A == body_B:
            raise node.error(f"{node.describe()} holds body '{body_A.body}' at itself; it needs two bodies.")
        if node.tag == "connect":
            self.description.ball_constraints.append(
                BallConstraintDescription(body_A, X_AP.translation(), body_B, X_BQ.translation(), node.location)
            )
            return
        if node.float_attribute("torquescale", 1.0) == 0.0:
            self.report.add(node.location, "<weld> torquescale 0: a ball constraint")
            self.description.ball_constraints.append(
                BallConstraintDescription(body_A, X_AP.translation(), body_B, X_BQ.translation(), node.location)
            )
            return
        self.description.weld_constraints.append(WeldConstraintDescription(body_A, X_AP, body_B, X_BQ, node.location))

    # -- joints and tendons ----------------------------------------------------------------------------------

    def _couple(self, node: XmlNode, kind: str) -> None:
        """y - y0 = a0 + a1 (x - x0) + ... between two joints or tendons; of one, y - y0 = a0."""
        coefficients = node.vector_attribute("polycoef", (1, 2, 3, 4, 5), [0.0, 1.0, 0.0, 0.0, 0.0])
        a = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
        a[: len(coefficients)] = coefficients
        references = [(kind, node.require_attribute(f"{kind}1"))]
        if node.attributes.get(f"{kind}2"):
            references.append((kind, node.attributes[f"{kind}2"]))
        else:
            a[1:] = 0.0
        for _, things in self.placement.names.combinations(node, references):
            y, x = (*(self._length(node, kind, thing) for thing in things), FixedTendon.of(node, {}))[:2]
            if y is None or x is None:
                self.report.add(node.location, f"<equality> <{kind}> is left out: {_UNABLE[kind]}")
            elif a[2:].any():
                self._add_polynomial(node, kind, y, x, a)
            else:
                self._add_linear(node, kind, y, x, a)

    def _length(self, node: XmlNode, kind: str, thing: Any) -> FixedTendon | None:
        """The linear function of joints that is constrained; None if it is not linear."""
        if kind == "tendon":
            return thing if isinstance(thing, FixedTendon) else None
        joint = self.model.joint_of[thing[1]]
        return FixedTendon.of(node, {joint: 1.0}) if joint.is_scalar else None

    def _add_linear(self, node: XmlNode, kind: str, y: FixedTendon, x: FixedTendon, a: np.ndarray) -> None:
        """y - a1 x = y0 + a0 - a1 x0: of one joint that stays, of two as a coupler, or of more."""
        together = y.minus(x, float(a[1]))
        constant = together.reference_length() + float(a[0])
        terms = {joint: c for joint, c in together.coefficients.items() if abs(c) > _SMALLEST_RATIO}
        trees = [_tree_of(joint) for joint in terms]
        if not 0 < len(terms) <= MOST_COORDINATES or len(set(trees)) > 2:
            what = f"{len(terms)} joints" + (f" of {len(set(trees))} trees of bodies" if len(set(trees)) > 2 else "")
            self.report.add(node.location, f"<equality> <{kind}> of {what} is left out")
            return
        # Joints of the first tree that is not that of the first joint come second, see kernels/constraints.
        second = next((k for k, tree in enumerate(trees) if tree is not trees[0]), min(1, len(terms) - 1))
        joints = list(terms)
        joints = [joints[0], *joints[second : second + 1], *(j for k, j in enumerate(joints) if k not in (0, second))]
        c = [terms[joint] for joint in joints]
        self._check_finite(node, np.array([*c, constant]) / c[0])
        if len(terms) == 2:
            description = CouplerDescription(
                self.model.name, joints[0].name, joints[1].name, -c[1] / c[0], constant / c[0], node.location
            )
            self.description.couplers.append(description)
        elif len(terms) == 1:
            self._add_equality(node, "polynomial", joints[:1], [constant / c[0], *[0.0] * 6])
        else:
            self._add_equality(node, "linear", joints, [constant / c[0], *(value / c[0] for value in c)])

    def _add_polynomial(self, node: XmlNode, kind: str, y: FixedTendon, x: FixedTendon, a: np.ndarray) -> None:
        """c (q - r) = a0 + a1 d (p - r') + a2 d^2 (p - r')^2 + ... of two different joints."""
        if len(y.coefficients) != 1 or len(x.coefficients) != 1 or set(y.coefficients) & set(x.coefficients):
            self.report.add(node.location, f"<equality> <{kind}> is left out: its polynomial is not of two joints")
            return
        ((joint, c),), ((other, d),) = y.coefficients.items(), x.coefficients.items()
        with np.errstate(all="ignore"):
            scaled = a * d ** np.arange(5.0) / c
        self._check_finite(node, scaled)
        self._add_equality(node, "polynomial", [joint, other], [*scaled, joint.reference, other.reference])

    def _add_equality(self, node: XmlNode, kind: str, joints: Sequence[MjcfJoint], constants: Sequence[float]) -> None:
        names = tuple(joint.name for joint in joints)
        self.description.equalities.append(
            EqualityDescription(kind, names, tuple(map(float, constants)), node.location)
        )

    @staticmethod
    def _check_finite(node: XmlNode, numbers: np.ndarray) -> None:
        if not np.isfinite(numbers).all():
            raise node.error(f"{node.describe()} has coefficients too large or small to compute with.")


def _tree_of(joint: MjcfJoint) -> MjcfBody:
    """The outermost body that joints move, of those around that of a joint."""
    body: MjcfBody | None = joint.body
    top = joint.body
    while body is not None:
        top = body if body.joints else top
        body = body.parent
    return top
