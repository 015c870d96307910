# SPDX-License-Identifier: Apache-2.0
"""`python -m tenon` is the command-line tool."""

import os
import subprocess
import sys
from pathlib import Path


def tool() -> Path:
    """The tool that lies beside this package, or that TENON_TOOL names."""
    named = os.environ.get("TENON_TOOL")
    return Path(named) if named else Path(__file__).resolve().parent / "bin" / "tenon"


def lacking(path: Path) -> list[str]:
    """The libraries that a program needs and this system lacks, by the loader's own list."""
    listed = subprocess.run([path], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True).stdout
    return sorted({line.split()[0] for line in listed.splitlines() if line.endswith("=> not found")})


def main() -> None:
    """Replaces this process by the tool."""
    path = tool()
    if not path.exists():
        sys.exit(f"tenon: this package has no command-line tool ({path}): build it, or set TENON_TOOL to it")
    missing = lacking(path)
    if missing:
        sys.exit(f"tenon: the command-line tool needs libraries that this system lacks: {', '.join(missing)}. Install the packages that have "
                 "them, or build Tenon from source on this system; import tenon works without them, and tenon.absent() says what else is absent")
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
