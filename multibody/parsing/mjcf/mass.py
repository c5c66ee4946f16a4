"""Mass properties of the geometries of MJCF files: solids, thin shells and meshes.

Mass properties of bodies in MJCF files: as written, or those of their geometries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.errors import ParsingError, located
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfPart
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import RotationalInertia, SpatialInertia

_Shape = Callable[..., "MassProperties"]
_THOMSEN = 1.6075  # exponent in Thomsen's formula for the area of an ellipsoid
_LAYER = 1e-6  # [m]
_MOST_ROTATIONS = 100  # a handful are needed
_LEAST_ELEMENT = 1e-15  # of elements of a matrix, as a share of the largest


@dataclass(frozen=True)
class MassProperties:
    """Mass, mass centre and central inertia of a body S.

    Attributes:
        mass: [kg].
        p_SoScm_S: mass centre [m], shape [3].
        I_SScm_S: rotational inertia about the mass centre [kg m^2], shape [3, 3].
        R_SP: axes from which principal ones are looked for, shape [3, 3].
    """

    mass: float = 0.0
    p_SoScm_S: np.ndarray = field(default_factory=lambda: np.zeros(3))
    I_SScm_S: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    R_SP: np.ndarray = field(default_factory=lambda: np.eye(3))

    def at(self, X_BS: RigidTransform) -> MassProperties:
        """The same in a frame B."""
        R_BS = X_BS.rotation().matrix()
        return MassProperties(self.mass, X_BS @ self.p_SoScm_S, R_BS @ self.I_SScm_S @ R_BS.T, R_BS @ self.R_SP)

    def scaled(self, factor: float) -> MassProperties:
        """Those of a body whose density is multiplied by a factor."""
        return replace(self, mass=factor * self.mass, I_SScm_S=factor * self.I_SScm_S)

    def principal(self) -> tuple[np.ndarray, np.ndarray]:
        """Principal moments of inertia, shape [3], and the rotation matrix whose columns are their axes.

        Axes of equal moments, any of which would do, are as near to R_SP as Jacobi's rotations leave them.
        """
        R, largest = self.R_SP, float(np.abs(self.I_SScm_S).max())
        for _ in range(_MOST_ROTATIONS):
            I_P = R.T @ self.I_SScm_S @ R
            i, j = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: abs(I_P[pair]))
            if abs(I_P[i, j]) <= _LEAST_ELEMENT * largest:
                break
            tau = (I_P[j, j] - I_P[i, i]) / (2.0 * I_P[i, j])
            t = np.copysign(1.0, tau) / (abs(tau) + np.hypot(1.0, tau))
            c = 1.0 / np.hypot(1.0, t)
            rotation = np.eye(3)
            rotation[i, i] = rotation[j, j] = c
            rotation[i, j], rotation[j, i] = t * c, -t * c
            R = R @ rotation
        return np.diag(R.T @ self.I_SScm_S @ R).copy(), R


def total_mass(parts: Sequence[MassProperties]) -> MassProperties:
    """Those of several bodies together, all in one frame."""
    mass = sum(part.mass for part in parts)
    if not mass > 0.0:
        return MassProperties()
    heavy = [part for part in parts if part.mass > 0.0]
    if len(heavy) == 1:
        return heavy[0]
    p_cm = sum((part.mass * part.p_SoScm_S for part in parts), np.zeros(3)) / mass
    I_cm = np.zeros((3, 3))
    for part in parts:
        I_cm += part.I_SScm_S + part.mass * _inertia_of_point(part.p_SoScm_S - p_cm)
    return MassProperties(mass, p_cm, I_cm)


def _inertia_of_point(p: np.ndarray) -> np.ndarray:
    """Inertia of a particle of mass 1 about the origin."""
    return np.asarray((p @ p) * np.eye(3) - np.outer(p, p))


def _made_of(mass: float, Ixx: float, Iyy: float, Izz: float) -> MassProperties:
    return MassProperties(mass, np.zeros(3), np.diag([Ixx, Iyy, Izz]))


def solid_mass(kind: str, size: Sequence[float]) -> MassProperties:
    """A primitive of density 1 kg/m^3 about its centre.

    Args:
        kind: sphere, ellipsoid, box, cylinder or capsule.
        size: radius; semi-axes; half the lengths; radius and half the length (without the caps) [m].
    """
    match kind:
        case "sphere":
            return _solid_ellipsoid(size[0], size[0], size[0])
        case "ellipsoid":
            return _solid_ellipsoid(*size)
        case "box":
            x, y, z = size
            mass = 8.0 * x * y * z
            return _made_of(mass, *(mass / 3.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])))
        case "cylinder":
            return _solid_cylinder(*size)
    return _capsule(size, _solid_cylinder, lambda r: _solid_ellipsoid(r, r, r), offset=3.0 / 8.0)


def shell_mass(kind: str, size: Sequence[float]) -> MassProperties:
    """A thin primitive of density 1 kg/m^2 about its centre; arguments as solid_mass()."""
    match kind:
        case "sphere":
            return _hollow_sphere(size[0])
        case "ellipsoid":
            return _hollow_ellipsoid(*size)
        case "box":
            return _hollow_box(*size)
        case "cylinder":
            return _hollow_cylinder(size[0], size[1], is_closed=True)
    return _capsule(size, _hollow_cylinder, _hollow_sphere, offset=1.0 / 2.0)


def _solid_ellipsoid(a: float, b: float, c: float) -> MassProperties:
    mass = 4.0 / 3.0 * np.pi * a * b * c
    return _made_of(mass, *(mass / 5.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])))


def _solid_cylinder(r: float, h: float) -> MassProperties:
    mass = 2.0 * np.pi * r * r * h
    across = mass * (r * r / 4.0 + h * h / 3.0)
    return _made_of(mass, across, across, 0.5 * mass * r * r)


def _hollow_cylinder(r: float, h: float, is_closed: bool = False) -> MassProperties:
    side = 4.0 * np.pi * r * h
    across, along = side * (r * r / 2.0 + h * h / 3.0), side * r * r
    if is_closed:  # by two discs
        disc = np.pi * r * r
        side += 2.0 * disc
        across += 2.0 * disc * (r * r / 4.0 + h * h)
        along += disc * r * r
    return _made_of(side, across, across, along)


def _hollow_box(x: float, y: float, z: float) -> MassProperties:
    """Six rectangles."""
    mass, moments = 0.0, np.zeros(3)
    half = np.array([x, y, z])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        side = 8.0 * half[j] * half[k]  # both of them
        mass += side
        second = np.array(half**2 / 3.0)
        second[i] = half[i] ** 2
        moments += side * (second.sum() - second)
    return _made_of(mass, *moments)


def _hollow_sphere(r: float) -> MassProperties:
    area = 4.0 * np.pi * r * r
    return _made_of(area, *np.full(3, 2.0 / 3.0 * area * r * r))


def _hollow_ellipsoid(a: float, b: float, c: float) -> MassProperties:
    """A layer that makes all semi-axes longer by a micrometre, with the area by Thomsen's formula, as in MuJoCo."""
    p = _THOMSEN
    area = 4.0 * np.pi * (((a * b) ** p + (a * c) ** p + (b * c) ** p) / 3.0) ** (1.0 / p)
    inner, outer = _solid_ellipsoid(a, b, c), _solid_ellipsoid(a + _LAYER, b + _LAYER, c + _LAYER)
    moments = np.diag(outer.I_SScm_S - inner.I_SScm_S) * area / (outer.mass - inner.mass)
    return _made_of(area, *moments)


