"""The ways in which an output fails."""
