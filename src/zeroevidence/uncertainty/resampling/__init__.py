"""Values of measures without one person at a time and on halves of the people."""
