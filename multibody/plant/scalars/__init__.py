"""Plants of other scalars than floats: how their kernels compute, and derivatives by the chain rule."""
