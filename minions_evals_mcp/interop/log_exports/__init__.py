"""The stored records, written in the formats of other tools, a module each."""
