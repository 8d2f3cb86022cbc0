"""The providers of a config: what a listed one is, models by their options, a simulated user, a raw HTTP request."""
