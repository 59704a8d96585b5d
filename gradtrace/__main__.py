"""`python -m gradtrace` is the command `gradtrace`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python put the current folder there: a file `json.py` beside a stranger's program would
        # run with all rights.
        del sys.path[0]
    try:
        from gradtrace.cli.main import main

        main()
    except KeyboardInterrupt:  # while the first modules are imported
        sys.exit(130)
