"""The types of assertions, a module for those that look alike."""
