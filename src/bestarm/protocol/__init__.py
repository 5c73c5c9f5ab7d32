"""Agent and server as two state machines: values in, values out, no clock, no file, no socket.

What a site needs (`agent`, `messages`, `entries`, `terms`) works without numpy; the server does not.
"""
