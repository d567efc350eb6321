"""What pages and messages say of an estimate."""
