"""How a discrete step follows state and inputs: see README.md."""
