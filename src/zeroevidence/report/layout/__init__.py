"""Layout of tables and formatting of their cells."""
