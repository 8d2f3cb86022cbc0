"""Tables of the EvalAgent: its inbox, delivery, lease, and how far it has read the events."""
