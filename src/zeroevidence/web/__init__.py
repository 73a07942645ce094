"""A page on this machine: drop score and key files, or a result, and read the problems or the report.

Nothing here is imported before the page is asked for, except by the page itself.
"""
