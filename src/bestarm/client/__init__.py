"""What runs at a site: the connection to a server, the journal, the worksheet."""
