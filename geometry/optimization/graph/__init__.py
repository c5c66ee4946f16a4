"""Graphs of convex sets and shortest paths through them."""