def _capsule(size: Sequence[float], cylinder: _Shape, ball: _Shape, offset: float) -> MassProperties:
    """A cylinder between two halves of a ball, of which the mass centres are `offset` radii from their discs."""
    r, h = size
    middle, caps = cylinder(r, h), ball(r)
    lever = offset * r
    across = middle.I_SScm_S[0, 0] + caps.I_SScm_S[0, 0] + caps.mass * (h * h + 2.0 * h * lever)
    along = middle.I_SScm_S[2, 2] + caps.I_SScm_S[2, 2]
    return _made_of(middle.mass + caps.mass, across, across, along)


def mesh_mass(triangles: np.ndarray, kind: str) -> MassProperties:
    """A mesh of density 1: of pyramids from the middle of the surface to its triangles, or of the triangles alone.

    Args:
        triangles: corners, counter-clockwise from outside [m], shape [n, 3, 3].
        kind: "exact" and "convex" count pyramids with their signs, "legacy" all as positive, "shell" areas.

    Returns:
        Mass 0, if there is no area.
    """
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normals = 0.5 * np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    if not areas.sum() > 0.0:
        return MassProperties()
    middle = areas @ triangles.mean(axis=1) / areas.sum()
    if kind == "shell":
        return _of_simplices(areas, triangles - middle, middle, num_corners=3)
    if kind != "legacy":
        return _of_simplices(_pyramids(triangles - middle, normals), triangles - middle, middle, num_corners=4)
    # Where pyramids from the middle are all taken as positive is the tip of those that make up the mass.
    first = _of_simplices(abs(_pyramids(triangles - middle, normals)), triangles - middle, middle, num_corners=4)
    corners = triangles - first.p_SoScm_S
    second = _of_simplices(abs(_pyramids(corners, normals)), corners, np.zeros(3), num_corners=4)
    I_about_tip = second.I_SScm_S + second.mass * _inertia_of_point(second.p_SoScm_S)
    return MassProperties(second.mass, first.p_SoScm_S, I_about_tip)


