"""The reference of the dialect: names with what they do, how they are called, and the code that devices get."""
