"""What is typed and how it is explained: the name of the program, help, wrong usage."""
