"""The texts of prompts: a version filled with its variables, and what a grading model is told."""
