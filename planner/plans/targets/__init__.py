"""How each level of connection is reached."""
