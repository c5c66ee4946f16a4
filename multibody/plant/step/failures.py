"""What messages say: why there are no dynamics of a plant in a Context, and what dynamics leave out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.multibody.contact.layout import NOT_A_NUMBER, NOT_CONVERGED
from merganser.multibody.dynamics.records import StepResults
from merganser.multibody.kernels.step import NOT_CONVERGED as NO_STEP
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import BodyIndex, TransmissionIndex
from merganser.multibody.tree.coordinates import position_names, velocity_names

if TYPE_CHECKING:
    from merganser.framework import Context

_MOST_IN_A_STEP = 1e4  # of motion that is resolved [rad or m]


def time_of(context: Context) -> Any:
    """The time for messages [s]; of an AutoDiffXd its value."""
    time: Any = context.store.flat[0]
    return getattr(time, "real", time)


class WarnOnce:
    """Warns of each thing that the dynamics of a plant leave out, the first time that the plant meets it.

    Attributes:
        warned: what there were warnings of.
    """

    def __init__(self) -> None:
        self.warned: set[str] = set()

    def __call__(self, what: str, message: str) -> None:
        """Warns with a message, unless there was one of `what`."""
        if what not in self.warned:
            self.warned.add(what)
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def describe_singularity(model: PlantModel, context: Context, w: Workspace, mobod: int) -> str:
    """Why the articulated body algorithm has stopped at a mobilized body, or the step was not found."""
    time = f"at time {time_of(context)} s"
    if w.is_float and not np.isfinite(w.x).all():
        return describe_overflow(model, context, w, w.x)
    if mobod == NO_STEP:
        return (
            f"The step of plant '{model.path()}' {time} was not found: the search for the "
            "PD-controlled actuators that reach their effort limits did not converge. Check gains and limits."
        )
    fastest = int(np.argmax(np.abs(w.v)))
    if w.is_float and model.time_step * abs(w.v[fastest]) > _MOST_IN_A_STEP:
        return (
            f"Plant '{model.path()}' {time}: velocity {_state_names(model)[len(w.q) + fastest]} has "
            f"grown to {w.v[fastest]:.3g}, so that nothing is left of its inertia but rounding. The forces or the "
            "time step are too large."
        )
    for start, name in model.quaternions.items():
        if not w.q[start : start + 4].any():
            return (
                f"The quaternion of joint '{name}' of plant '{model.path()}' is zero {time}, so it gives no "
                "orientation."
            )
    tree = model.tree
    unknown = [b.name() for b in tree.bodies if b.CalcSpatialInertiaInBodyFrame(context).IsNaN()]
    if unknown:
        return (
            f"Plant '{model.path()}' has no dynamics {time}: the spatial inertia of {', '.join(map(repr, unknown))} "
            "holds NaN. Give it with SetSpatialInertiaInBodyFrame(), or to the constructor."
        )
    body = next(b for b in tree.bodies if tree.mobod_of_body[b.index()] == mobod)
    joint = next(j for j in tree.joints if tree.mobod_of_joint[j.index()] == mobod)
    return (
        f"The mass matrix of plant '{model.path()}' is singular {time}: body "
        f"'{body.name()}', with all that it carries, has no inertia for some motion of joint "
        f"'{joint.name()}' ({joint.type_name()}). Give the body mass and inertia, give the joint's "
        "actuator a rotor inertia, or weld the joint."
    )


def describe_overflow(model: PlantModel, context: Context, w: Workspace, values: Any) -> str:
    """Which of the state, of its derivatives, or of the state after a step are not finite."""
    bad = np.flatnonzero(~np.isfinite(values))
    names = _state_names(model)
    what = "state" if values is w.x else "step" if model.is_discrete else "time derivatives"
    listed = ", ".join(names[i] for i in bad[:5])
    return (
        f"The {what} of plant '{model.path()}' at time {time_of(context)} s is not "
        f"finite in {listed}{', ...' if len(bad) > 5 else ''}. The forces or the time step are too "
        "large, or the state was not finite before."
    )


def describe_bad_pair(model: PlantModel, context: Context, out: StepResults) -> str:
    """Which contact of a kind is not valid."""
    contact = model.contact.contacts_of_kinds[int(out.found["outcome"])]
    names = (f"'{model.tree.get_body(BodyIndex(index)).name()}'" for index in contact.bodies)
    return (
        f"The {contact.kind.name} contact of bodies {' and '.join(names)} of plant '{model.path()}' has at time "
        f"{time_of(context)} s a gap phi that is no number, a normal nhat_BA_W whose length is not 1, or a negative "
        "stiffness; or an exception ended its function, such as an index out of range."
    )


def describe_adhesive_surface(model: PlantModel, context: Context, out: StepResults) -> str:
    """Which adhesion would have to act on a contact surface."""
    index, transmissions, what = int(out.found["outcome"]), model.tree.transmissions, "A geometry with adhesion"
    if index < len(transmissions):
        what = f"The body of adhesion '{transmissions.get(TransmissionIndex(index)).name()}'"
    return (
        f"{what} of plant '{model.path()}' touches on a hydroelastic surface at time {time_of(context)} s, but "
        "adhesion acts at points of contact. Leave out the compliance or rigidity of its geometries, or call "
        "plant.set_contact_model(ContactModel.kPoint)."
    )


def _state_names(model: PlantModel) -> list[str]:
    """Names as GetStateNames() gives them."""
    return position_names(model.tree, None, True) + velocity_names(model.tree, None, True)


def describe_contact_failure(model: PlantModel, context: Context, w: Workspace, x: Any, out: StepResults) -> str:
    """Why the contact problem of a step has no solution, from the state x before the step."""
    if not np.isfinite(x).all():
        return describe_overflow(model, context, w, w.x)
    where = f"The contact problem of plant '{model.path()}' at time {time_of(context)} s"
    counts = out.problem.counts[0]
    size = f"{counts['contacts']} contacts, {counts['constraints'] - counts['contacts']} other constraints"
    status = out.found["outcome"]
    if status == NOT_CONVERGED:
        return f"{where} ({size}) was not solved: its residual is {float(out.statistics['residual']):.1e}."
    if status == NOT_A_NUMBER:
        return f"{where} ({size}) has a number that is not finite; check materials, masses and velocities."
    return (
        f"{where} ({size}) has a mass matrix that is not positive definite; check the masses and inertias of the "
        "bodies."
    )
