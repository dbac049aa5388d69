"""Pictures in plain lanes, in time proportional to the net: where everything stands, and its SVG.

`tracks` says which edges go around a lane, on which track, and where they meet nodes; `place` puts boxes, tracks and
frames where they belong; `ways` draws the edges between, and `writing` writes it all.
"""

from .place import halves
from .writing import inside, lanes

__all__ = ["halves", "inside", "lanes"]
