"""Privacy against utility over the strength of a protector, and how many people a fit takes."""
