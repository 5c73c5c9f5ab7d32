"""Where requests come in: who is let in, how long they may keep the server waiting, and how it all ends."""
