"""Systems beside a plant whose outputs are forces on it, or messages about it."""
