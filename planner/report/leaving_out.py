"""What reports say where sentences that name people and papers are left out."""

LEFT_OUT = "Codes stand for names in this report; sentences that name reviewers or papers are left out."
