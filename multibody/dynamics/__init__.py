"""The step of a plant, one text for Python and compiled code: see README.md."""
