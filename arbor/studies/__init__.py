"""Studies of prior knowledge against search: a table, a plot and raw events from each."""
