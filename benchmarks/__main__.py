"""Run every comparison of the modules named bench_*: `python3 tasks.py bench [--quick]`."""

import argparse
import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.harness import report, report_curves


def main():
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller problems, half the floors")
    quick = parser.parse_args().quick
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[:6] == "bench_"]
    modules = [importlib.import_module(f"benchmarks.{name}") for name in sorted(names)]
    slow = report([c for module in modules for c in module.comparisons(quick)], quick)
    report_curves(
        [c for module in modules for c in getattr(module, "curves", lambda quick: [])(quick)],
        repeats=2 if quick else 5,
    )
    if slow:
        sys.exit(f"below the floor: {', '.join(slow)}")


if __name__ == "__main__":
    main()
