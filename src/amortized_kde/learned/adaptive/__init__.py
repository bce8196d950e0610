"""`adaptive` and `single`: models that read a sample in the frame of its own location and scale."""
