"""Commands that bring a policy onto a cluster."""
