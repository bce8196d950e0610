"""Training of the models: recipes, the training loop, and training on archives. Needs the extra ``train`` (JAX)."""
