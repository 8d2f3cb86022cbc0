"""Messages to the EvalAgent: their payloads, and how one is sent."""
