"""Ways in which a plant models contact, as names of pydrake."""

from __future__ import annotations

from merganser.framework.common.enumeration import Enumeration

__all__ = ["ContactModel", "DiscreteContactApproximation", "DiscreteContactSolver"]


class ContactModel(Enumeration):
    """Which contacts are surfaces of hydroelastic contact, and which are points."""

    kHydroelastic = 0  # surfaces only; pairs of shapes that allow none are refused
    kPoint = 1  # points only
    kHydroelasticWithFallback = 2  # surfaces where shapes allow them, points elsewhere

    kHydroelasticsOnly = 0
    kPointContactOnly = 1


class DiscreteContactApproximation(Enumeration):
    """How the step of a discrete plant approximates compliance and friction of contacts."""

    kTamsi = 0
    kSap = 1
    kSimilar = 2
    kLagged = 3


class DiscreteContactSolver(Enumeration):
    """What solves for the contact forces of a discrete step."""

    kTamsi = 0
    kSap = 1
