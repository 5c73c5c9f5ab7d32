"""The server that sites talk to: HTTP around `bestarm.protocol.Server`, and a log that survives a crash."""
