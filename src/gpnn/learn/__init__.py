"""Learning: datasets, protocols, training."""
