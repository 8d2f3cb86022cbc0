"""The EvalAgent: a daemon that follows its skills and cannot break its rules."""
