"""What a lift is asked: its file, a skill's evals or a plugin's cases, as a plan with records."""
