"""Comparisons of prompt versions, and the approvals that rest on them."""
