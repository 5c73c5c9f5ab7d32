"""`python -m bestarm` is the command `bestarm`."""

from bestarm.cli.main import run

if __name__ == "__main__":
    run()
