"""What all tests share: Ctrl-C works, also where the tests were started in the background."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell starts with &
    signal.signal(signal.SIGINT, signal.default_int_handler)
