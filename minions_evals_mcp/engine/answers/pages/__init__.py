"""The data of each page of `view`, as one value."""
