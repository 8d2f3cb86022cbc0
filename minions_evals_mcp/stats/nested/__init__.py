"""Statistics of trials that are nested in something drawn at random, too."""
