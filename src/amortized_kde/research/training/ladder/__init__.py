"""Training of the models that answer in the sample's own frame: `adaptive` (shares of a ladder) and `single`."""
