"""Training of the density in several dimensions: prepared tasks, and the network that weighs candidates."""
