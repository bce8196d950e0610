"""Training on an archive of forecasts and what came true: (ensemble, observation) pairs instead of made-up tasks.

Arrays of members, observations and time steps enter; a model, perhaps a dressing, and a report on held-out time leave.
"""
