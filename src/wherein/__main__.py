"""`python -m wherein`: the same as `wherein`, where scripts are not on the path."""

from wherein.cli.main import main

if __name__ == "__main__":
    main()
