"""Paths of robots: splines, their timing, and trees that find them."""
