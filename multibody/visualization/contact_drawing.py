"""Contacts in a Meshcat: forces as arrows, contact surfaces as triangles with pressures as colors.

An arrow is a cylinder and heads, which are drawn once; then they are moved, and the cylinder is stretched. For contact
A+B, below `prefix`:

    point/A+B                           at the point, z along the force on B; both ways from there
        /cylinder  /head  /tail
    hydroelastic/A+B                    at the centroid of the surface
        /force_C_W  /moment_C_W         z along the force on A, the moment on A
            /cylinder  /head
        /contact_surface                black, blue, red, yellow, white from the least to the greatest pressure

Contacts that end become invisible; their paths stay, for when they come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import Cylinder, MeshcatCone, Rgba
from merganser.geometry.visualizers import Meshcat
from merganser.multibody.visualization.params import ContactVisualizerParams

Array = NDArray[np.float64]

_HEAD = 2.0  # radius of the head of an arrow, in radii of its cylinder
_UNIFORM = 1e-6  # a range of pressures, relative to the greatest, that is only rounding
_COLORS = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=float)
_SHORTEST = 1e-6  # arrow [m]: objects that are flat have no normals


class ArrowSizes(NamedTuple):
    """Length and thickness of arrows.

    Attributes:
        newtons_per_meter: force of an arrow of 1 m [N/m].
        newton_meters_per_meter: moment of an arrow of 1 m [N m/m].
        radius: of the cylinder [m].
        head: length of the head, in radii of the cylinder.
        longest: arrows are not longer [m].
    """

    newtons_per_meter: float
    newton_meters_per_meter: float
    radius: float
    head: float = _HEAD
    longest: float = np.inf


class _Group:
    """Things that were drawn for the first time together, each of the same parts.

    Attributes:
        X: poses of all parts in their parents, of all things, shape [num_things, num_parts, 4, 4].
    """

    def __init__(self, meshcat: Meshcat, paths: list[str], parts: Sequence[str]) -> None:
        self._meshcat = meshcat
        self._block = meshcat.add_pose_block([path + part for path in paths for part in parts])
        self.X = np.tile(np.eye(4), (len(paths), len(parts), 1, 1))

    def show(self, time: float) -> None:
        """Moves all to their current poses."""
        self._meshcat.set_poses(self._block, self.X.reshape(-1, 4, 4), time)


class _Place(NamedTuple):
    """The index of a thing among all that have been drawn."""

    group: int
    row: int


class _Things:
    """Things of several parts that come and go, each at a path of its own.

    Args:
        meshcat: where they are.
        parts: what of each thing moves, after its path.
    """

    def __init__(self, meshcat: Meshcat, parts: Sequence[str]) -> None:
        self._meshcat = meshcat
        self._parts = parts
        self.forget()

    def forget(self) -> None:
        """Forgets all drawings."""
        self._groups: list[_Group] = []
        self._places: dict[str, _Place] = {}
        self._is_visible: dict[str, bool] = {}

    def add(self, paths: Sequence[str]) -> list[str]:
        """Allocates paths for new things, at which they are to be drawn."""
        new = [path for path in paths if path not in self._places]
        if new:
            self._places.update((path, _Place(len(self._groups), row)) for row, path in enumerate(new))
            self._groups.append(_Group(self._meshcat, new, self._parts))
        return new

    def move(self, paths: Sequence[str], X: Array, time: float) -> None:
        """Moves things to poses of their parts, shape [len(paths), num_parts, 4, 4]."""
        places = np.array([self._places[path] for path in paths]).reshape(-1, 2)
        for number in np.unique(places[:, 0]).tolist():
            chosen = places[:, 0] == number
            group = self._groups[number]
            group.X[places[chosen, 1]] = X[chosen]
            group.show(time)

    def show(self, are_visible: dict[str, bool], time: float) -> None:
        """Shows things, or parts of them, or hides them; all others stay as they are."""
        is_recording = self._meshcat.is_recording()
        for path, is_visible in are_visible.items():
            known = self._is_visible.get(path)
            if is_recording and known is None:  # until now it was not there
                start = self._meshcat.get_mutable_recording().start_time()
                self._meshcat.SetProperty(path, "visible", False, start)
            if is_recording or known is not is_visible:
                self._meshcat.SetProperty(path, "visible", is_visible, time)
                self._is_visible[path] = is_visible

    def hide_all_but(self, shown: dict[str, bool]) -> dict[str, bool]:
        """Shows these contacts, and hides all others drawn before."""
        return {**dict.fromkeys(self._places, False), **shown}


class PointContactDrawing:
    """Arrows at contact points.

    Args:
        meshcat: where they are.
        params: colors, thresholds and sizes.

    Attributes:
        sizes: of arrows; a thickness is that of arrows that are drawn afterwards.
    """

    def __init__(self, meshcat: Meshcat, params: ContactVisualizerParams) -> None:
        self._meshcat, self._params = meshcat, params
        self.sizes = ArrowSizes(params.newtons_per_meter, params.newton_meters_per_meter, params.radius)
        self._path = f"{params.prefix}/point"
        self._arrows = _Things(meshcat, ("", "/cylinder", "/head", "/tail"))

    def forget(self) -> None:
        """Forgets all drawings."""
        self._arrows.forget()

    def update(self, names: Sequence[str], f_Bc_W: Array, p_WC: Array, time: float) -> None:
        """Draws the current contacts.

        Args:
            names: of all contacts, whose geometries may touch in several points.
            f_Bc_W: forces [N], shape [len(names), 3].
            p_WC: points [m], shape [len(names), 3].
            time: simulated time, for recordings [s].
        """
        forces = np.linalg.norm(f_Bc_W, axis=1)
        chosen = np.flatnonzero(forces >= max(self._params.force_threshold, np.finfo(float).tiny))
        paths = _distinct([f"{self._path}/{names[i]}" for i in chosen.tolist()])
        for path in self._arrows.add(paths):
            _draw_arrow(self._meshcat, path, ("head", "tail"), 2.0, self.sizes, self._params.color)
        half = np.clip(forces[chosen] / self.sizes.newtons_per_meter, _SHORTEST, self.sizes.longest)
        X = np.tile(np.eye(4), (len(chosen), 4, 1, 1))
        X[:, 0, :3, :3] = _along(f_Bc_W[chosen])
        X[:, 0, :3, 3] = p_WC[chosen]
        X[:, 1, 2, 2] = half
        end = half + self.sizes.head * self.sizes.radius
        X[:, 2, 2, 3] = -end
        X[:, 3, :3, :3], X[:, 3, 2, 3] = _UPSIDE_DOWN, end
        self._arrows.move(paths, X, time)
        self._arrows.show(self._arrows.hide_all_but(dict.fromkeys(paths, True)), time)


class SurfaceContact(NamedTuple):
    """A contact surface with what it exerts on A at its centroid C.

    Attributes:
        name: of the contact.
        p_WC: position of C [m], shape [3].
        f_Ac_W: force [N], shape [3].
        t_Ac_W: moment [N m], shape [3].
        p_WV: vertices [m], shape [n, 3].
        triangles: vertices by index, shape [m, 3].
        pressures: at the vertices [Pa], shape [n].
    """

    name: str
    p_WC: Array
    f_Ac_W: Array
    t_Ac_W: Array
    p_WV: Array
    triangles: NDArray[Any]
    pressures: Array


class SurfaceContactDrawing:
    """Contact surfaces with their pressures, and arrows for forces and moments.

    Args:
        meshcat: where they are.
        params: colors, thresholds and sizes.

    Attributes:
        sizes: of arrows; a thickness is that of arrows that are drawn afterwards.
    """

    def __init__(self, meshcat: Meshcat, params: ContactVisualizerParams) -> None:
        self._meshcat, self._params = meshcat, params
        self.sizes = ArrowSizes(params.newtons_per_meter, params.newton_meters_per_meter, params.radius)
        self._path = f"{params.prefix}/hydroelastic"
        arrow = ("", "/cylinder", "/head")
        self._contacts = _Things(
            meshcat, ("", *(f"/force_C_W{part}" for part in arrow), *(f"/moment_C_W{part}" for part in arrow))
        )

    def forget(self) -> None:
        """Forgets all drawings."""
        self._contacts.forget()

    def update(self, contacts: Sequence[SurfaceContact], time: float) -> None:
        """Draws the current contacts; `time` is simulated time, for recordings [s]."""
        limits = self._params.force_threshold, self._params.moment_threshold
        sizes = [[np.linalg.norm(contact.f_Ac_W), np.linalg.norm(contact.t_Ac_W)] for contact in contacts]
        has_arrow = np.array(sizes).reshape(-1, 2) >= np.maximum(limits, np.finfo(float).tiny)
        chosen = np.flatnonzero(has_arrow.any(axis=1)).tolist()
        paths = _distinct([f"{self._path}/{contacts[i].name}" for i in chosen])
        colors = self._params.hydro_force_color, self._params.hydro_moment_color
        for path in self._contacts.add(paths):
            for vector, color in zip(("force_C_W", "moment_C_W"), colors):
                _draw_arrow(self._meshcat, f"{path}/{vector}", ("head",), 1.0, self.sizes, color)
        X = np.array([self._poses(contacts[i]) for i in chosen]).reshape(-1, 7, 4, 4)
        self._contacts.move(paths, X, time)
        shown: dict[str, bool] = {}
        for i, path in zip(chosen, paths):
            self._draw_surface(path, contacts[i], time)
            has_force, has_moment = map(bool, has_arrow[i])
            shown |= {path: True, f"{path}/force_C_W": has_force, f"{path}/moment_C_W": has_moment}
        self._contacts.show(self._contacts.hide_all_but(shown), time)

    def _poses(self, contact: SurfaceContact) -> Array:
        """Poses of all parts of a contact's drawing, shape [7, 4, 4]."""
        X = np.tile(np.eye(4), (7, 1, 1))
        X[0, :3, 3] = contact.p_WC
        sizes = self.sizes
        scales = sizes.newtons_per_meter, sizes.newton_meters_per_meter
        for first, vector, scale in zip((1, 4), (contact.f_Ac_W, contact.t_Ac_W), scales):
            size = float(np.linalg.norm(vector))
            length = min(max(size / scale, _SHORTEST), sizes.longest)
            if size > 0:
                X[first, :3, :3] = _along(vector[np.newaxis])[0]
            X[first + 1, 2, 2], X[first + 1, 2, 3] = length, length / 2
            X[first + 2, :3, :3], X[first + 2, 2, 3] = _UPSIDE_DOWN, length + sizes.head * sizes.radius
        return X

    def _draw_surface(self, path: str, contact: SurfaceContact, time: float) -> None:
        self._meshcat.SetTriangleColorMesh(
            f"{path}/contact_surface",
            (contact.p_WV - contact.p_WC).T,
            contact.triangles.T,
            colors_of_pressures(contact.pressures).T,
            time_in_recording=time,
        )


_UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])


def _draw_arrow(
    meshcat: Meshcat, path: str, heads: Sequence[str], length: float, sizes: ArrowSizes, color: Rgba
) -> None:
    """Draws what an arrow is made of, the cylinder to be stretched by the arrow's length."""
    meshcat.SetObject(f"{path}/cylinder", Cylinder(sizes.radius, length), color)
    for head in heads:
        wide = _HEAD * sizes.radius
        meshcat.SetObject(f"{path}/{head}", MeshcatCone(sizes.head * sizes.radius, wide, wide), color)


def _distinct(paths: list[str]) -> list[str]:
    """The same, with a number behind the second and further ones of a name."""
    counts: dict[str, int] = {}
    found = []
    for path in paths:
        counts[path] = count = counts.get(path, 0) + 1
        found.append(path if count == 1 else f"{path}#{count}")
    return found


def _along(vectors: Array) -> Array:
    """Rotation matrices whose z axes are along vectors that are not zero, shape [n, 3, 3]; as MakeFromOneVector."""
    z = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(len(z))
    i = np.abs(z).argmin(axis=1)
    j, k = (i + 1) % 3, (i + 2) % 3
    x = np.zeros_like(z)
    length = np.hypot(z[rows, j], z[rows, k])
    x[rows, j], x[rows, k] = -z[rows, k] / length, z[rows, j] / length
    return np.stack([x, np.cross(z, x), z], axis=2)


def colors_of_pressures(pressures: Array) -> Array:
    """Red, green and blue from 0 to 1 for each pressure, shape [n, 3]; red where all are the same.

    Args:
        pressures: shape [n].
    """
    if not len(pressures):
        return np.zeros((0, 3))
    least, greatest = float(pressures.min()), float(pressures.max())
    if greatest - least <= _UNIFORM * max(abs(greatest), abs(least)):
        return np.tile(_COLORS[2], (len(pressures), 1))
    relative = (pressures - least) / (greatest - least)
    marks = np.linspace(0.0, 1.0, len(_COLORS))
    return np.column_stack([np.interp(relative, marks, column) for column in _COLORS.T])
