"""The functions of Meshcat, by topic."""
