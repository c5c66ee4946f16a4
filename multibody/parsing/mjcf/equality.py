"""Equality constraints of MJCF files: balls, welds, and couplers of joints and of fixed tendons."""

from __future__ import annotations

__all__ = ["add_equalities"]

from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    CouplerDescription,
    ModelDescription,
    WeldConstraintDescription,
)
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.names import Copies
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.mjcf.tendon import FixedTendon, read_tendons
from merganser.multibody.parsing.mjcf.tree import MjcfTree, Placement
from merganser.multibody.parsing.xml_reader import XmlNode

_FLEXES = ("flex", "flexstrain", "flexvert", "distance")
_SMALLEST_RATIO = 1e-12


def add_equalities(tree: MjcfTree, model: MjcfModel, description: ModelDescription, report: MjcfReport) -> None:
    """Adds the constraints of all <equality> sections.

    Args:
        tree: has the sections of all files.
        model: has bodies and joints, with their names.
        description: receives the constraints.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a name or number is wrong.
    """
    for placement in tree.placements:
        read_tendons(placement, model, report)
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
        """X_AP, B and X_BQ that agree in the configuration of the file, if the element says nothing else."""
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
        """y - y0 = a0 + a1 (x - x0) + ... between two joints or tendons, or of one."""
        coefficients = node.vector_attribute("polycoef", (1, 2, 3, 4, 5), [0.0, 1.0, 0.0, 0.0, 0.0])
        a = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
        a[: len(coefficients)] = coefficients
        references = [(kind, node.require_attribute(f"{kind}1"))]
        if node.attributes.get(f"{kind}2"):
            references.append((kind, node.attributes[f"{kind}2"]))
        if a[2:].any() and len(references) == 2:
            self.report.add(node.location, f"<equality> <{kind}> is left out: its polynomial is not linear")
            return
        for copies, things in self.placement.names.combinations(node, references):
            lengths = [self._length(kind, thing) for thing in things]
            self._add_coupler(node, kind, lengths, a, copies)

    def _length(self, kind: str, thing: Any) -> FixedTendon | None:
        """The linear function of joints that is held; None if it is none."""
        if kind == "tendon":
            return thing if isinstance(thing, FixedTendon) else None
        joint = self.model.joint_of[thing[1]]
        return FixedTendon({joint: 1.0}) if joint.is_scalar else None

    def _add_coupler(
        self, node: XmlNode, kind: str, lengths: list[FixedTendon | None], a: np.ndarray, copies: Copies
    ) -> None:
        """Adds c0 q0 + c1 q1 = constant as a coupler, if not more than two joints take part."""
        y, x = lengths[0], lengths[1] if len(lengths) == 2 else FixedTendon({})
        if y is None or x is None:
            self.report.add(node.location, f"<equality> <{kind}> is left out: only hinges and slides can be coupled")
            return
        # y - a1 x = y0 + a0 - a1 x0, of which the values in the configuration of the file are those without a0.
        together = y.minus(x, float(a[1]) if len(lengths) == 2 else 0.0)
        constant = together.reference_length() + float(a[0])
        terms = [(joint, c) for joint, c in together.coefficients.items() if abs(c) > _SMALLEST_RATIO]
        if len(terms) != 2:
            what = "one joint" if len(terms) == 1 else f"{len(terms)} joints"
            self.report.add(node.location, f"<equality> <{kind}> of {what} is left out: couplers take two")
            return
        (joint0, c0), (joint1, c1) = terms
        if not np.isfinite([c1 / c0, constant / c0]).all():
            raise node.error(f"{node.describe()} has coefficients too large or small to compute with.")
        self.description.couplers.append(
            CouplerDescription(self.model.name, joint0.name, joint1.name, -c1 / c0, constant / c0, node.location)
        )
