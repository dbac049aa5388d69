"""One net of a recording as questions look at it: its lines, versions, runs, and what the pass did in it."""
