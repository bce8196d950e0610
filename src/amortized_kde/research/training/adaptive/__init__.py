"""Training of the models that work in the sample's own frame: `adaptive` (shares of a ladder) and `single`."""
