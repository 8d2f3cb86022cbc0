"""What an output comes to: its checks together, its expected output, its case's history."""
