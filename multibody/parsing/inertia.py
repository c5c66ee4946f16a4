"""Mass properties from a file; where no physical body can have them, those of a ball in their place."""

from __future__ import annotations

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import RotationalInertia, SpatialInertia

_SMALLEST_MASS = 1e-300  # that has a radius [kg]
_DENSITY = 1000.0  # of water [kg/m^3]


def central_moments(M_BBo_B: SpatialInertia) -> dict[str, float]:
    """Moments and products of inertia about Bcm in B by their names in files [kg m^2]."""
    I_BBcm_B = M_BBo_B.Shift(M_BBo_B.get_com()).CalcRotationalInertia()
    (ixx, iyy, izz), (ixy, ixz, iyz) = I_BBcm_B.get_moments().tolist(), I_BBcm_B.get_products().tolist()
    return {"ixx": ixx, "ixy": ixy, "ixz": ixz, "iyy": iyy, "iyz": iyz, "izz": izz}


def make_inertia(
    node: XmlNode,
    link: str,
    mass: float,
    X_BBi: RigidTransform,
    moments: dict[str, float],
    diagnostics: Diagnostics,
) -> SpatialInertia:
    """Spatial inertia M_BBo_B of body B from an inertial frame Bi centred on the mass centre.

    Mass properties that no body has, which are frequent in files, are replaced by those of a ball of water with the
    same mass (1 kg, if that is not positive) and mass centre.

    Args:
        node: the element to blame.
        link: name of the body, for messages.
        mass: [kg].
        X_BBi: pose of the inertial frame in the body.
        moments: ixx, iyy, izz, ixy, ixz, iyz about Bcm in Bi [kg m^2].
        diagnostics: warned of a negative mass, a massless body with rotational inertia, and principal moments that no
            mass distribution has.

    Raises:
        ParsingError: the numbers are too large to compute with.
    """
    ixx, iyy, izz, ixy, ixz, iyz = (moments[name] for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    I_BBcm_Bi = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    if mass == 0 and not np.any(I_BBcm_Bi):
        return SpatialInertia.Zero()
    p_BoBcm_B, R_BBi = X_BBi.translation(), X_BBi.rotation().matrix()
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        I_BBcm_B = R_BBi @ I_BBcm_Bi @ R_BBi.T
        if np.isfinite(I_BBcm_B).all():
            M_BBo_B = _spatial_inertia(mass, p_BoBcm_B, I_BBcm_B)
            if M_BBo_B is None:
                M_BBo_B = _ball(mass).Shift(-p_BoBcm_B)
                diagnostics.warn(
                    node.location,
                    f"link '{link}' has {_fault(mass, I_BBcm_Bi)}. It gets the inertia of a ball of water with a "
                    f"mass of {M_BBo_B.get_mass():g} kg.",
                )
            if np.isfinite(M_BBo_B.CopyToFullMatrix6()).all():
                return M_BBo_B
    raise node.error(f"link '{link}' has mass properties too large to compute with.")


def _spatial_inertia(mass: float, p_BoBcm_B: np.ndarray, I_BBcm_B: np.ndarray) -> SpatialInertia | None:
    """M_BBo_B, or None if no body has it."""
    if mass <= 0.0:
        return None
    try:
        I_BBcm = RotationalInertia(*np.diag(I_BBcm_B), I_BBcm_B[0, 1], I_BBcm_B[0, 2], I_BBcm_B[1, 2])
        return SpatialInertia.MakeFromCentralInertia(mass, p_BoBcm_B, I_BBcm)
    except RuntimeError:
        return None


def _ball(mass: float) -> SpatialInertia:
    """A ball of water about its mass centre."""
    mass = mass if mass > _SMALLEST_MASS else 1.0
    return SpatialInertia.SolidSphereWithMass(mass, (mass / (4.0 / 3.0 * np.pi * _DENSITY)) ** (1.0 / 3.0))


def _fault(mass: float, I_BBcm_Bi: np.ndarray) -> str:
    """Why no body has these mass properties."""
    if mass < 0.0:
        return f"mass {mass:g} kg, but a mass cannot be negative"
    if mass == 0.0:
        return "mass 0, but a rotational inertia"
    I1, I2, I3 = np.linalg.eigvalsh(I_BBcm_Bi)
    return (
        f"principal moments of inertia {I1:.6g}, {I2:.6g}, {I3:.6g} kg m^2; none may be negative, and none may exceed "
        "the sum of the other two"
    )
