"""One file for each outside format or library; none of them is imported before it is needed."""
