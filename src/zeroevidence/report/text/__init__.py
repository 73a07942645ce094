"""Text for a terminal: paragraphs, and tables that fit."""
