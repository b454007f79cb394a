"""Controllers of nodes: taints and leases, and the pods that must leave a node."""
