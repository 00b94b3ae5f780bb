"""Scripts that make files of this repository; not part of the installed package."""
