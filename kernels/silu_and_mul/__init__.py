"""SiLU of the first half of each row times the second half."""
