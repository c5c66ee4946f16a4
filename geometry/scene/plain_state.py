"""A GeometryState as plain values, for files of contexts (framework/core/context/context_values.py).

What is kept are records of sources, frames and geometries, each known by its place in its list, and beside them the
identifiers that these had. Another program has other identifiers for the same things, and other things of its own know
them, such as the ports of a SceneGraph. So where a state is loaded each record takes the identifier of the record of
the same name that is there, or else gets a new one; and a state whose records are those that are there stays as it is,
with all that has been derived from it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework import AbstractValue, Value
from merganser.framework.core.values.plain_values import Loading, declare_plain
from merganser.framework.math import RigidTransform
from merganser.geometry.meshes.mesh_source import InMemoryMesh, MemoryFile
from merganser.geometry.registration.colors import RenderLabel, Rgba
from merganser.geometry.registration.ids import FilterId, FrameId, GeometryId, SourceId, restore_id
from merganser.geometry.registration.materials import CoulombFriction, HydroelasticType
from merganser.geometry.registration.properties import IllustrationProperties, PerceptionProperties, ProximityProperties
from merganser.geometry.registration.registered import GeometryFrame, GeometryInstance
from merganser.geometry.scene.scene_graph_config import DefaultProximityProperties, SceneGraphConfig

if TYPE_CHECKING:
    from merganser.geometry.scene.geometry_state import GeometryState

_PROPERTIES = {kind.role.name: kind for kind in (ProximityProperties, IllustrationProperties, PerceptionProperties)}


def _declare_types() -> None:
    for settings in (SceneGraphConfig, DefaultProximityProperties):
        declare_plain(settings, lambda value: [vars(value)], lambda values, settings=settings: settings(**values))
    for kind in (FilterId, FrameId, GeometryId, SourceId):
        declare_plain(
            kind,
            lambda value: [value._value],
            lambda number, kind=kind: restore_id(kind, number),
            is_identifier=True,
        )
    declare_plain(CoulombFriction, lambda value: [value.static_friction(), value.dynamic_friction()])
    declare_plain(Rgba, lambda value: [value.r(), value.g(), value.b(), value.a()])
    declare_plain(HydroelasticType, lambda value: [value.value])
    declare_plain(MemoryFile, lambda value: [value.contents(), value.extension(), value.filename_hint()])
    declare_plain(
        InMemoryMesh,
        lambda value: [value.mesh_file, value.supporting_files],
        lambda file, others: InMemoryMesh(mesh_file=file, supporting_files=others),
    )
    declare_plain(RenderLabel, lambda value: [int(value)], RenderLabel.of_number)
    declare_plain(RigidTransform, lambda value: [value.GetAsMatrix34()], lambda pose: RigidTransform(pose=pose))


_declare_types()


def ids_of(state: GeometryState) -> dict[str, list[int]]:
    """The numbers of all identifiers, in the order of the records."""
    kinds: dict[str, Any] = {"sources": state.sources, "frames": state.frames, "geometries": state.geometries}
    return {name: [id.get_value() for id in records] for name, records in kinds.items()}


def records_of(state: GeometryState) -> dict[str, Any]:
    """All that a state holds, with the places of records in their lists instead of identifiers."""
    sources = {id: place for place, id in enumerate(state.sources)}
    frames = {id: place for place, id in enumerate(state.frames)}
    excluded, history, inactive = state.filters.declarations(list(state.geometries))
    return {
        "sources": [source.name for source in state.sources.values()],
        "frames": [[sources[f.source_id], frames[f.parent_id], f.name, f.group] for f in state.frames.values()],
        "geometries": [
            [
                sources[g.source_id], frames[g.frame_id], g.name, g.shape, g.X_FG.GetAsMatrix34().tolist(),
                {role.name: values._groups for role, values in g.properties.items()},
                *([] if g.resolution_hint is None else [g.resolution_hint]),
            ]
            for g in state.geometries.values()
        ],
        "excluded": excluded,
        "history": history,
        "inactive": inactive,
        "config": state.config,
    }  # fmt: skip


def put_records(state: GeometryState, ids: dict[str, list[int]], records: dict[str, Any], loading: Loading) -> None:
    """Gives a state the records of another one; keeps it as it is if it has them.

    Args:
        state: to be changed, last of all.
        ids: from `ids_of`.
        records: from `records_of`.
        loading: notes which identifiers replace those in the file.

    Raises:
        Exception: of any type, if there is anything wrong with the records.
    """
    if not _are_same(records, records_of(state)):
        changed = _state_of(records, state)
        changed.renderers = state.renderers.with_geometries(
            geometry for geometry in changed.geometries.values() if geometry.is_seen()
        )
        vars(state).update(vars(changed))
    here: tuple[Any, ...] = (state.sources, state.frames, state.geometries)
    for kind, name, known in zip((SourceId, FrameId, GeometryId), ("sources", "frames", "geometries"), here):
        if len(ids[name]) != len(known):
            raise ValueError(f"there are {len(known)} {name} and {len(ids[name])} identifiers")
        loading.renamed.update(zip((restore_id(kind, number) for number in ids[name]), known))


def _are_same(mine: Any, theirs: Any) -> bool:
    try:
        return bool(mine == theirs)
    except ValueError:  # there are arrays among the properties
        return False


def _state_of(records: dict[str, Any], known: GeometryState) -> GeometryState:
    """A new state with these records, and the identifiers that another state has for the same things."""
    from merganser.geometry.scene.geometry_state import GeometryState

    state = GeometryState()
    sources = list(known.sources)  # a SceneGraph has a port for each
    if len(records["sources"]) != len(sources):
        raise ValueError(f"there are {len(sources)} sources, and {len(records['sources'])} in the file")
    for id, name in list(zip(sources, records["sources"]))[1:]:
        state.register_source(id, name)
    known_frames = {(f.source_id, f.name): id for id, f in known.frames.items()}
    frames = list(state.frames)
    for source, parent, name, group in records["frames"][1:]:
        source_id = _at(sources, source)
        frame = GeometryFrame(name, group)
        frame._id = known_frames.get((source_id, name), frame._id)
        frames.append(state.register_frame(source_id, _at(frames, parent), frame))
    known_geometries: dict[Any, list[GeometryId]] = {}
    for g in known.geometries.values():
        known_geometries.setdefault((g.frame_id, g.name), []).append(g.id)
    geometry_ids: list[GeometryId] = []
    for source, frame_place, name, shape, X_FG, properties, *hint in records["geometries"]:
        frame_id = _at(frames, frame_place)
        geometry = GeometryInstance(RigidTransform(pose=np.array(X_FG, np.float64)), shape, name)
        for role, groups in properties.items():
            geometry.set_properties(_properties(role, groups))
        candidates = known_geometries.get((frame_id, name))
        if candidates:
            geometry._id = candidates.pop(0)
        register: Any = state.register_deformable_geometry if hint else state.register_geometry
        geometry_ids.append(register(_at(sources, source), frame_id, geometry, *hint))
    state.apply_config(records["config"])
    state.filters.declare(geometry_ids, records["excluded"], records["history"], records.get("inactive", []))
    return state


def _properties(role: Any, groups: Any) -> Any:
    properties = _PROPERTIES[role]()
    for group, values in groups.items():
        if not (isinstance(group, str) and isinstance(values, dict) and all(isinstance(name, str) for name in values)):
            raise TypeError(f"the properties of role {role} are not named values in named groups")
        properties._groups[group] = dict(values)
    return properties


def _at(items: Sequence[Any], place: Any) -> Any:
    if type(place) is not int or not 0 <= place < len(items):
        raise ValueError(f"there is no item {place!r} among {len(items)}")
    return items[place]


class GeometryBox(Value):
    """The box of the geometries of a Context; those it takes from an equal SceneGraph get its own identifiers."""

    __slots__ = ()

    def SetFrom(self, other: AbstractValue) -> None:
        """Replaces the geometries by those of another box.

        Raises:
            ValueError: these are of a SceneGraph with other sources.
        """
        mine, theirs = self._value, other.get_value()
        is_empty = len(mine.sources) == 1 or len(theirs.sources) == 1  # before sources have been registered
        if is_empty or mine.sources.keys() == theirs.sources.keys():
            super().SetFrom(other)
            return
        state = copy.deepcopy(mine)
        try:
            put_records(state, ids_of(theirs), records_of(theirs), Loading(None))
        except Exception as cause:
            raise ValueError(
                "The source context has the geometries of another SceneGraph, with the sources "
                f"{[source.name for source in theirs.sources.values()][1:]}; expected "
                f"{[source.name for source in mine.sources.values()][1:]}."
            ) from cause
        self._value = state
