"""The work done for each message, recorded event and schedule."""
