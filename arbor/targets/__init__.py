"""What can be optimised: effect shells around servers that run as child programs."""
