"""From user input to samples: sources, datasets, tables, molecules, targets, splits."""
