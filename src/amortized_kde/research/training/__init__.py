"""Training: recipes and worlds of tasks enter, models leave. The only room that imports JAX."""
