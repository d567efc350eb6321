"""The texts of pages and messages about estimates."""
