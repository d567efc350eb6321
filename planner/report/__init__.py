"""The reports of plans and assignments."""
