"""Agent and server as two state machines: values in, values out, no clock, no file, no socket."""

from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial, Upload
from bestarm.protocol.server import Server

__all__ = ["Agent", "Download", "ProtocolError", "Server", "Stop", "Trial", "Upload"]
