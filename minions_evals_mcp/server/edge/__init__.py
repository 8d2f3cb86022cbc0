"""What every call passes: arguments, refusals, published schemas, the guard, the log."""
