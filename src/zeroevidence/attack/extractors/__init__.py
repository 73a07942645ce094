"""Speaker encoders behind one small interface, found by name or by the file that holds them.

`EXTRACTORS` is the table of their families. Every module in this folder is imported with the package, and enters its
family into the table; what runs a family is imported when one of its encoders is loaded.
"""
