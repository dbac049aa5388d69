"""The journal: what engines did, as events and values, recorded once within a budget and never changed."""
