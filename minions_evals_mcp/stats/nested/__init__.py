"""Statistics of trials that are nested in cases or simulated users."""
