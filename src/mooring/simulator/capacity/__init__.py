"""How many more pods fit, and how many nodes would be needed."""
