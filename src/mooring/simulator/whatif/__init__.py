"""What would be if: operations on a cluster, carried out on a fork with the scheduler at work."""
