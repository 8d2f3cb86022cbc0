"""The arguments and answers of each tool. Field texts are short: hosts pay for every word in every conversation."""
