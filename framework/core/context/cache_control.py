"""Freezing the cache of a Context, and computing without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.core.context.store import Store


class CacheControl:
    """What every Context can do with its cache and those of its subcontexts."""

    store: Store
    _is_frozen = False

    def parts(self) -> list[Any]:
        """This context and all below it, depth first."""
        raise NotImplementedError

    def FreezeCache(self) -> None:
        """From now on nothing is computed: asking for what is out of date raises an error.

        What is current can still be read, and values can still be changed.
        """
        mask = 0
        for slot in self._cache_slots():
            if not slot.entry.is_storage:
                mask |= slot.bit
        self.store.computing |= mask
        for context in self.parts():
            context._is_frozen = True

    def UnfreezeCache(self) -> None:
        """Allows computations again."""
        mask = 0
        for slot in self._cache_slots():
            mask |= slot.bit
        self.store.computing &= ~mask
        for context in self.parts():
            context._is_frozen = False

    def is_cache_frozen(self) -> bool:
        """Whether computing is forbidden, by `FreezeCache`."""
        return self._is_frozen

    def SetAllCacheEntriesOutOfDate(self) -> None:
        """Makes everything be computed again when next asked for."""
        mask = 0
        for slot in self._cache_slots():
            mask |= slot.bit
        self.store.change(mask, self)

    def DisableCaching(self) -> None:
        """From now on everything is computed each time that it is asked for; meant for debugging."""
        self.SetAllCacheEntriesOutOfDate()
        for slot in self._cache_slots():
            slot.clearing = -1
        self.store.routing += 1

    def EnableCaching(self) -> None:
        """Keeps results again, those of entries disabled by default too."""
        for slot in self._cache_slots():
            slot.clearing = ~slot.bit
        self.store.routing += 1

    def _cache_slots(self) -> list[Any]:
        """The cache slots of this context and all below it."""
        return [slot for context in self.parts() for slot in getattr(context, "slots", ())]
