"""The contests with other estimators that the scripts beside this folder run; not part of the package."""
