"""Training: the trainer, model files, estimators, explanations."""
