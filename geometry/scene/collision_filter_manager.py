"""CollisionFilterManager: the way in which users say which geometries never meet."""

from __future__ import annotations

from collections.abc import Callable

from merganser.geometry.registration.ids import FilterId
from merganser.geometry.scene.collision_filters import CollisionFilterDeclaration
from merganser.geometry.scene.geometry_state import GeometryState


class CollisionFilterManager:
    """Applies collision filters to a SceneGraph's model or to one Context, and takes them away.

    Proximity queries look at a pair of geometries only if both have the proximity role, are fixed to different frames
    (anchored geometries all have one frame, the world), and no declaration excludes the pair. Later declarations
    override earlier ones. A declaration concerns the geometries that have the proximity role when it is applied; one
    that gets it later is not filtered by it.

    Get one from `SceneGraph.collision_filter_manager`.

    Args:
        get_state: returns the state to look at.
        get_state_to_change: returns the same, and notes that it is going to change.
    """

    __slots__ = ("_get_state", "_get_state_to_change")

    def __init__(
        self, get_state: Callable[[], GeometryState], get_state_to_change: Callable[[], GeometryState]
    ) -> None:
        self._get_state = get_state
        self._get_state_to_change = get_state_to_change

    def Apply(self, declaration: CollisionFilterDeclaration) -> None:
        """Applies a declaration for good.

        Raises:
            TypeError: it is no CollisionFilterDeclaration.
            RuntimeError: it names a geometry or a frame that is not registered, or there are transient declarations.
        """
        self._get_state_to_change().apply_filters(declaration)

    def ApplyTransient(self, declaration: CollisionFilterDeclaration) -> FilterId:
        """Applies a declaration on top of all others until it is removed; returns its name.

        Raises:
            TypeError: it is no CollisionFilterDeclaration.
            RuntimeError: it names a geometry or a frame that is not registered.
        """
        return self._get_state_to_change().apply_transient_filters(declaration)

    def RemoveDeclaration(self, filter_id: FilterId) -> bool:
        """Takes a transient declaration away, and returns whether there was such a one."""
        if not self.IsActive(filter_id):
            return False
        self._get_state_to_change().remove_transient_filters(filter_id)
        return True

    def IsActive(self, filter_id: FilterId) -> bool:
        """Whether this transient declaration is in force."""
        if not isinstance(filter_id, FilterId):
            raise TypeError(f"A FilterId was expected; given {filter_id!r}.")
        return self._get_state().filters.is_active(filter_id)

    def has_transient_history(self) -> bool:
        """Whether any transient declarations are in force."""
        return self._get_state().filters.has_history()
