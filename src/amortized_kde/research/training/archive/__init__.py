"""Training on an archive of ensemble forecasts and their verifying observations."""
