"""Commands that run and judge, and the options that they share."""
