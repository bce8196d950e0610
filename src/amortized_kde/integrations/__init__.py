"""One file or folder for each host library or file format, imported only when it is needed."""
