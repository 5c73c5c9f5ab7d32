"""What all tests share: Ctrl-C works, also where the tests were started in the background."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell without job control says so to what it starts with &
    signal.signal(signal.SIGINT, signal.default_int_handler)
