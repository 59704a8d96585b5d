"""`python -m gradtrace` is the command `gradtrace`."""

from gradtrace.cli.main import main

if __name__ == "__main__":
    main()
