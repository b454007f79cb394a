"""Results of several schedulers on the same scenario, side by side."""
