"""``python -m fsnotes.replication``: list the tables, compute them, show them."""

import argparse
import sys

from fsnotes.replication import declare, engine, render, store


def parser():
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m fsnotes.replication", description="Tables of the papers, computed again."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="name the tables, and what is there of each")
    running = commands.add_parser("run", help="compute what is missing; a killed run resumes")
    running.add_argument("target", metavar="TABLE_OR_CHAPTER", help="mempm/table4, or mempm")
    running.add_argument("--jobs", type=int, metavar="N", help="worker processes; -1: every core")
    running.add_argument("--only", metavar="CELL", help="as sonar/mpm, or 'sonar/*'")
    running.add_argument("--dask", metavar="ADDRESS", help="spread over a dask cluster")
    showing = commands.add_parser("show", help="printed and measured values")
    showing.add_argument("target", metavar="TABLE_OR_CHAPTER", help="mempm/table4, or mempm")
    again = "compute what is there, too; what comes out equal stays as it was"
    running.add_argument("--again", action="store_true", help=again)
    for command, function in [(listing, show_list), (running, compute), (showing, show_tables)]:
        command.add_argument("--quick", action="store_true", help="one repeat, stored apart")
        command.add_argument("--results", metavar="FOLDER", help="where results are")
        command.set_defaults(function=function)
    return top


def main(argv=None):
    """Run the command line; returns the exit code."""
    arguments = parser().parse_args(argv)
    try:
        arguments.function(arguments)
    except (declare.ExperimentError, OSError) as error:
        print(f"fsnotes.replication: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; finished cells are kept, the same command resumes", file=sys.stderr)
        return 130
    return 0


def show_list(arguments):
    """Print a line for each table of each chapter."""
    for chapter in declare.all_chapters().values():
        results = store.Results(chapter, arguments.results, arguments.quick)
        for table in chapter.tables.values():
            print(render.summary(chapter, table, results))


def compute(arguments):
    """Compute cells, and say how many and where they are."""
    done = engine.run(
        arguments.target,
        jobs=arguments.jobs,
        quick=arguments.quick,
        only=arguments.only,
        again=arguments.again,
        dask=arguments.dask,
        folder=arguments.results,
    )
    print(f"{len(done.computed)} cells computed, {len(done.kept)} were there: {done.path}")
    for dataset in dict.fromkeys(dataset for dataset, _ in done.absent):
        print(f"{dataset} is not available; supply {dataset}.npz to compute its cells")


def show_tables(arguments):
    """Print the table that is asked for, or all of a chapter that have results."""
    chapter, table = declare.find(arguments.target)
    results = store.Results(chapter, arguments.results, arguments.quick)
    options = {"folder": arguments.results, "quick": arguments.quick}
    shown = [
        render.replication_table(f"{chapter.name}/{chosen.name}", **options)
        for chosen in ([table] if table else chapter.tables.values())
        if any(results.has(*name) for name in chosen.cells())
    ]
    if not shown:
        raise store.MissingResult(
            f"there are no results for {arguments.target}; {results.remedy()}", "not run"
        )
    print(*shown, sep="\n\n")


if __name__ == "__main__":
    sys.exit(main())
