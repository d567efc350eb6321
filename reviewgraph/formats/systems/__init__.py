"""What is known of the files of conference systems: one module a system, and one object for each file it exports."""
