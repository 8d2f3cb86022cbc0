"""What is done for each message, recorded event and schedule."""
