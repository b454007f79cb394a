"""What the API server fills in where a client said nothing."""
