"""The best assignment under rules on who reviews a paper together."""
