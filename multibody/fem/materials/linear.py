"""Linear elasticity: that of linear_corotated.py with R = 1, for small strains and rotations only.

    e = (F + F^T) / 2 - 1,   Psi = mu e : e + lambda / 2 (tr e)^2                         (1)

Source: E. Sifakis, J. Barbic, FEM Simulation of 3D Deformable Solids (2012), section 3.2.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.fem.layout import Material, Point
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.fem.materials.linear_corotated import add_energy, set_derivative, set_growth, set_stress


@device
def prepare(material: Material, point: Point) -> None:
    """R = 1."""
    for i in range(3):
        for j in range(3):
            point["rotation"][i, j] = 1.0 if i == j else 0.0


KIND = MaterialKind(
    "linear", add_energy, set_stress, set_derivative, prepare=prepare, set_growth=set_growth, is_linear=True
)
