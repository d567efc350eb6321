"""What extra reviews are for, beyond a level of connection: decisions, or precision; and how to choose them."""
