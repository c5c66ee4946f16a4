"""`python -m merganser`: see cli.py."""

import sys

from merganser.cli import main

sys.exit(main())
