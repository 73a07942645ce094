"""How tables are laid out and their cells formatted, whatever they hold."""
