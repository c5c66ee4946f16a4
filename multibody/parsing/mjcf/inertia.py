"""Mass properties of bodies in MJCF files: as written, or those of their geometries."""

from __future__ import annotations

__all__ = ["body_mass", "scaled_to_total", "to_spatial_inertia"]

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from merganser.multibody.parsing.errors import ParsingError, located
from merganser.multibody.parsing.mjcf.mass import MassProperties, total_mass
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfPart
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import RotationalInertia, SpatialInertia

_ROUNDING = 1e-9  # by which moments of inertia may break the triangle inequality, as a share of the largest
_WATER = 1000.0  # [kg/m^3]


def uses_geometries(body: MjcfBody) -> bool:
    """Whether the mass of a body follows from its geometries; a ParsingError if it follows from nothing."""
    how = body.source.settings.inertia_from_geometry
    if how == "false" and body.inertial is None:
        raise body.node.error(
            f"{body.node.describe()} has no <inertial>, which inertiafromgeom=\"false\" asks for; add one."
        )
    return how == "true" or body.inertial is None


def body_mass(body: MjcfBody, of_geometries: Sequence[MassProperties], report: MjcfReport) -> MassProperties:
    """Mass properties of a body, in its frame.

    Args:
        body: the body.
        of_geometries: in its frame.
        report: told of numbers that no body has, which are replaced by those of a ball of water.

    Raises:
        ParsingError: numbers are missing or negative.
    """
    if uses_geometries(body) or body.inertial is None:
        mass = total_mass(of_geometries)
    else:
        mass = _written_mass(body.inertial)
    settings = body.source.settings
    if mass.mass < settings.smallest_mass:
        mass = replace(mass, mass=settings.smallest_mass)
    if not np.isfinite(mass.I_SScm_S).all() or not np.isfinite([mass.mass, *mass.p_SoScm_S]).all():
        raise _too_large(body.node)
    return _possible(body.node, mass, settings.smallest_inertia, settings.balances_inertia, report)


def _written_mass(part: MjcfPart) -> MassProperties:
    """The numbers of an <inertial>; its frame is that of the principal axes."""
    node = part.node
    if "pos" not in node.attributes:
        raise node.error("<inertial> needs an attribute 'pos'.")
    X_BS = part.pose()
    mass = node.float_attribute("mass")
    if mass < 0.0:
        raise node.error(f"<inertial> has the mass {mass:g} kg; a mass cannot be negative.")
    if "fullinertia" in node.attributes:
        ixx, iyy, izz, ixy, ixz, iyz = node.vector_attribute("fullinertia", 6)
        return MassProperties(mass, I_SScm_S=np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])).at(X_BS)
    if "diaginertia" not in node.attributes and mass > 0.0:
        raise node.error("<inertial> needs an attribute 'diaginertia' or 'fullinertia'.")
    moments = node.vector_attribute("diaginertia", 3, [0.0, 0.0, 0.0])
    return MassProperties(mass, I_SScm_S=np.diag(moments)).at(X_BS)


def _possible(
    node: XmlNode, mass: MassProperties, smallest: float, balances: bool, report: MjcfReport
) -> MassProperties:
    """Mass properties that a body can have."""
    moments, axes = np.linalg.eigh(mass.I_SScm_S)
    new = np.maximum(moments, smallest)
    is_impossible = new[0] < 0.0 or new[0] + new[1] < new[2] * (1.0 - _ROUNDING)
    if is_impossible and balances:
        new = np.full(3, new.mean())
    elif is_impossible or (mass.mass == 0.0 and new.any()):
        report.add(
            node.location,
            f"{node.describe()} has a mass of {mass.mass:g} kg with principal moments of inertia "
            f"{', '.join(f'{moment:.6g}' for moment in new)} kg m^2, which no body has; it is a ball of water",
        )
        m = mass.mass if mass.mass > 0.0 else 1.0
        radius = (m / (4.0 / 3.0 * np.pi * _WATER)) ** (1.0 / 3.0)
        return MassProperties(m, mass.p_SoScm_S, 0.4 * m * radius**2 * np.eye(3))
    if np.array_equal(new, moments):
        return mass
    return replace(mass, I_SScm_S=axes @ np.diag(new) @ axes.T)


def scaled_to_total(masses: Sequence[MassProperties], total: float) -> list[MassProperties]:
    """Mass properties of bodies whose masses add up to a total; unchanged, if that is not positive."""
    sum_of_masses = sum(mass.mass for mass in masses)
    if not (total > 0.0 and sum_of_masses > 0.0):
        return list(masses)
    return [mass.scaled(total / sum_of_masses) for mass in masses]


def to_spatial_inertia(mass: MassProperties, node: XmlNode) -> SpatialInertia:
    """M_SSo_S; a ParsingError about an element, if that is too large to compute with."""
    if mass.mass == 0.0:
        return SpatialInertia.Zero()
    I = 0.5 * (mass.I_SScm_S + mass.I_SScm_S.T)
    with located(node.location):
        moments = RotationalInertia(*np.diag(I), I[0, 1], I[0, 2], I[1, 2])
        inertia = SpatialInertia.MakeFromCentralInertia(mass.mass, mass.p_SoScm_S, moments)
    if not np.isfinite(inertia.CopyToFullMatrix6()).all():
        raise _too_large(node)
    return inertia


def _too_large(node: XmlNode) -> ParsingError:
    return node.error(f"{node.describe()} has mass properties too large to compute with.")
