"""Controllers of workloads: what keeps, rolls out, counts and protects sets of pods."""
