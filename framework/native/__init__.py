"""Native code: how kernels are compiled and kept, and `@native` for the functions of users."""

from merganser.framework.native.compile import cache_directory, device, inlined, kernel, source_hash, specialize
from merganser.framework.native.user_functions import native

__all__ = ["cache_directory", "device", "inlined", "kernel", "native", "source_hash", "specialize"]
