"""`portagpu bench`: a command for each suite."""
