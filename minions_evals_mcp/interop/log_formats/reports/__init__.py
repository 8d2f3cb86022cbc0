"""Reports of evaluation libraries: what was answered, and what their evaluators said of it."""
