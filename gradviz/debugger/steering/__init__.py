"""Where a cursor can go: the places of a recording, conditions, breakpoints, watches and the verbs that run to them."""
