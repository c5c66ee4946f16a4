"""Contact and constraint solver: from masses, Jacobians and free velocities to velocities and impulses of one step."""

from merganser.multibody.contact.contact_kinds import ContactKind
from merganser.multibody.contact.law_kind import LawKind
from merganser.multibody.contact.laws import make_settings
from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR, TAMSI, make_trees
from merganser.multibody.contact.solver import contact_velocities, tamsi_contact_velocities
from merganser.multibody.contact.work_arrays import workspace_size
from merganser.multibody.linear.ordering import integer_workspace_size

__all__ = [
    "LAGGED",
    "SAP",
    "SIMILAR",
    "TAMSI",
    "ContactKind",
    "LawKind",
    "contact_velocities",
    "integer_workspace_size",
    "make_settings",
    "make_trees",
    "tamsi_contact_velocities",
    "workspace_size",
]
