"""Pure decisions: tree, scoring, measurement statistics, campaign config, budget."""
