"""Statistics of trials or cases that are nested in something drawn at random, too."""
