"""Options that several commands share, each declared once and handed over as one checked value."""
