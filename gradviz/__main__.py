"""`python -m gradviz`: the command line, for where the script `gradviz` is not on the path."""

import sys

from gradviz.cli import main

sys.exit(main())
