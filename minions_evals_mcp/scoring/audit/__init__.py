"""The audit of what a careless check lets through: cheats, mutants of the reference, and what would close the hole. All pure."""
