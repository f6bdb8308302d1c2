"""A bench's plot: lines over a size, with gnuplot where it is installed."""

import shutil
import subprocess


def draw(path, lines, xlabel, ylabel):
    """Draw LINES, a dict title -> list of (MiB, seconds), to the PNG file PATH, the seconds on a logarithmic scale."""
    gib = {title: [(mib / 1024, seconds) for mib, seconds in line] for title, line in lines.items()}
    draw_plain(path, gib, xlabel, ylabel, "set logscale y")


def draw_plain(path, lines, xlabel, ylabel, settings=""):
    """Draw LINES, a dict title -> list of (x, y), to the PNG file PATH, with more SETTINGS of gnuplot."""
    if not shutil.which("gnuplot"):
        print("bench: no plot, gnuplot is not installed")
        return
    curves = ", ".join(f"'-' using 1:2 with linespoints title '{title}'" for title in lines)
    data = "".join("".join(f"{x} {y}\n" for x, y in line) + "e\n" for line in lines.values())
    script = (
        f"set terminal pngcairo size 900,600\nset output '{path}'\nset xlabel '{xlabel}'\n"
        f"set ylabel '{ylabel}'\n{settings}\nset key outside\nplot {curves}\n{data}"
    )
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
