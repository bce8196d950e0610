"""The paper's models: five moments to one bandwidth."""
