"""Pictures in plain lanes, in time proportional to the net: where everything stands, and its SVG.

`place` puts boxes, tracks and frames where they belong: `stack` says how high things stand, `tracks` which edges go
around a lane and on which track, `sides` how much room these take, `taps` where they meet nodes. `ways` draws the edges
between, and `writing` writes it all.
"""

from .place import halves
from .tracks import tangled
from .writing import inside, lanes

__all__ = ["halves", "inside", "lanes", "tangled"]
