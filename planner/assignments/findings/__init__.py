"""What an assignment came to, beside its reviews."""
