"""The paper's models: one bandwidth from five features."""
