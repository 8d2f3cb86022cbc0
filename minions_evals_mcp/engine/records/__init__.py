"""Definitions and copies: vetted, saved all or nothing, brought back."""
