"""Classes for other libraries, each in a module that needs that library."""
