"""Mass properties from a file, refused where no physical body can have them."""

from __future__ import annotations

__all__ = ["make_inertia"]

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import RotationalInertia, SpatialInertia


def make_inertia(
    node: XmlNode, link: str, mass: float, X_BBi: RigidTransform, moments: dict[str, float]
) -> SpatialInertia:
    """Spatial inertia M_BBo_B of body B from an inertial frame Bi centred on the mass centre.

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
    if mass == 0:
        if np.any(I_BBcm_Bi):
            raise node.error(
                f"link '{link}' has mass 0 but a rotational inertia. Give it a mass, or zero moments."
            )
        return SpatialInertia.Zero()
    R_BBi = X_BBi.rotation().matrix()
    I_BBcm_B = R_BBi @ I_BBcm_Bi @ R_BBi.T
    try:
        I_SScm_E = RotationalInertia(*np.diag(I_BBcm_B), I_BBcm_B[0, 1], I_BBcm_B[0, 2], I_BBcm_B[1, 2])
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            M_BBo_B = SpatialInertia.MakeFromCentralInertia(mass, X_BBi.translation(), I_SScm_E)
    except RuntimeError:
        I1, I2, I3 = np.linalg.eigvalsh(I_BBcm_Bi)
        raise node.error(
            f"link '{link}' has principal moments of inertia {I1:.6g}, {I2:.6g}, {I3:.6g} kg m^2. No body "
            "has these: none may be negative, and none may exceed the sum of the other two."
        ) from None
    if not np.isfinite(M_BBo_B.CopyToFullMatrix6()).all():
        raise node.error(f"link '{link}' has mass properties too large to compute with.")
    return M_BBo_B
