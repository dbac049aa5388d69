"""The machine that the figures are of."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import gradviz


def machine() -> dict[str, Any]:
    """Processor, cores, versions, date, and `load`: how many processes wanted to run during the last minute."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "gradviz": gradviz.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    """The processor's model, as far as the system tells."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
