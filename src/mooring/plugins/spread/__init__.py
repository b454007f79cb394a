"""PodTopologySpread and what it is made of."""
