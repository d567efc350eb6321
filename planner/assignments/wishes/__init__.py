"""What a chair asks of an assignment, as arrays: who goes together, who wrote what, floors, pairs."""
