"""The native plan: how a Simulator runs its loop compiled (see README.md)."""
