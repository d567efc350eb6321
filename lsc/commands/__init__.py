"""The subcommands calibrate, simulate and reproduce: options, files, exit status; nothing else."""
