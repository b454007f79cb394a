"""Shell completion: what can follow on a command line, and the scripts that ask for it."""
