"""The common parts of other tools' logs: samples, files within bounds, and the records that samples become."""
