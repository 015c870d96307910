# SPDX-License-Identifier: Apache-2.0
"""`python -m tenon` is the command-line tool."""

import os
import sys
from pathlib import Path


def tool() -> Path:
    """The tool that lies beside this package, or that TENON_TOOL names."""
    named = os.environ.get("TENON_TOOL")
    return Path(named) if named else Path(__file__).resolve().parent / "bin" / "tenon"


def main() -> None:
    """Replaces this process by the tool."""
    path = tool()
    if not path.exists():
        sys.exit(f"tenon: this package has no command-line tool ({path}): build it, or set TENON_TOOL to it")
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