def _pyramids(corners: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Volumes between the origin and triangles, positive where a normal points away from it."""
    return np.asarray(np.einsum("ni,ni->n", corners[:, 0], normals) / 3.0)


def _of_simplices(weights: np.ndarray, corners: np.ndarray, origin: np.ndarray, num_corners: int) -> MassProperties:
    """Triangles, or tetrahedra with one corner at the origin (Lasserre and Avrachenkov 2001, see shape_inertia.py)."""
    mass = float(weights.sum())
    if not mass > 0.0:
        return MassProperties()
    sums = corners.sum(axis=1)
    p_cm = weights @ sums / (num_corners * mass)
    second = np.einsum("n,nki,nkj->ij", weights, corners, corners) + np.einsum("n,ni,nj->ij", weights, sums, sums)
    second /= num_corners * (num_corners + 1)
    second -= mass * np.outer(p_cm, p_cm)
    return MassProperties(mass, p_cm + origin, np.trace(second) * np.eye(3) - second)


_TRIANGLE_MARGIN = 1e-9  # by which moments of inertia may break the triangle inequality, as a share of the largest
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
        report: collects impossible inertias, which are replaced by that of a ball of water.

    Raises:
        ParsingError: numbers are missing or negative.
    """
    if uses_geometries(body) or body.inertial is None:
        mass = total_mass(of_geometries)
    else:
        mass = _written_mass(body.inertial, report)
    settings = body.source.settings
    if mass.mass < settings.smallest_mass:
        mass = replace(mass, mass=settings.smallest_mass)
    if not np.isfinite(mass.I_SScm_S).all() or not np.isfinite([mass.mass, *mass.p_SoScm_S]).all():
        raise _too_large(body.node)
    return _possible(body.node, mass, settings.smallest_inertia, settings.balances_inertia, report)


def _written_mass(part: MjcfPart, report: MjcfReport) -> MassProperties:
    """The numbers of an <inertial>; its frame is that of the principal axes."""
    node = part.node
    if "pos" not in node.attributes:
        raise node.error("<inertial> needs an attribute 'pos'.")
    X_BS = part.pose()
    mass = node.float_attribute("mass")
    if mass < 0.0:
        raise node.error(f"<inertial> has the mass {mass:g} kg; a mass cannot be negative.")
    if "fullinertia" in node.attributes:
        if "diaginertia" in node.attributes:
            raise node.error("<inertial> has both 'fullinertia' and 'diaginertia'; expected one of them.")
        ixx, iyy, izz, ixy, ixz, iyz = node.vector_attribute("fullinertia", 6)
        return MassProperties(mass, I_SScm_S=np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])).at(X_BS)
    if "diaginertia" not in node.attributes and mass > 0.0:
        report.add(node.location, "<inertial> has neither 'diaginertia' nor 'fullinertia': a mass at one point")
    moments = node.vector_attribute("diaginertia", 3, [0.0, 0.0, 0.0])
    return MassProperties(mass, I_SScm_S=np.diag(moments)).at(X_BS)


def _possible(
    node: XmlNode, mass: MassProperties, smallest: float, balances: bool, report: MjcfReport
) -> MassProperties:
    """Makes mass properties physically possible."""
    moments, axes = np.linalg.eigh(mass.I_SScm_S)
    new = np.maximum(moments, smallest)
    is_impossible = new[0] < 0.0 or new[0] + new[1] < new[2] * (1.0 - _TRIANGLE_MARGIN)
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
