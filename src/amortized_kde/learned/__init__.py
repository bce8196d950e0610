"""The trained models: loading and checking them, and what each family reads, computes and predicts."""
