"""Steps and derivatives of the state of a plant in a Context, and what output ports show of them."""
