"""People's labels that come from elsewhere."""
