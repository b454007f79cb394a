"""Which running pods would score higher on another node, as a plan."""
