"""From what a person has to samples: sources, datasets, tables, molecules, targets, splits."""
