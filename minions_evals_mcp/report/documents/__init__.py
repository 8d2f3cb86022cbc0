"""Reports as files: which forms there are, and the page."""
