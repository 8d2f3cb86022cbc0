"""Audits: cheats and mutants tried on the checks of a suite, by rule, before any model has run."""
