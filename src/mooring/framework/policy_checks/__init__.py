"""What can be said about a policy without running its functions; `loading` asks for all of it."""
