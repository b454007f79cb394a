"""What the cluster allows, and what the registry does with an object before it is stored."""
