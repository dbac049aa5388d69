"""The table of conditions that every language which evaluates them has to agree on."""

import json
from pathlib import Path

TABLE = json.loads((Path(__file__).parent / "table.json").read_text())
