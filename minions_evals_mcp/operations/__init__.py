"""The operations: one module each, and one table of what each is called at every interface."""
