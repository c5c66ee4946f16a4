"""Convex sets, a file for each kind."""
