"""Verdicts that are read from stored runs, the same for every interface."""
