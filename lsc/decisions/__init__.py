"""From uncertain qualities to decisions: who is in, who is to be discussed, lots where papers are not told apart."""
