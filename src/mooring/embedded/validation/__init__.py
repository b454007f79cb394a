"""What may stand in an object: the rules of the API server, in its words."""
