"""Mass properties from a file, checked against what a physical body can have."""

from __future__ import annotations

__all__ = ["MASSLESS", "make_inertia"]

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import InertiaDescription
from merganser.multibody.parsing.xml_reader import XmlNode

# Relative to the largest principal moment: room for moments printed with five or six digits.
_TRIANGLE_TOLERANCE = 1e-5

MASSLESS = InertiaDescription(0.0, np.zeros(3), np.zeros((3, 3)))


def make_inertia(
    node: XmlNode, link: str, mass: float, X_BBi: RigidTransform, moments: dict[str, float]
) -> InertiaDescription:
    """Mass properties of body B from an inertial frame Bi centred on the mass centre.

    Args:
        node: the element to blame.
        link: name of the body, for errors.
        mass: [kg].
        X_BBi: pose of the inertial frame in the body.
        moments: ixx, iyy, izz, ixy, ixz, iyz about Bcm in Bi [kg m^2].

    Raises:
        ParsingError: negative mass, a massless body with rotational inertia, or principal moments that no
            mass distribution has.
    """
    if mass < 0:
        raise node.error(f"link '{link}' has mass {mass:g} kg; a mass cannot be negative.")
    ixx, iyy, izz, ixy, ixz, iyz = (moments[name] for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    I_BBcm_Bi = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    if mass == 0 and np.any(I_BBcm_Bi):
        raise node.error(
            f"link '{link}' has mass 0 but a rotational inertia. Give it a mass, or leave out <inertia>."
        )
    smallest, middle, largest = np.linalg.eigvalsh(I_BBcm_Bi)
    tolerance = _TRIANGLE_TOLERANCE * abs(largest)
    if smallest < -tolerance or smallest + middle < largest - tolerance:
        raise node.error(
            f"link '{link}' has principal moments of inertia {smallest:.6g}, {middle:.6g}, {largest:.6g} "
            "kg m^2. No body has these: none may be negative, and none may exceed the sum of the other two."
        )
    R_BBi = X_BBi.rotation().matrix()
    I_BBcm_B = R_BBi @ I_BBcm_Bi @ R_BBi.T
    return InertiaDescription(mass, np.asarray(X_BBi.translation()), (I_BBcm_B + I_BBcm_B.T) / 2)
