"""Results as one HTML file that works offline: the kit of pages, tables and pictures, and the report of a check."""
