"""The trained density of samples in two to eight dimensions."""
