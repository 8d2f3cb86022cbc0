"""What coding agents keep of their sessions, and what they print while they work, as agent-runs."""
