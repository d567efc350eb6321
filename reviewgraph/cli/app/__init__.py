"""A page in the browser for those who type no commands; it runs the commands."""
