"""The terms of planning: levels, rules, tasks, oracles, structures that grow."""
