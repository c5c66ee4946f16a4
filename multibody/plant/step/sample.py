"""Samples: what a step started from and found, for output ports; and the boxes that keep them in a Context.

A step leaves StepResults (../../dynamics/records.py) in arrays that the next one overwrites. A sample is a copy of
what they hold, and of the parameters. In files of contexts (context/context_values.py) it is a list of plain values.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import AbstractValue
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.plain_values import Loading
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.layout import COMPLIANT_KINDS
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.proximity.layout import contact_dtype
from merganser.geometry.registration.ids import GeometryId
from merganser.multibody.contact.contact_pairs import OF_FACE, OF_KIND
from merganser.multibody.contact.hydroelastic_pairs import SPRINGS_OF_TRIANGLES, TRIANGLES
from merganser.multibody.contact.plant_forces import calc_forces
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.dynamics.records import StepResults
from merganser.multibody.plant.model import ContactModelArrays
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.multibody.plant.step.step_buffers import StepBuffers

Array = NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]

_NO_ROWS = np.zeros((0, 6))


class Surfaces(NamedTuple):
    """Contact surfaces of one computation of the dynamics: those of hydroelastic contact, or of deformable bodies.

    Attributes:
        geometry_ids: of all geometries by the numbers in
        pairs: geometries M and N that may have a surface, shape [num_pairs, 2]; M is that of a deformable body.
        corners, faces, owners: of the faces, the row of its pair first in owners, see geometry/hydroelastic/engine.py;
            normals of deformable bodies point out of M.
        sources: the face of each contact pair that was made of one.
        forces: of these contact pairs, on the body of M, see plant_layout.py.
        is_triangle: whether faces are shown as triangles.
        is_compliant: of each geometry; empty for deformable bodies.
    """

    geometry_ids: list[GeometryId]
    pairs: Array
    corners: Array
    faces: Array
    owners: Array
    sources: Array
    forces: Array
    is_triangle: bool
    is_compliant: Array


class ContactSample(NamedTuple):
    """The contacts of one computation of the dynamics; it is never changed afterwards.

    Results of a step of AutoDiffXd stay in lanes until they are read, see `merged`.

    Attributes:
        geometry_ids: of all geometries, and
        bodies: the indices of their bodies; both by the numbers in
        geometries: A, then B of each contact, whose normal points from B into A; shape [num_contacts, 2].
        contacts: the geometric contact of which each was made, records of contact_dtype; of several the deepest.
        forces: on the body of A in W [N], speeds of approach and of slip [m/s] after a discrete step, and p_WC [m], at
            which the force acts; shape [num_contacts, NUM_FORCE_VALUES].
        tau: generalized forces of all contacts, shape [num_v].
        tau_joints: generalized forces of joint limits and constraints of coordinates, shape [num_v].
        row_forces: of loop joints and constraints between bodies, [t; f] of each row, see kernels/constraints/.
        statistics: of the solver, the numbers of result_dtype; None for a continuous plant.
        surfaces: contact surfaces, or None.
        deformables: contacts of deformable bodies, or None.
    """

    geometry_ids: list[GeometryId]
    bodies: Array
    geometries: Array
    contacts: Array
    forces: Array
    tau: Array
    tau_joints: Array
    row_forces: Array
    statistics: tuple[Any, ...] | None = None
    surfaces: Surfaces | None = None
    deformables: Surfaces | None = None

    def merged(self) -> ContactSample:
        """The same with arrays of AutoDiffXd in place of those in lanes."""
        return self._replace(
            forces=np.asarray(self.forces), tau=np.asarray(self.tau), tau_joints=np.asarray(self.tau_joints),
            row_forces=np.asarray(self.row_forces),
        )  # fmt: skip


class DynamicsSample(NamedTuple):
    """What one computation of the dynamics started from and found; it is never changed afterwards.

    Attributes:
        x: the state it started from, shape [num_q + num_v].
        result: the next state after a step, or the time derivatives; shape as x.
        net_actuation: what the actuators exerted, shape [num_inputs].
        mean: velocities of which products were taken, see ../../kernels/velocity_products.py; shape [num_v].
        F_applied: spatial forces on the bodies but gravity and those of inboard joints, shape [num_mobods, 6]; of a
            step of AutoDiffXd perhaps in lanes.
        parameters: the numbers of the parameter records.
        gravity: acceleration of gravity [m/s^2], shape [3].
        contacts: None if nothing was in contact.
        time_step: length of the step [s]; 0 if there are derivatives.
    """

    x: Array
    result: Array
    net_actuation: Array
    mean: Array
    F_applied: Array
    parameters: Array
    gravity: Array
    contacts: ContactSample | None
    time_step: float


class UnreadSample:
    """A sample that is made when it is first read, as few are.

    Args:
        make: makes it. What it needs is no Context that anything else may change.
    """

    def __init__(self, make: Callable[[], DynamicsSample]) -> None:
        self._make: Callable[[], DynamicsSample] | None = make
        self._sample: Any = None

    def read(self) -> DynamicsSample:
        """The sample, always the same."""
        with _READING:
            if self._make is not None:
                self._sample, self._make = self._make(), None
        sample: DynamicsSample = self._sample
        return sample


_READING = threading.RLock()  # copies of boxes share what they make samples of


# ---------------------------------------------------------------------- from the results of a step


def found_in(out: StepResults) -> StepResults:
    """What a step has found: its results with arrays that are no longer than that; views."""
    num_candidates, num_contacts, num_pairs, num_surfaces, num_faces, *_ = out.found.item()  # see found_dtype
    return out._replace(
        candidates=out.candidates[: num_candidates - num_surfaces], contacts=out.contacts[:num_contacts],
        contact_pairs=out.contact_pairs[:num_pairs], surface_pairs=out.surface_pairs[:num_surfaces],
        corners=out.corners[:num_faces], faces=out.faces[:num_faces], owners=out.owners[:num_faces],
    )  # fmt: skip


def sample_of_contacts(
    buffers: StepBuffers,
    found: StepResults,
    forces: Any,
    tau: Any,
    tau_joints: Any,
    row_forces: Any = _NO_ROWS,
    statistics: Any = None,
) -> ContactSample:
    """The contact pairs that a step has found, with their forces."""
    ids, bodies, pairs, surfaces = buffers.geometry.ids(), buffers.geometry.bodies, found.contact_pairs, None
    if len(found.surface_pairs):
        forces, geometry = np.asarray(forces), buffers.model.contact.geometry
        of_faces = slice(*np.searchsorted(pairs["origin"], [OF_FACE, OF_KIND]).tolist())
        surfaces = Surfaces(
            ids, found.surface_pairs.copy(), found.corners.copy(), found.faces.copy(), found.owners.copy(),
            pairs["source"][of_faces].copy(), forces[of_faces], geometry.points in (SPRINGS_OF_TRIANGLES, TRIANGLES),
            np.isin(geometry.bodies["kind"], COMPLIANT_KINDS),
        )  # fmt: skip
        pairs, forces = np.delete(pairs, of_faces), np.delete(forces, of_faces, axis=0)
    if len(pairs) and pairs["phi"].max() > 0.0:  # what might have touched, and did not, is left out
        forces = np.asarray(forces)
        is_shown = (pairs["phi"] <= 0.0) | (forces[:, :3] != 0.0).any(axis=1)
        pairs, forces = pairs[is_shown], forces[is_shown]
    has_kinds = len(buffers.contact.sources) > 0
    num_points = int(np.searchsorted(pairs["origin"], OF_KIND)) if has_kinds else len(pairs)
    contacts = found.contacts.take(pairs["source"][:num_points])  # a quarter of the time of [...]
    geometries = found.candidates.take(contacts["pair"], axis=0)
    if has_kinds:
        arrays = buffers.contact
        own, sides = _contacts_of_kinds(arrays, pairs[num_points:])
        contacts, geometries = np.concatenate([contacts, own]), np.concatenate([geometries, len(ids) + sides])
        ids, bodies = ids + arrays.source_ids, np.concatenate([bodies, arrays.source_bodies])
    return ContactSample(ids, bodies, geometries, contacts, forces, tau, tau_joints, row_forces, statistics, surfaces)


def _contacts_of_kinds(arrays: ContactModelArrays, pairs: Array) -> tuple[Array, Array]:
    """Pairs of contacts of kinds as contacts of geometries, and the rows of their sides A and B."""
    contacts = np.zeros(len(pairs), contact_dtype)
    contacts["depth"], contacts["share"] = -pairs["phi"], 1.0
    contacts["p_WC"], contacts["nhat_BA_W"] = pairs["p_WC"], pairs["nhat_BA_W"]
    rows = np.searchsorted(arrays.sources["first_pair"], pairs["source"], side="right") - 1
    return contacts, 2 * rows[:, np.newaxis] + np.arange(2)


def contacts_of_step(
    buffers: StepBuffers, w: Workspace, out: StepResults, F_applied: Array
) -> tuple[ContactSample | None, Any]:
    """The contacts of the last step, None if it had no constraints, and all forces on the bodies.

    Args:
        buffers, w: of the plant in a Context.
        out: what the step has left.
        F_applied: forces on the bodies but those of contacts and constraints, shape [num_mobods, 6].
    """
    if not (buffers.takes_steps and out.found["is_constrained"]):
        return None, F_applied
    if buffers.gradients is not None:
        return buffers.gradients.sample()
    contact, found, num_v = buffers.model.contact, found_in(out), len(w.v)
    F_Bo_W, tau, tau_joints = np.empty_like(F_applied), np.empty(num_v), np.empty(num_v)
    forces = np.empty((len(found.contact_pairs), NUM_FORCE_VALUES))
    row_forces = np.empty((len(contact.constraint_rows), 6))
    w.call(
        calc_forces, contact.trees, contact.constraint_rows, buffers.time_step, F_applied, out.position,
        out.v_next, found.contact_pairs, out.problem, out.impulses, F_Bo_W, tau, tau_joints, forces, row_forces,
    )  # fmt: skip
    sample = sample_of_contacts(buffers, found, forces, tau, tau_joints, row_forces, out.statistics.item())
    of_deformables = None if buffers.deformable is None else buffers.deformable.contacts_of(tau, F_Bo_W, buffers, out)
    if of_deformables is not None:
        tau, surfaces = of_deformables
        sample = sample._replace(tau=tau, deformables=Surfaces(*surfaces))
    return sample, F_Bo_W


def take_sample(
    buffers: StepBuffers, w: Workspace, out: StepResults, numbers: tuple[Any, ...], given: tuple[Array, Array]
) -> DynamicsSample:
    """The sample of the last dynamics.

    Args:
        buffers, w: of the plant in a Context.
        out: what they have left.
        numbers: what they started from and led to, the fields of Sample (dynamics/operation.py) but the counts.
        given: their parameters and gravity.
    """
    x, x_next, u, mean, F_applied = numbers
    contacts, F_Bo_W = contacts_of_step(buffers, w, out, F_applied)
    if F_Bo_W is F_applied and F_Bo_W is not w.zeros_F:
        F_Bo_W = F_Bo_W.copy()
    copied = x.copy(), x_next.copy(), u.copy(), np.array(mean), F_Bo_W
    return DynamicsSample(*copied, *given, contacts, buffers.time_step)


# ---------------------------------------------------------------------- floats, and plain values


def float_sample(record: Any) -> Any:
    """A sample of floats: of an AutoDiffXd only the value counts; None stays.

    Raises:
        RuntimeError: it has expressions of variables.
    """
    if record is None or (isinstance(record, DynamicsSample) and record.x.dtype != object):
        return record
    values = []
    for value in record:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            value = float_sample(value)
        elif hasattr(value, "__array__"):  # also of numbers in lanes
            array = np.asarray(value)
            value = cast_array(array, float) if array.dtype == object else array
        values.append(value)
    return type(record)(*values)


def plain_sample(record: DynamicsSample | None) -> list[Any] | None:
    """A sample as lists of arrays and numbers; None before the first step."""
    if record is None:
        return None
    *arrays, contacts, _ = record
    arrays = [np.asarray(array) for array in arrays]
    if contacts is None:
        return [*arrays, None]
    *known, statistics, surfaces, deformables = contacts.merged()
    known[3] = contacts.contacts.tobytes()
    of_surfaces = None if surfaces is None else list(surfaces[1:])  # whose geometries are those of the contacts
    return [*arrays, [*known, statistics, of_surfaces, None if deformables is None else list(deformables[:-2])]]


def sample_of_plain(plain: Any, shapes: Shapes, time_step: float, loading: Loading) -> DynamicsSample | None:
    """Makes a sample again.

    Args:
        plain: from `plain_sample`; may be damaged.
        shapes: of the arrays of every sample of the plant.
        time_step: of the plant [s].
        loading: of the Context.

    Raises:
        Exception: of any type, if it is not of this plant.
    """
    if plain is None:
        return None
    *arrays, contacts = plain
    if len(arrays) != len(shapes):
        raise ValueError(f"a sample has {len(shapes)} arrays, the file {len(arrays)}")
    scalars = np.dtype(float), loading.scalar
    for array, shape in zip(arrays, shapes):
        _check(array, shape, scalars)
    if contacts is None:
        return DynamicsSample._make([*arrays, None, time_step])
    *known, surfaces, deformables = contacts
    known[3] = np.frombuffer(known[3], contact_dtype).copy()
    sample = ContactSample._make([*known, None, None])
    ids, num_geometries = sample.geometry_ids, _number_of(sample.geometry_ids)
    lengths = {"geometries": num_geometries, "contacts": len(sample.contacts), "v": len(arrays[3])}
    _check_arrays(sample, _OF_CONTACTS, lengths, scalars)
    _check_indices((sample.geometries, num_geometries))
    if not isinstance(sample.statistics, (tuple, type(None))):
        raise TypeError("the statistics of a step are a tuple")
    if surfaces is not None:
        surfaces = _checked_surfaces(Surfaces(ids, *surfaces), num_geometries, scalars)
    if deformables is not None:
        deformables = _checked_surfaces(Surfaces._make([*deformables, False, np.zeros(0, np.bool_)]), 0, scalars[:1])
    contacts = sample._replace(surfaces=surfaces, deformables=deformables)
    return DynamicsSample._make([*arrays, contacts, time_step])


# Shapes of arrays in a file, whose names are lengths, and their dtype: None for the scalars of the Context.
_OF_CONTACTS: dict[str, tuple[Any, ...]] = {
    "bodies": (int, "geometries"),
    "geometries": (int, "contacts", 2),
    "forces": (None, "contacts", NUM_FORCE_VALUES),
    "tau": (None, "v"),
    "tau_joints": (None, "v"),
    "row_forces": (None, "rows", 6),
}
_OF_SURFACES: dict[str, tuple[Any, ...]] = {
    "pairs": (int, "pairs", 2),
    "corners": (None, "faces", MOST_CORNERS, 4),
    "faces": (None, "faces", FACE_NUMBERS),
    "owners": (int, "faces", 4),
    "sources": (int, "sources"),
    "forces": (None, "sources", NUM_FORCE_VALUES),
    "is_compliant": (bool, "compliant"),
}


def _checked_surfaces(surfaces: Surfaces, num_compliant: int, scalars: tuple[Any, ...]) -> Surfaces:
    """Contact surfaces from the file; errors as above."""
    _check_arrays(surfaces, _OF_SURFACES, {"compliant": num_compliant}, scalars)
    corners = surfaces.owners[:, 1]
    if corners.size and not 3 <= corners.min() <= corners.max() <= MOST_CORNERS:
        raise ValueError(f"a face has not 3 to {MOST_CORNERS} corners")
    rows = surfaces.pairs, _number_of(surfaces.geometry_ids)
    _check_indices(rows, (surfaces.owners[:, 0], len(surfaces.pairs)), (surfaces.sources, len(surfaces.faces)))
    return surfaces._replace(is_triangle=bool(surfaces.is_triangle))


def _number_of(ids: Any) -> int:
    if not (isinstance(ids, list) and all(isinstance(id, GeometryId) for id in ids)):
        raise TypeError("a sample lists the identifiers of geometries")
    return len(ids)


def _check_indices(*of_arrays: tuple[Array, int]) -> None:
    for indices, size in of_arrays:
        if indices.size and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(f"an index of its contacts is none of {size}")


def _check_arrays(record: Any, arrays: dict[str, tuple[Any, ...]], lengths: dict[str, int], scalars: Any) -> None:
    """Checks arrays of a record; a length that is not given is that of the first array with it."""
    for name, (dtype, first, *others) in arrays.items():
        array = getattr(record, name)
        shape = lengths.setdefault(first, len(array)), *others
        _check(array, shape, scalars if dtype is None else (np.dtype(dtype),))


def _check(array: Any, shape: tuple[int, ...], dtypes: tuple[Any, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype not in dtypes:
        raise ValueError(f"expected an array of {dtypes[-1]} and shape {shape}")


# ---------------------------------------------------------------------- in a Context


class SampleBox(AbstractValue):
    """The box of a DynamicsSample; None before the first step.

    As samples do not change, copies of the box share them: that takes 4 us less of every step. In the native plan the
    operation leaves its samples in the StepBuffers of the Context, which are copied only when they are read. These get
    samples of other steps too, for the operations of output ports.

    Args:
        value: the sample.
        shapes: of the arrays that every sample of the plant has.
        time_step: of the plant [s].
    """

    __slots__ = ("_buffers", "_count", "_kept", "_parameters", "_shapes", "_time_step")

    def __init__(self, value: Any, shapes: Shapes, time_step: float) -> None:
        super().__init__(value)
        self._shapes, self._time_step = shapes, time_step
        self._buffers: StepBuffers | None = None
        self._count = 0  # of the step whose sample is the value
        self._kept: tuple[int, Any] = -1, None  # the count of a step, and its parameters

    def follow(self, buffers: StepBuffers, parameters: Callable[[], tuple[Array, Array]]) -> None:
        """From now on has the sample in buffers if a step was taken there later than the last change of this.

        Args:
            buffers: of the Context, which asks for the sample before its arrays change.
            parameters: gives copies of the parameters and of gravity.
        """
        sample = float_sample(self.get_value())
        self._value, self._buffers, self._parameters, self._count = sample, buffers, parameters, buffers.count()
        buffers.put(sample)
        buffers.box = self

    def keep_parameters(self) -> None:
        """Keeps the parameters with which the last step was taken, before Python may change them."""
        if self._buffers is not None and self._kept[0] != self._buffers.count() != self._count:
            self._kept = self._buffers.count(), self._parameters()

    def get_value(self) -> Any:
        """Returns the sample."""
        buffers = self._buffers
        if buffers is not None and buffers.count() != self._count:
            self.keep_parameters()
            self._value, self._count = buffers.take_sample(*self._kept[1]), buffers.count()
        if isinstance(self._value, UnreadSample):
            self._value = self._value.read()
        return self._value

    def get_mutable_value(self) -> Any:
        """Returns the sample."""
        return self.get_value()

    def set_value(self, value: Any) -> None:
        """Replaces the sample, perhaps by one that is made when it is read; nothing changes where that fails.

        Raises:
            TypeError: it is no sample of a plant with such coordinates, nor None.
        """
        is_fit = isinstance(value, DynamicsSample) and all(  # of whichever scalar type
            getattr(array, "shape", shape) == shape for array, shape in zip(value, self._shapes)
        )
        is_unread = isinstance(value, UnreadSample)
        if value is not None and not (is_fit or is_unread):
            raise TypeError(
                "The abstract state of a plant is what the last step of a plant like it has left, or None; got "
                f"{type(value).__name__}."
            )
        if self._buffers is None:
            self._value = value
            return
        value = value.read() if isinstance(value, UnreadSample) else value
        self._value, self._count = float_sample(value), self._buffers.count()
        self._buffers.put(self._value)

    def SetFrom(self, other: AbstractValue) -> None:
        """Shares the sample of another box."""
        self.set_value(other._shared_value() if isinstance(other, SampleBox) else other.get_value())

    def Clone(self) -> SampleBox:
        """Returns a box of its own for the same sample."""
        return SampleBox(self._shared_value(), self._shapes, self._time_step)

    def _shared_value(self) -> Any:
        """The sample, perhaps unread."""
        return self._value if isinstance(self._value, UnreadSample) else self.get_value()

    def __deepcopy__(self, memo: dict[int, Any]) -> SampleBox:
        return self.Clone()

    def __reduce__(self) -> Any:
        return SampleBox, (self.get_value(), self._shapes, self._time_step)

    def _plain_state(self) -> Any:
        return plain_sample(self.get_value())

    def _set_plain_state(self, state: Any, loading: Loading) -> None:
        self.set_value(sample_of_plain(state, self._shapes, self._time_step, loading))
