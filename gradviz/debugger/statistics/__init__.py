"""The numbers that stand for an array: range, moments, histogram, norms and shares."""
