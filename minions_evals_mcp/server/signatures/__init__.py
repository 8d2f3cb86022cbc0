"""What each tool takes and answers. Field texts are short: hosts pay for every word in every conversation."""
