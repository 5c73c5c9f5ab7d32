"""`bestarm demo`: a whole federation on this machine, as processes or within one."""
