"""What can be asked of the server, a file for each kind of caller, and the description of it all."""
