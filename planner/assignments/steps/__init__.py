"""The steps to an assignment: flow, panels, connection, drop-outs, conditioning."""
