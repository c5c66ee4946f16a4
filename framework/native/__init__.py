"""Native code: how kernels are compiled and kept."""

from merganser.framework.native.compile import cache_directory, device, kernel, source_hash, specialize

__all__ = ["cache_directory", "device", "kernel", "source_hash", "specialize"]
