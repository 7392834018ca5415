"""The paper's tables from one command: recipes, protocols, jobs, records and reports."""
