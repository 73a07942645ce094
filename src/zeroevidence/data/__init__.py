"""What comes in: scores, matrices and the files that hold them, validated once and then read-only.

`scores` and `matrix` need NumPy alone; `formats` reads files and imports polars.
"""
