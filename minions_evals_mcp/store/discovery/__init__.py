"""What was read in production traces."""
