"""From an output to a verdict: the yardstick, its evidence, the judges, and what was judged before."""
