"""InterPodAffinity and what it is made of."""
