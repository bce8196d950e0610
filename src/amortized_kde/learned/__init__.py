"""The trained models: store, architectures, and the features, networks and predictions of each family."""
