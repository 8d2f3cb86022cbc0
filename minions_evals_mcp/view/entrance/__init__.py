"""Who is let in to the pages, and as whom."""
