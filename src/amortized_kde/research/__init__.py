"""What made the models and the evidence of the paper: tasks, training, reproduction."""
