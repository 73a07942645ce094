"""Damaged files through every command that reads files: `python -m tests.fuzz --cases 100000` from the project's root.

Each case takes real files, damages one or two of them with a seed of its own, and runs a command on them. Wanted is a
number that an independent reading of the files confirms, or one line that names a file. Counted are tracebacks, crashes
of the interpreter, messages without a file, wrong numbers, warnings of libraries, and cases that take over ten seconds.
"""
