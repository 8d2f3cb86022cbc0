"""The loop's rounds besides messages: schedules, reactions, the steps of instructions."""
