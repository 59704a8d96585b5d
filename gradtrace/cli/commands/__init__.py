"""One small module for each command, with the click command in its `command`; `cli.group` loads it when it is named."""
