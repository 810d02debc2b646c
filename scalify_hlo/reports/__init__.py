"""What a rewritten program looks like to people: health, explanations, diagnoses."""
