"""What is known of StableHLO programs apart from scales: the traits of operations."""
