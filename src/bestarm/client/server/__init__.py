"""How a site reaches its server, or a storage: address, connection, and what is exchanged."""
