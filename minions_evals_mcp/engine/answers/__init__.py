"""Summaries of what is stored, as edges show them: runs, trends, comparisons, versions, reports."""
