"""``python -m portagpu``."""

from portagpu.cli import main

main()
