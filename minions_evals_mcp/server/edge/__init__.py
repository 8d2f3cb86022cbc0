"""The path that every call passes: arguments, refusals, published schemas, the guard, the log."""
