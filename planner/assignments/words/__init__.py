"""What an assignment says to people."""
