"""Studies without a server: the service's own application, called within this process."""
