"""Trajectories through graphs of convex sets."""
