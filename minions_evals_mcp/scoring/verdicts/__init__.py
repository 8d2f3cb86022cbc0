"""The verdict on an output: its checks together, its expected output, its case's history."""
