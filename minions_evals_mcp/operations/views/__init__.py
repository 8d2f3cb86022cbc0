"""Records and runs as interfaces list and show them."""
