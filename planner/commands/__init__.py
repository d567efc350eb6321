"""The subcommands plan and assign: options, side files, exit status; nothing else."""
