"""Licences of judges: what people's labels say of a judge, its standing for a run, and figures corrected by labels."""
