"""DefaultPreemption, its search for victims, and disruption budgets."""
