"""What the loop does besides messages: schedules, reactions, the steps of instructions."""
