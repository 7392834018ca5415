"""Training: the one trainer, model files, estimators, explanations."""
