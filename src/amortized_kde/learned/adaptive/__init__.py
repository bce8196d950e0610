"""`adaptive` and `single`: models that read a sample in its own frame."""
