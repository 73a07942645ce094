"""What attribute protectors share: the estimator interface, weights, covariances, noise, networks."""
