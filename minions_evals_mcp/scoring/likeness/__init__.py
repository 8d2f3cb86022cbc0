"""How like two texts are."""
