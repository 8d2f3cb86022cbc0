"""The reasons why an output failed, told by rule: its class, how grave, which criteria, and the step that it goes back to."""
