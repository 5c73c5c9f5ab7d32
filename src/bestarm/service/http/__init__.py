"""HTTP: the application and its routes, who may call, event streams, and the socket it all comes in by."""
