"""The commands plan and assign."""
