"""The neighbours: where what is told to them goes."""
