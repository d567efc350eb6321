"""Reviews from files, labels and tables in addition to them, rules, and exchange with other graph libraries."""
