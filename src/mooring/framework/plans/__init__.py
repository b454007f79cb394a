"""Plans: what has to be done before a pod is bound, as data, and whether a plugin's are legal."""
